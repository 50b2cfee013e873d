/**
 * Whether this machine's clock can be right, and which names set it right. Used by the upstream pool
 * and by the service's notice.
 *
 * A machine whose clock stands before this program was made (a board without a battery starts in
 * 1970) cannot verify any certificate, so encrypted upstreams fail; without names of time servers
 * the clock would stay wrong for ever. Until it is right, and only until then, such names are asked
 * at the plain bootstrap servers. They say nothing about the user, and a forged answer can do no
 * more than a forged NTP packet could.
 */
import { HEADER_BYTES } from '../dns/wire.ts';

/** No copy of this program is older; moved forward with releases. */
export const MADE_MS = Date.UTC(2026, 0, 1);

/** Where common systems get their time. */
const TIME_ZONES = [
  'ntp.org',
  'time.windows.com',
  'time.apple.com',
  'time.euro.apple.com',
  'time.asia.apple.com',
  'time.google.com',
  'time.android.com',
  'time.cloudflare.com',
  'time.facebook.com',
  'time.nist.gov',
  'time.aws.com',
  'ntp.ubuntu.com',
  'ntp.nict.jp',
  'ntp.se',
  'nts.netnod.se',
];
/** A first label such as ntp, ntp2, nts, time or time1. */
const TIME_LABEL = /^(ntp|nts|time)\d{0,2}$/;

export function isClockWrong(wallMs: number): boolean {
  return wallMs < MADE_MS;
}

/** One clause, e.g. `the clock of this machine says 1970-01-01`; '' when the clock may be right. */
export function wrongClockText(wallMs: number): string {
  if (!isClockWrong(wallMs)) return '';
  const day = new Date(wallMs).toISOString().slice(0, 10);
  return `the clock of this machine says ${day}, so no certificate is valid yet; set the clock`;
}

/** Whether a query of ours asks for the name of a time server. @param end  behind its question */
export function asksForTime(query: Uint8Array, end: number): boolean {
  const labels = labelsOf(query, end);
  if (TIME_LABEL.test(labels[0] ?? '')) return true;
  const name = labels.join('.');
  return TIME_ZONES.some((zone) => name === zone || name.endsWith(`.${zone}`));
}

/** The labels of a question's name, lower case, bytes as Latin-1. */
export function labelsOf(query: Uint8Array, end: number): string[] {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let size = query[at] ?? 0; size > 0 && at + size < end; size = query[at] ?? 0) {
    const label = Buffer.from(query.buffer, query.byteOffset + at + 1, size);
    labels.push(label.toString('latin1').toLowerCase());
    at += size + 1;
  }
  return labels;
}
