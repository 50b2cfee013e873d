/** Read by vite-plugin-svelte and svelte-check: components are written in runes mode only. */
export default {
  compilerOptions: { runes: true },
};
