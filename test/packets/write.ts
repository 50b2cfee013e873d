/** Writes the corpus of flaws as <name>.bin beside this file: `node test/packets/write.ts`. */
import { writeFileSync } from 'node:fs';
import { FLAWED_PACKETS, ODD_BUT_GOOD } from './flawed.ts';

for (const { name, bytes } of [...FLAWED_PACKETS, ...ODD_BUT_GOOD]) {
  writeFileSync(new URL(`./${name}.bin`, import.meta.url), bytes);
}
