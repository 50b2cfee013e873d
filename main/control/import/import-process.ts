/**
 * Process entry: reads one file of another program and works out what taking it over would change.
 * A process of its own, because such a file may be made to harm: whatever happens here, memory and
 * time are bounded from outside (import-run.ts) and names go on being resolved.
 *
 * Gets the job as JSON on standard input and the file as descriptor 3; writes one JSON message a
 * line. Its priority is low, and on Linux it is the first to go when memory runs out.
 */
import { writeFileSync, writeSync } from 'node:fs';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { toWire } from '../../contract/errors.ts';
import type { ImportJob, ImportMessage } from './import-run.ts';

const FILE = 3;
const NICE = 10;
const OUTPUT = 1;

try {
  giveWay();
  await work(JSON.parse(await text(process.stdin)) as ImportJob);
} catch (error) {
  post({ kind: 'failed', error: toWire(error) });
}

async function work({ name, only, settings, scratch, takesFiles }: ImportJob): Promise<void> {
  const { readImport } = await import('./import-file.ts');
  const { planImport } = await import('./import-plan.ts');
  const { fileSource } = await import('./draft/source.ts');
  const { readSettings } = await import('../settings/settings-text.ts');
  const { setSections } = await import('../settings/settings-sections.ts');
  const draft = await readImport(fileSource(FILE, name, scratch), {
    takesFiles,
    onStage: (stage) => {
      post({ kind: 'stage', stage });
    },
  });
  const { config } = readSettings(settings, 'the settings');
  const { wanted, taken, notTaken } = planImport(config, draft, only);
  const written = setSections(settings, wanted);
  post({ kind: 'done', program: draft.program, taken, notTaken, settings: written });
}

function giveWay(): void {
  setPriority(NICE);
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not everywhere allowed; the other bounds hold.
  }
}

function post(message: ImportMessage): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(OUTPUT, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}
