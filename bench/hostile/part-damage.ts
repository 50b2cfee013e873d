/** Damaged starts: every file of a data folder that was in use, times every kind of damage. */
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, runCase, type CaseResult, type Part, type Setting } from './case.ts';
import { ListServer } from './list-server.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const STARTS_MIN = 105;
const STARTS_SHORT = 6;
/** Lists are read and settings settle a moment after the start. */
const SETTLE_MS = 4_000;

type Damage = (path: string, draw: (below: number) => number) => Promise<void>;

const flipBit: Damage = async (path, draw) => {
  const bytes = await readFile(path);
  const at = draw(Math.max(1, bytes.length));
  if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << draw(8));
  await writeFile(path, bytes);
};

const DAMAGES: Readonly<Record<string, Damage>> = {
  empty: (path) => writeFile(path, ''),
  'cut in half': async (path) => {
    const bytes = await readFile(path);
    await writeFile(path, bytes.subarray(0, bytes.length >> 1));
  },
  'one bit': flipBit,
  'another bit': flipBit,
  'a third bit': flipBit,
  'a hundred bits': async (path, draw) => {
    const bytes = await readFile(path);
    for (let count = 0; count < 100 && bytes.length > 0; count++) {
      const at = draw(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << draw(8));
    }
    await writeFile(path, bytes);
  },
  garbage: (path, draw) =>
    writeFile(path, Buffer.from(Array.from({ length: 5_000 }, () => draw(256)))),
  NULs: async (path) => writeFile(path, Buffer.alloc((await readFile(path)).length)),
  missing: (path) => rm(path),
  'a folder': async (path) => {
    await rm(path);
    await mkdir(path);
  },
  'no permission': (path) => chmod(path, 0),
  'another version': async (path) => {
    const bytes = await readFile(path);
    const text = bytes.toString('latin1');
    const versioned = text.replace(/("?version"?\s*:\s*)\d+/, '$199');
    if (versioned === text && bytes.length > 8) bytes.writeUInt32LE(0x7fff_fff0, 4);
    await writeFile(path, versioned === text ? bytes : Buffer.from(versioned, 'latin1'));
  },
};

/** Root reads what it may not, unless it gives that right away. */
const AS_OTHERS =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];

/** What only one file says: when that is missing nobody can know that there was something. */
const HELD: Readonly<Record<string, string>> = { 'temporary-rules.json': 'temporary.example' };

/** What is answered for names that different rules decide: the program's behaviour in short. */
async function behaviour(port: number): Promise<string> {
  const names = [
    ...[
      'own-rule.example',
      'allowed-7.listed.example',
      'first-7.listed.example',
      'second-7.listed.example',
    ],
    ...['by-policy.example', 'record.example', 'temporary.example'],
  ];
  const answers = await Promise.all(names.map((name) => addressOf(port, name, 3_000)));
  return names.map((name, at) => `${name}=${answers[at] ?? ''}`).join(' ');
}

interface Template {
  readonly folder: string;
  readonly behaviour: string;
  readonly files: readonly string[];
}

/** A data folder that was in use for a while, stopped cleanly; its list server is gone since. */
async function makeTemplate(folder: string, closers: Closers): Promise<Template> {
  const upstream = await goodUpstream(closers);
  const lists = await ListServer.open();
  const subject = await Subject.make(folder, {
    dns: { upstreams: [upstream] },
    lists: ['first', 'second'].map((name) => ({ name, url: lists.url(name) })),
    rules: ['||own-rule.example^', '@@||allowed-7.listed.example^', '||allowed-7.listed.example^'],
    policies: [{ name: 'one', action: 'block', domains: ['by-policy.example'] }],
    records: [{ name: 'record.example', type: 'A', value: '192.0.2.5' }],
    cache: { persist: true },
  });
  await subject.start();
  await subject.call('lists.refresh', {});
  await lists.nextVersion();
  await subject.call('lists.refresh', {});
  await subject.call('rules.add', { rule: '||edited.example^' });
  await subject.call('rules.add', { rule: '||temporary.example^', minutes: 600 });
  for (let count = 0; count < 50; count++)
    await addressOf(subject.dnsPort, `n${String(count)}.${ZONE}`);
  await wait(1_500);
  const found = await behaviour(subject.dnsPort);
  await subject.stop();
  await lists.close();
  const entries = await readdir(subject.data, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(subject.data.length + 1))
    .sort();
  // The cache of compiled code is a hundred files of one kind.
  const compiled = files.filter((file) => file.startsWith('cache/'));
  const chosen = files.filter((file) => !file.startsWith('cache/')).concat(compiled.slice(0, 2));
  return { folder: subject.data, behaviour: found, files: chosen };
}

