/** Made-up names for lists and loads: the same seed gives the same names. */

/** A small, fast, seeded generator of 32-bit numbers (xorshift). */
export function seeded(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

const WORDS = ['ads', 'track', 'pixel', 'metrics', 'cdn', 'stat', 'tag', 'banner', 'click', 'log'];
const ENDINGS = ['com', 'net', 'org', 'io', 'de', 'co', 'info', 'biz'];

/** `count` different names of 2 to 4 labels with the length spread of real block lists. */
export function listNames(count: number, seed = 1): string[] {
  const next = seeded(seed);
  const names = new Set<string>();
  while (names.size < count) {
    const word = WORDS[next() % WORDS.length] ?? '';
    const owner = `${next().toString(36)}${String(names.size % 97)}`;
    const ending = ENDINGS[next() % ENDINGS.length] ?? '';
    const host = next() % 3 === 0 ? `${word}${String(next() % 100)}.` : '';
    names.add(`${host}${word}-${owner}.${ending}`);
  }
  return [...names];
}
