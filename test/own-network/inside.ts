/**
 * What the scenarios of own-network share. Each runs as a program of its own inside a network and
 * mount namespace (`unshare -rnm`), as root there, and fails by an exception.
 */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { question, readAnswer, splitEndpoint, type Answer } from '../support/dns-client.ts';

/** Longest wait for a state; the program looks every second. */
const WAIT_MS = 20_000;

const closers: (() => unknown)[] = [];

/** Like a test's context: what was opened is closed at the end, the last first. */
export const t = {
  after: (close: () => unknown): void => void closers.push(close),
};

/** Runs a scenario and ends the process. */
export async function scenario(run: () => Promise<void>): Promise<void> {
  ip('link', 'set', 'lo', 'up');
  try {
    await run();
    process.stdout.write('passed\n');
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
    process.exitCode = 1;
  }
  for (const close of closers.reverse()) await close();
  process.exit();
}

/** @throws Error with what `ip` said */
export function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** A pair of links, both up. */
export function addLinks(one: string, other: string): void {
  ip('link', 'add', one, 'type', 'veth', 'peer', 'name', other);
  for (const link of [one, other]) ip('link', 'set', link, 'up');
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-network-'));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Waits until a look at the state throws no more. @throws its last error */
export async function until(look: () => unknown): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  for (;;) {
    try {
      await look();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Asks over UDP from an address of this machine. @throws when nothing comes in time */
export async function askFrom(from: string, endpoint: string, name: string): Promise<Answer> {
  const { address, port } = splitEndpoint(endpoint);
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.bind(0, from);
    await once(socket, 'listening');
    const reply = once(socket, 'message', { signal: AbortSignal.timeout(1_000) });
    socket.send(question(name), port, address);
    return readAnswer(((await reply) as [Buffer])[0]);
  } finally {
    socket.close();
  }
}

/** The addresses of an answer. */
export function addressesIn({ answers = [] }: Answer): string[] {
  return answers.flatMap((record) => (record.type === 'A' ? [record.data] : []));
}
