/**
 * Authorities of the machine: where they are read, when, and that upstreams and list servers with
 * certificates of theirs are asked.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { rootCertificates } from 'node:tls';
import { machineAuthorities, TrustStore } from '../../main/net/trust-store.ts';
import { certificates } from '../support/certificates.ts';
import { tempDir } from '../support/temp-dir.ts';
import { missingTools } from '../support/tools.ts';

const skip = missingTools('openssl');
const UNKNOWN = Object.assign(new Error('x'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
const NOTHING = { SSL_CERT_FILE: '/none', SSL_CERT_DIR: '/none' };

/** A folder with an authority in a file, and the environment that leads to no other. */
async function folderWith(t: TestContext) {
  const folder = await tempDir(t);
  const { authority } = await certificates();
  const file = join(folder, 'ca.pem');
  await writeFile(file, authority);
  return { folder, file, authority: authority.trim() };
}

test(
  'authorities come from a file, from all files of folders, and from Node’s own variable',
  { skip },
  async (t) => {
    const { folder, file, authority } = await folderWith(t);
    const read = (env: NodeJS.ProcessEnv): string[] =>
      machineAuthorities({ ...NOTHING, ...env }, 'linux');
    assert.deepEqual(read({}), []);
    assert.deepEqual(read({ SSL_CERT_FILE: file }), [authority]);
    assert.deepEqual(read({ NODE_EXTRA_CA_CERTS: file, SSL_CERT_FILE: file }), [authority]);
    const many = join(folder, 'many');
    await mkdir(join(many, 'below'), { recursive: true });
    for (const [index, root] of rootCertificates.entries()) {
      await writeFile(
        join(many, `${String(index)}.pem`),
        `# comment\r\n${root.replaceAll('\n', '\r\n')}`,
      );
    }
    await writeFile(join(many, 'junk.pem'), `${rootCertificates[0]?.slice(0, 300) ?? ''}\nno end`);
    const damaged = authority.replace(/.{20}\n-----END/, '\n-----END');
    await writeFile(join(many, 'own.crt'), `${damaged}\n${authority}\n`);
    await symlink('own.crt', join(many, '0a1b2c3d.0'));
    assert.deepEqual(read({ SSL_CERT_DIR: `/none:${many}` }), [authority]);
  },
);

test('built-in authorities are not trusted twice, however they are written', (t) => {
  const own = machineAuthorities(NOTHING, 'linux');
  assert.deepEqual(own, []);
  const system = machineAuthorities({}, 'linux');
  t.diagnostic(`${String(system.length)} authorities of this system are not built in`);
  assert.ok(system.length < 600);
});

test('the machine’s authorities are read when a certificate asks for it, and later anew', () => {
  let nowMs = 0;
  let reads = 0;
  let own: string[] = [];
  const read = (): string[] => {
    reads++;
    return own;
  };
  const trust = new TrustStore(undefined, read, () => nowMs);
  const first = trust.context;
  assert.equal(trust.context, first, 'one object for all connections');
  assert.equal(trust.refresh(null, first), false);
  assert.equal(trust.refresh(Object.assign(new Error(), { code: 'ECONNREFUSED' }), first), false);
  assert.equal(reads, 0);
  assert.equal(trust.refresh(UNKNOWN, first), false, 'nothing of its own');
  own = [rootCertificates[0] ?? ''];
  assert.equal(trust.refresh(UNKNOWN, first), false, 'not again so soon');
  assert.equal(reads, 1);
  nowMs += 10_000;
  assert.equal(trust.refresh(UNKNOWN, first), true, 'installed meanwhile');
  assert.notEqual(trust.context, first);
  assert.equal(trust.refresh(UNKNOWN, first), true, 'a connection that began before');
  assert.equal(trust.refresh(UNKNOWN, trust.context), false);
  assert.equal(reads, 2);
});

async function run(kind: string, env: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
  const script = resolve(import.meta.dirname, '../support/trust-run.ts');
  const child = spawn(process.execPath, [script, kind], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: '', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(await certificates()));
  return JSON.parse(await text(child.stdout)) as Record<string, unknown>;
}

for (const kind of ['tls', 'https'] as const) {
  test(
    `${kind}: the first question to a server of an own authority is answered`,
    { skip },
    async (t) => {
      const { folder, file } = await folderWith(t);
      const answered = { isAnswered: true, failure: null, trouble: '' };
      for (const env of [
        { ...NOTHING, SSL_CERT_FILE: file },
        { ...NOTHING, SSL_CERT_DIR: folder },
      ]) {
        assert.deepEqual(await run(kind, env), answered);
      }
      const refused = await run(kind, NOTHING);
      assert.equal(refused['isAnswered'], false);
      assert.match(String(refused['trouble']), /authority/);
    },
  );
}

test('a list from a server of an own authority is taken', { skip }, async (t) => {
  const { file } = await folderWith(t);
  assert.deepEqual(await run('list', { ...NOTHING, SSL_CERT_FILE: file }), { bytes: 12 });
  assert.match(String((await run('list', NOTHING))['error']), /certificate/);
});
