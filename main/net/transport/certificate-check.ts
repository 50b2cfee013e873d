/**
 * Whether a server behind TLS is the one that was meant, beyond what node:tls checks, and why not in
 * words for people. Used by tls-dialer.ts in a data-plane thread.
 */
import { createHash } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { SecureServer } from '../upstream-address.ts';
import { wrongClockText } from '../wall-clock.ts';

/** Longest chain looked at. */
const CHAIN_MAX = 10;
const DER_SEQUENCE = 0x30;
/** DER: an extended tag would make all 5 low bits 1; not so in a certificate. */
const DER_LONG_LENGTH = 0x80;

const REASONS = new Map([
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is signed by itself'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate is signed by an authority that is not known'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is signed by an unknown authority'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'its certificate is signed by an unknown authority'],
  ['CERT_REVOKED', 'its certificate was revoked'],
  ['ECONNREFUSED', 'it refuses connections'],
  ['ECONNRESET', 'it broke off the connection'],
  ['ENETUNREACH', 'there is no way to its network'],
  ['EHOSTUNREACH', 'there is no way to it'],
  ['ETIMEDOUT', 'it does not answer'],
]);
/** Failures that a clock before every certificate's time would explain. */
const CLOCK_CODES = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED']);

/**
 * Checks pins and chain hashes after the handshake. With pins the public key alone decides
 * (RFC 7858 §4.2); hashes of a stamp come on top of the ordinary check.
 *
 * @returns  '' when the server may be asked, else why not
 */
export function pinTrouble(socket: TLSSocket, { pins, chainHashes }: SecureServer): string {
  // A session is only kept after this check, and belongs to this very setting.
  if (socket.isSessionReused()) return '';
  if (pins.length > 0) {
    const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
    const digest = key === undefined ? '' : sha256(key).toString('base64');
    return pins.includes(digest) ? '' : `its public key is not a pinned one but sha256/${digest}`;
  }
  if (chainHashes.length === 0) return '';
  const found = chainOf(socket).some(({ raw }) => {
    const body = signedBody(raw);
    return body !== null && chainHashes.includes(sha256(body).toString('hex'));
  });
  return found ? '' : 'no certificate in its chain is the one that the stamp names';
}

/** Why a connection failed, to be read behind "cannot be used: ". */
export function explainFailure(
  error: NodeJS.ErrnoException,
  server: SecureServer,
  wallMs: number,
): string {
  const { code = '', message } = error;
  if (CLOCK_CODES.has(code)) {
    const clock = wrongClockText(wallMs);
    if (clock !== '') return clock;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is not for "${server.certificateName}"`;
  }
  return REASONS.get(code) ?? message.split('\n')[0]?.slice(0, 200) ?? code;
}

/** The signed part of a certificate: the first element of its outer sequence. RFC 5280 §4.1. */
export function signedBody(raw: Buffer): Buffer | null {
  const outer = derElement(raw, 0);
  if (outer === null) return null;
  const body = derElement(raw, outer.content);
  return body === null ? null : raw.subarray(outer.content, body.end);
}

function derElement(bytes: Buffer, at: number): { content: number; end: number } | null {
  const first = bytes[at + 1];
  if (bytes[at] !== DER_SEQUENCE || first === undefined) return null;
  if (first < DER_LONG_LENGTH) return within(bytes, at + 2, first);
  const count = first - DER_LONG_LENGTH;
  if (count < 1 || count > 3 || at + 2 + count > bytes.length) return null;
  return within(bytes, at + 2 + count, bytes.readUIntBE(at + 2, count));
}

function within(bytes: Buffer, content: number, length: number) {
  return content + length <= bytes.length ? { content, end: content + length } : null;
}

function chainOf(socket: TLSSocket): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = [];
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (certificate?.raw !== undefined && chain.length < CHAIN_MAX) {
    chain.push(certificate);
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return chain;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
