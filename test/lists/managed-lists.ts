/**
 * List managers for tests: a clock that the test moves, and what to ask of one that is open.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import type { ListSource } from '../../main/contract/config.ts';
import { RULE_BLOCK, RuleSet } from '../../main/engine/filter/rule-set.ts';
import { ListManager, type ListManagerOptions } from '../../main/lists/list-manager.ts';
import { copiesOf, readMeta } from '../../main/lists/meta.ts';
import type { ListClock } from '../../main/lists/schedule.ts';
import { rankOf } from './list-fixtures.ts';
import { noLookup } from './list-server.ts';

const BUILTIN = resolve(import.meta.dirname, '../../resources/lists');

/** A clock that stands still; its one timer is fired by the test. */
export class TestClock implements ListClock {
  nowMs = 1_700_000_000_000;
  timer: { readonly ms: number; readonly call: () => void } | null = null;
  #onTimer: (() => void) | null = null;

  wallMs(): number {
    return this.nowMs;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { ms, call };
    this.timer = timer;
    this.#onTimer?.();
    return () => {
      if (this.timer === timer) this.timer = null;
    };
  }

  /** Resolves when a timer is set, which ends every stretch of work. */
  async idle(): Promise<void> {
    if (this.timer) return;
    await new Promise<void>((done) => (this.#onTimer = done));
  }

  /** Lets the set time pass, and waits until the work that it starts is done. */
  async fire(): Promise<void> {
    const { timer } = this;
    assert.ok(timer, 'a timer is set');
    this.nowMs += timer.ms;
    this.timer = null;
    timer.call();
    await this.idle();
  }
}

export interface Setup {
  readonly manager: ListManager;
  readonly clock: TestClock;
  readonly told: { tables: number; statuses: number };
  readonly blocks: (name: string) => boolean;
}

export function source(name: string, url: string, more?: Partial<ListSource>): ListSource {
  return { name, url, format: 'auto', enabled: true, ...more };
}

export async function open(
  t: TestContext,
  directory: string,
  sources: readonly ListSource[],
  more?: Partial<ListManagerOptions>,
): Promise<Setup> {
  const clock = new TestClock();
  const told = { tables: 0, statuses: 0 };
  const manager = await ListManager.open({
    directory,
    sources,
    refreshHours: 6,
    lookup: noLookup,
    builtinDirectory: BUILTIN,
    onTable: () => told.tables++,
    onStatus: () => told.statuses++,
    clock,
    random: () => 0.5,
    ...more,
  });
  t.after(() => manager.close());
  const blocks = (name: string): boolean =>
    rankOf(RuleSet.open(manager.table), name) === RULE_BLOCK;
  return { manager, clock, told, blocks };
}

export function names(count: number, tag = 'n'): string {
  return Array.from({ length: count }, (_, i) => `${tag}${i}.example\n`).join('');
}

/** Names of the files of the first list's copies: the current one, the one before, a waiting one. */
export function copyNames(directory: string): string[] {
  const lists = readMeta(readFileSync(join(directory, 'meta.json')));
  assert.ok(lists?.[0]);
  return copiesOf(lists[0]).map(({ sha256 }) => `copy-${sha256}.txt`);
}
