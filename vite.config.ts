/**
 * Builds the window: renderer/ to dist/renderer, with relative addresses, so that one build serves
 * both Electron and the HTTP door.
 */
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

const config = defineConfig({
  root: 'renderer',
  base: './',
  plugins: [svelte({ configFile: '../svelte.config.js' })],
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    // Chromium 130 is the oldest Electron the app is tested with.
    target: ['chrome130', 'firefox128', 'safari17.5'],
    // The page's policy is default-src 'self': a data: address would be refused.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

export default config;
