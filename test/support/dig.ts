/** Runs Debian's dig and reads its answer. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Dug {
  readonly status: string;
  /** Of the header: qr, rd, ra, tc, ad, ... */
  readonly flags: readonly string[];
  /** One "TYPE value" a record of the answer section. */
  readonly answers: readonly string[];
  readonly authority: readonly string[];
  /** TTLs of the answer section, seconds. */
  readonly ttls: readonly number[];
  readonly edns: boolean;
  readonly text: string;
}

/** `dig @127.0.0.1 -p port ...args`, two seconds and one try unless the arguments say otherwise. */
export async function dig(port: number, ...args: string[]): Promise<Dug> {
  const { stdout } = await run('dig', [
    '@127.0.0.1',
    '-p',
    String(port),
    '+tries=1',
    '+time=4',
    '+nocookie',
    ...args,
  ]);
  const section = (name: string): string[] => {
    const match = new RegExp(`;; ${name} SECTION:\\n([\\s\\S]*?)\\n\\n`).exec(stdout);
    return (match?.[1] ?? '').split('\n').filter((line) => line !== '');
  };
  const records = (lines: string[]): string[] =>
    lines.map((line) => line.split(/\s+/).slice(3).join(' '));
  return {
    status: /status: (\w+)/.exec(stdout)?.[1] ?? '',
    flags: (/flags: ([a-z ]*);/.exec(stdout)?.[1] ?? '').split(' '),
    answers: records(section('ANSWER')),
    authority: records(section('AUTHORITY')),
    ttls: section('ANSWER').map((line) => Number(line.split(/\s+/)[1])),
    edns: stdout.includes('OPT PSEUDOSECTION'),
    text: stdout,
  };
}
