/**
 * Makes of the records in the settings what the engine answers with: RDATA, wildcards, and the
 * reverse names of addresses. Used by filters.ts; pure.
 */
import type { RecordSettings } from '../../contract/filter-config.ts';
import type { LocalRecord } from '../../engine/filter/local-records.ts';
import { readName } from '../../dns/name.ts';
import { TYPE } from '../../dns/wire.ts';
import { nameData, recordData, RECORD_TYPE_NUMBERS } from './record-data.ts';

/** All records, those of the settings first. What cannot be read is left out: the check tells. */
export function buildRecords(settings: readonly RecordSettings[]): LocalRecord[] {
  const records = settings.flatMap((record) => {
    const made = buildRecord(record);
    return made ? [made] : [];
  });
  return [...records, ...reverseRecords(records)];
}

function buildRecord(record: RecordSettings): LocalRecord | undefined {
  const rdata = recordData(record.type, record.value);
  if (!rdata) return undefined;
  const isWildcard = record.name.startsWith('*.');
  return {
    owner: plainName(isWildcard ? record.name.slice(2) : record.name),
    isWildcard,
    type: RECORD_TYPE_NUMBERS[record.type],
    ttl: record.ttlSeconds,
    rdata,
    target: record.type === 'CNAME' ? readName(rdata, 0, rdata.length - 1) : '',
  };
}

/** A PTR for the first name of each address, unless the settings have one for it. */
function reverseRecords(records: readonly LocalRecord[]): LocalRecord[] {
  const taken = new Set(records.map(({ owner }) => owner));
  const reverse: LocalRecord[] = [];
  for (const { owner, isWildcard, type, ttl, rdata } of records) {
    if (isWildcard || (type !== TYPE.a && type !== TYPE.aaaa)) continue;
    const name = reverseName(rdata);
    const target = nameData(owner);
    if (taken.has(name) || !target) continue;
    taken.add(name);
    const type12 = RECORD_TYPE_NUMBERS.PTR;
    reverse.push({ owner: name, isWildcard: false, type: type12, ttl, rdata: target, target: '' });
  }
  return reverse;
}

/** Name under which an address is looked up. RFC 1035 §3.5, RFC 3596 §2.5. */
export function reverseName(address: Uint8Array): string {
  if (address.length === 4) return `${[...address].reverse().join('.')}.in-addr.arpa`;
  const digits = Buffer.from(address).toString('hex');
  return `${Array.from(digits).reverse().join('.')}.ip6.arpa`;
}

function plainName(text: string): string {
  return text.toLowerCase().replace(/\.$/, '');
}
