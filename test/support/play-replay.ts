/** `npm run replay -- FILE [--verbose]`: plays one script, of either kind; see replay.ts. */
import { readFileSync } from 'node:fs';
import { replayAny } from './network-replay.ts';

const [file, flag] = process.argv.slice(2);
if (file === undefined) throw new Error('say which file: npm run replay -- FILE [--verbose]');
const endings: (() => unknown)[] = [];
const context = { after: (action: () => unknown) => void endings.unshift(action) };
try {
  await replayAny(context, readFileSync(file, 'utf8'), (line) => {
    if (flag === '--verbose') process.stdout.write(`${line}\n`);
  });
} finally {
  for (const ending of endings) await ending();
}
process.stdout.write(`${file}: as written\n`);
