/** Notices when a list begins to fail and when that is over. Used by compose.ts. */
import type { ListStatus } from '../../contract/methods/methods.ts';

export class ListNews {
  /** Why lists that fail do so, by name. */
  #failing = new Map<string, string>();

  /** One line for each change since the last call. */
  read(lists: readonly ListStatus[]): string[] {
    const lines: string[] = [];
    const failing = new Map<string, string>();
    for (const { name, state, error, updatedAtMs } of lists) {
      const before = this.#failing.get(name);
      if (state === 'updating' || state === 'waiting') {
        if (before !== undefined) failing.set(name, before);
      } else if (state === 'failed') {
        failing.set(name, error);
        const rest = updatedAtMs === null ? '' : '; its last good copy stays in use';
        if (error !== before) lines.push(`list "${name}" failed: ${error}${rest}`);
      } else if (before !== undefined && state === 'ok') {
        lines.push(`list "${name}" is up to date again`);
      }
    }
    this.#failing = failing;
    return lines;
  }
}
