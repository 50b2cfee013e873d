/** What gives back when app and guardian both died: the next start, or the unit that runs at boot. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { App, HEADLESS, type Folders } from './app.ts';

const run = promisify(execFile);

export class NextStart {
  readonly #folders: Folders;

  constructor(folders: Folders) {
    this.#folders = folders;
  }

  /** program: `sluice run`, ended again. command: `sluice restore --only-leftovers`. */
  async run(how: 'program' | 'command'): Promise<void> {
    if (how === 'program') {
      const app = await App.start(this.#folders, false);
      await app.end();
      return;
    }
    const words = [HEADLESS, '--data-dir', this.#folders.data, 'restore', '--only-leftovers'];
    await run(process.execPath, words, { encoding: 'utf8' });
  }
}
