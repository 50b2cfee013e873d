/**
 * The answers that a rule can name: AdGuard's `$dnsrewrite` in its short and its long form, and the
 * same for other dialects.
 *
 *   short  1.2.3.4 | ::1 | host.example | NXDOMAIN, REFUSED, NOERROR ...
 *   long   RCODE;TYPE;VALUE, such as NOERROR;MX;10 mail.example
 */
import type { RewriteText } from '../../engine/filter/rule-terms.ts';
import { readAddress } from './address-bytes.ts';
import { recordType, wireName, writeRecordData } from './record-data.ts';

/** As `blocking.ttlSeconds` by default. */
export const REWRITE_TTL_SECONDS = 10;

/**
 * Whether an address leads nowhere: the unspecified one, or one of the machine itself. A rule that
 * answers with it blocks, in every dialect but $dnsrewrite.
 */
export function isSinkhole(text: string): boolean {
  const bytes = readAddress(text);
  if (bytes === null) return false;
  const isV4 = bytes[10] === 0xff && bytes[11] === 0xff;
  const front = isV4 ? 12 : 15;
  if (isV4 && bytes[12] === 127) return true;
  if (bytes.subarray(0, isV4 ? 10 : 15).some((byte) => byte !== 0)) return false;
  return isV4 ? bytes.subarray(front).every((byte) => byte === 0) : (bytes[15] as number) <= 1;
}

const RCODES: Readonly<Record<string, number>> = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
};

/** What `$dnsrewrite=VALUE` answers; null when the value cannot be read. */
export function readRewrite(value: string): RewriteText | null {
  if (value.includes(';')) return readLong(value);
  if (Object.hasOwn(RCODES, value)) return { rcode: RCODES[value] as number };
  return recordRewrite(addressType(value), value) ?? cnameRewrite(value);
}

function readLong(value: string): RewriteText | null {
  const [code = '', typeText = '', ...rest] = value.split(';');
  const data = rest.join(';').trim();
  const rcode = RCODES[code.toUpperCase()];
  if (rcode === undefined) return null;
  if (rcode !== 0 || (typeText === '' && data === '')) return { rcode };
  const type = recordType(typeText.toUpperCase());
  return typeText.toUpperCase() === 'CNAME' ? cnameRewrite(data) : recordRewrite(type, data);
}

/** One record; null when the value does not fit the type. */
export function recordRewrite(
  type: number,
  value: string,
  ttl = REWRITE_TTL_SECONDS,
): RewriteText | null {
  const data = writeRecordData(type, value);
  if (data === null) return null;
  return { records: [[type, ttl, Buffer.from(data).toString('hex')]] };
}

/** Another name whose answer is given. */
export function cnameRewrite(name: string): RewriteText | null {
  const text = name.toLowerCase().replace(/\.$/, '');
  return text.includes('.') && /^[\w.-]+$/.test(text) && wireName(text) !== null
    ? { cname: text }
    : null;
}

/** AAAA for what has a colon, A for what has only digits and dots; else -1. */
export function addressType(text: string): number {
  if (text.includes(':')) return recordType('AAAA');
  return /^[\d.]+$/.test(text) ? recordType('A') : -1;
}
