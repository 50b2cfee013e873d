/**
 * Certificates for tests, made by openssl in a folder of their own: an authority, and servers that
 * it vouches for, rightly or not. Made once a process.
 */
import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The name that the good certificates are for; they are for 127.0.0.1 as well. */
export const SERVER_NAME = 'dns.sluice.test';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** Base64 SHA-256 of its public key. */
  readonly pin: string;
}

export interface Certificates {
  /** PEM of the authority. */
  readonly authority: string;
  readonly good: Certificate;
  readonly otherName: Certificate;
  readonly expired: Certificate;
  readonly notYetValid: Certificate;
  readonly selfSigned: Certificate;
}

const run = promisify(execFile);
let made: Promise<Certificates> | undefined;

/** The certificates of this process. */
export function certificates(): Promise<Certificates> {
  made ??= make();
  return made;
}

async function make(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-certificates-'));
  try {
    await openssl(folder, ...NEW_KEY, 'ca.key');
    await openssl(folder, ...SELF_SIGN, '-key', 'ca.key', '-subj', '/CN=Test CA', '-out', 'ca.pem');
    await writeFile(join(folder, 'ca.cnf'), CA_CONFIG);
    await writeFile(join(folder, 'index.txt'), '');
    await writeFile(join(folder, 'serial'), '01');
    const sign = (name: string, from: string, to: string, file: string) =>
      signed(folder, name, from, to, file);
    return {
      authority: await readFile(join(folder, 'ca.pem'), 'utf8'),
      good: await sign(SERVER_NAME, '20250101000000Z', '20490101000000Z', 'good'),
      otherName: await sign('other.test', '20250101000000Z', '20490101000000Z', 'other'),
      expired: await sign(SERVER_NAME, '20200101000000Z', '20210101000000Z', 'expired'),
      notYetValid: await sign(SERVER_NAME, '20480101000000Z', '20490101000000Z', 'future'),
      selfSigned: await selfSigned(folder),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const NEW_KEY = ['ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out'];
const SELF_SIGN = ['req', '-x509', '-new', '-days', '3650', '-sha256'];
const CA_CONFIG = `[ca]
default_ca = own
[own]
dir = .
new_certs_dir = .
database = index.txt
serial = serial
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
`;

async function signed(folder: string, name: string, from: string, to: string, file: string) {
  await openssl(folder, ...NEW_KEY, `${file}.key`);
  const names = name === SERVER_NAME ? `DNS:${name},IP:127.0.0.1` : `DNS:${name}`;
  await openssl(
    folder,
    ...['req', '-new', '-key', `${file}.key`, '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=${names}`, '-out', `${file}.csr`],
  );
  await openssl(
    folder,
    ...['ca', '-batch', '-notext', '-config', 'ca.cnf', '-startdate', from, '-enddate', to],
    ...['-in', `${file}.csr`, '-out', `${file}.pem`],
  );
  return read(folder, file);
}

async function selfSigned(folder: string): Promise<Certificate> {
  await openssl(folder, ...NEW_KEY, 'self.key');
  await openssl(
    folder,
    ...[...SELF_SIGN, '-key', 'self.key', '-subj', `/CN=${SERVER_NAME}`],
    ...['-addext', `subjectAltName=DNS:${SERVER_NAME},IP:127.0.0.1`, '-out', 'self.pem'],
  );
  return read(folder, 'self');
}

async function read(folder: string, file: string): Promise<Certificate> {
  const key = await readFile(join(folder, `${file}.key`), 'utf8');
  const cert = await readFile(join(folder, `${file}.pem`), 'utf8');
  const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  return { key, cert, pin: createHash('sha256').update(spki).digest('base64') };
}

async function openssl(folder: string, ...args: string[]): Promise<void> {
  await run('openssl', args, { cwd: folder });
}
