/**
 * Which certificate authorities are trusted for encrypted upstreams and list servers: those built
 * into the runtime, and those of the machine: the system's store, SSL_CERT_FILE and SSL_CERT_DIR as
 * OpenSSL reads them, NODE_EXTRA_CA_CERTS. In any thread; each has a store of its own.
 *
 *     built-in ─▶ certificate of an unknown authority ─▶ refresh ─▶ built-in and the machine's own
 *
 * The machine's store is read when a certificate asks for it, and again when one does later, so that
 * an authority that is installed meanwhile needs no restart. Nobody else pays: parsed, a system's
 * store is 4 MiB and 180 ms, of which hardly anything is not built in.
 */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { LIMITS } from '../contract/limits.ts';

/** Where systems keep all authorities in one file; the first that is there counts. */
const STORE_FILES = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Arch, Gentoo
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // Alpine, BSD
];
const STORE_FOLDERS = ['/etc/ssl/certs', '/etc/pki/tls/certs'];
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Shortest time between two readings. */
const REREAD_MS = 10_000;
/** What a server's certificate is refused for when its authority is not known. */
const UNKNOWN_AUTHORITY = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

type Tls = typeof import('node:tls');

export class TrustStore {
  readonly #read: () => readonly string[];
  readonly #now: () => number;
  #builtIn: readonly string[] | null = null;
  #own: readonly string[];
  #context: SecureContext | null = null;
  #readMs = -Infinity;

  /**
   * @param only  PEM certificates that are trusted in place of all others
   * @param read  reads the machine's own, PEM each; for tests
   * @param now   monotonic milliseconds; for tests
   */
  constructor(
    only?: readonly string[],
    read = () => machineAuthorities(),
    now = () => performance.now(),
  ) {
    this.#own = only ?? [];
    if (only !== undefined) this.#builtIn = [];
    this.#read = only === undefined ? read : () => only;
    this.#now = now;
  }

  /** For connections that verify, TLS 1.2 or later; one object until the next change. */
  get context(): SecureContext {
    const { createSecureContext, rootCertificates } = loadTls();
    const builtIn = this.#builtIn ?? rootCertificates;
    const isPlain = this.#builtIn === null && this.#own.length === 0;
    this.#context ??= createSecureContext({
      minVersion: 'TLSv1.2',
      ...(isPlain ? {} : { ca: [...builtIn, ...this.#own] }),
    });
    return this.#context;
  }

  /**
   * After a connection has failed: reads the machine's authorities if that may help.
   *
   * @param used  the context that it was tried with
   * @returns     whether others are trusted now, so that it should be tried again at once
   */
  refresh(error: NodeJS.ErrnoException | null, used: SecureContext): boolean {
    if (!UNKNOWN_AUTHORITY.has(error?.code ?? '')) return false;
    if (this.#context !== used) return true;
    if (this.#now() - this.#readMs < REREAD_MS) return false;
    this.#readMs = this.#now();
    const own = this.#read();
    if (own.join() === this.#own.join()) return false;
    this.#own = own;
    this.#context = null;
    return true;
  }
}

/** Of this thread. */
export const machineTrust = new TrustStore();

/** What the machine trusts beyond what is built in, PEM each. Never throws. */
export function machineAuthorities(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string[] {
  const known = new Set(loadTls().rootCertificates.map(bodyOf));
  const found: string[] = [];
  for (const pem of allCertificates(env, platform)) {
    const body = bodyOf(pem);
    if (known.has(body)) continue;
    known.add(body);
    if (isCertificate(pem)) found.push(pem);
    if (found.length === LIMITS.authoritiesMax) break;
  }
  return found;
}

function* allCertificates(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Generator<string> {
  const { SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS } = env;
  // The settings of a person come first, since there is a bound.
  const named = [NODE_EXTRA_CA_CERTS, SSL_CERT_FILE].filter((file) => file !== undefined);
  yield* named.flatMap(certificatesIn);
  yield* (SSL_CERT_DIR?.split(':') ?? []).flatMap(filesIn).flatMap(certificatesIn);
  if (platform === 'darwin' || platform === 'win32') {
    // Their stores are no files; a runtime that cannot read them has its own only.
    yield* loadTls().getCACertificates?.('system') ?? [];
    return;
  }
  if (SSL_CERT_FILE === undefined) {
    yield* certificatesIn(STORE_FILES.find((file) => sizeOf(file) > 0) ?? '');
  }
  if (SSL_CERT_DIR === undefined) {
    yield* STORE_FOLDERS.flatMap(filesIn).flatMap(certificatesIn);
  }
}

function filesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).sort().slice(0, LIMITS.authorityFilesMax);
    return names.map((name) => join(folder, name));
  } catch {
    return []; // not there, or not ours to read
  }
}

function certificatesIn(file: string): string[] {
  const size = sizeOf(file);
  if (size === 0 || size > LIMITS.authorityFileBytesMax) return [];
  try {
    return readFileSync(file, 'latin1').match(CERTIFICATE) ?? [];
  } catch {
    return [];
  }
}

/** Of a regular file; 0 for everything else. */
function sizeOf(file: string): number {
  const found = file === '' ? undefined : statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : 0;
}

/** What two ways to write one certificate have in common. */
function bodyOf(pem: string): string {
  return pem.replace(/-----[A-Z ]+-----|\s/g, '');
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // one damaged certificate would take all others with it
  }
}

/** Loaded at the first connection, so that a program without TLS never pays for it. */
function loadTls(): Omit<Tls, 'getCACertificates'> & Partial<Pick<Tls, 'getCACertificates'>> {
  return process.getBuiltinModule('node:tls');
}
