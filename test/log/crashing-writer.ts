/** The log writer, but the first one of a folder crashes 200 ms after its start. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import type { WriterData } from '../../main/log/messages.ts';

await import('../../main/log/writer-thread.ts');
const mark = join((workerData as WriterData).directory, 'crashed');
if (!existsSync(mark)) {
  writeFileSync(mark, '');
  setTimeout(() => {
    throw new Error('crashed on purpose');
  }, 200);
}