async function startDamaged(
  template: Template,
  file: string,
  kind: string,
  setting: Setting,
): Promise<CaseResult> {
  return runCase(`${file}: ${kind}`, setting, async (folder, tell) => {
    const subject = await Subject.make(folder, null);
    let sent = 0;
    let answered = 0;
    tell({ questions: () => ({ sent, answered, wrong: 0, worstGapMs: null }) });
    await cp(template.folder, subject.data, { recursive: true, force: true });
    await DAMAGES[kind]?.(join(subject.data, file), setting.draw);
    try {
      await subject.start({ wrap: AS_OTHERS });
      sent++;
      const good = await addressOf(subject.dnsPort, `after-damage.${ZONE}`);
      if (good !== 'silence') answered++;
      expect(good === GOOD_ADDRESS, `a good name got ${good}`);
      let found = '';
      const endsMs = performance.now() + SETTLE_MS;
      do {
        found = await behaviour(subject.dnsPort);
        if (isSame(found, template.behaviour, kind === 'missing' ? HELD[file] : undefined)) return;
        await wait(200);
      } while (performance.now() < endsMs);
      const complaints = (await subject.complaints()).join('\n');
      expect(
        names(complaints, file),
        `other rules in silence: ${found}; said: ${complaints.slice(0, 400)}`,
      );
    } finally {
      await chmod(join(subject.data, file), 0o700).catch(() => undefined);
      await subject.kill();
    }
  });
}

/** @param lost  a name that may have another answer */
function isSame(found: string, before: string, lost: string | undefined): boolean {
  const rest = (text: string): string =>
    text
      .split(' ')
      .filter((part) => lost === undefined || !part.startsWith(lost))
      .join(' ');
  return rest(found) === rest(before);
}

/** Whether a sentence names the damaged file, or what was in it. */
function names(complaints: string, file: string): boolean {
  const subjects = [basename(file)];
  if (file.startsWith('lists')) subjects.push('list');
  if (file.includes('sluice.yaml')) subjects.push('settings');
  if (file.includes('temporary')) subjects.push('temporary');
  return subjects.some((word) => complaints.includes(word));
}

function choose(files: readonly string[], setting: Setting): [string, string][] {
  const all = files.flatMap((file) =>
    Object.keys(DAMAGES).map((kind): [string, string] => [file, kind]),
  );
  if (!setting.isShort) return all;
  return Array.from({ length: STARTS_SHORT }, () => all[setting.draw(all.length)] ?? ['', '']);
}

export const DAMAGE_PART: Part = {
  name: 'damaged starts',
  criterion:
    'It starts within 30 s and resolves names; the same rules are in force as before, or a notice, a ' +
    'reason in the health report or a line on stderr names what was damaged.',
  run: async (setting) => {
    const closers = new Closers();
    const results: CaseResult[] = [];
    const first = await runCase('undamaged', setting, async (folder, tell) => {
      const template = await makeTemplate(folder, closers);
      setting.say(`  ${String(template.files.length)} files: ${template.files.join(' ')}`);
      let sent = 0;
      tell({ questions: () => ({ sent, answered: sent, wrong: 0, worstGapMs: null }) });
      expect(
        template.behaviour.includes(
          'first-7.listed.example=0.0.0.0 second-7.listed.example=0.0.0.0',
        ),
        template.behaviour,
      );
      const cases = choose(template.files, setting);
      expect(setting.isShort || cases.length >= STARTS_MIN, `only ${String(cases.length)} starts`);
      for (const [file, kind] of cases)
        results.push(await startDamaged(template, file, kind, setting));
      sent = 7;
    });
    await closers.close();
    return [first, ...results];
  },
};
