/**
 * A disk whose power can be cut: an ext4 image, mounted so that nothing reaches it that was not
 * synced. Needs root, loop devices and mkfs.ext4.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';

const SIZE = '192M';

const run = (file: string, words: readonly string[]): unknown =>
  execFileSync(file, words, { stdio: 'pipe' });

export class Disk {
  /** Where it is mounted. */
  readonly folder: string;
  readonly #image: string;
  #isMounted = false;

  private constructor(image: string, folder: string) {
    this.#image = image;
    this.folder = folder;
  }

  /** @returns null where this user or system cannot have one */
  static make(parent: string): Disk | null {
    const disk = new Disk(join(parent, 'disk.img'), join(parent, 'disk'));
    try {
      mkdirSync(disk.folder);
      run('truncate', ['-s', SIZE, disk.#image]);
      run('mkfs.ext4', ['-q', disk.#image]);
      disk.#mount();
      // When the test itself is ended; lazily, for its programs may still be ending.
      process.once('exit', () => {
        if (disk.#isMounted) run('umount', ['--lazy', disk.folder]);
      });
      return disk;
    } catch {
      return null; // the caller goes on without power cuts, and says so
    }
  }

  /** What was not synced is lost. No process may have a file open there. */
  async cutPower(): Promise<void> {
    const copy = `${this.#image}.cut`;
    run('cp', ['--sparse=always', this.#image, copy]);
    this.unmount();
    await rename(copy, this.#image);
    this.#mount();
  }

  unmount(): void {
    if (this.#isMounted) run('umount', [this.folder]);
    this.#isMounted = false;
  }

  #mount(): void {
    run('mount', ['-o', 'loop,noatime,commit=3600', this.#image, this.folder]);
    this.#isMounted = true;
  }
}
