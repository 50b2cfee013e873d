/**
 * Reads unbound.conf(5): local zones and data, forward and stub zones. Its other settings are about
 * the resolver itself.
 */
import { ImportDraft } from '../draft/draft.ts';
import { reverseName } from '../../policy/local-records.ts';
import { parseNetwork } from '../../policy/networks.ts';
import { addressType, isSinkhole, isSet, linesOf, withoutComment, words } from '../draft/values.ts';
import { readRecord } from './zone-text.ts';

/** Of local data that names none. */
const TTL_SECONDS = 3_600;
const IPV4_AT = 12;

/** @param head  the file's beginning */
export function isUnbound(head: string): boolean {
  return head
    .split('\n')
    .some((line) =>
      /^(?:server|forward-zone|stub-zone|remote-control):\s*(?:#.*)?$|^(?:local-zone|local-data|local-data-ptr):\s/.test(
        line.trim(),
      ),
    );
}

export function readUnbound(content: string): ImportDraft {
  return new UnboundReader().read(content);
}

/** A forward-zone or stub-zone. */
interface Zone {
  name: string;
  isTls: boolean;
  readonly servers: string[];
}

class UnboundReader {
  readonly #draft = new ImportDraft('unbound');
  #zone: Zone | null = null;
  /** Types of local zones by name. */
  readonly #types = new Map<string, string>();
  readonly #data: string[] = [];

  read(content: string): ImportDraft {
    for (const line of linesOf(content, (why) => this.#draft.skip('other', '', why))) {
      const [, key = '', value = ''] = /^([\w-]+):\s*(.*)$/.exec(withoutComment(line)) ?? [];
      if (key !== '') this.#take(key, value.trim());
    }
    this.#finishZone();
    for (const [name, type] of this.#types) this.#takeZone(name, type);
    for (const data of this.#data) this.#takeData(data);
    return this.#draft;
  }

  #take(key: string, value: string): void {
    if (value === '') this.#begin(key);
    else if (this.#zone !== null) this.#takeZoneKey(this.#zone, key, unquoted(value));
    else if (key === 'local-zone') {
      const [name = '', type = ''] = words(value.replaceAll(/["']/g, ''));
      this.#types.set(plain(name), type);
    } else if (key === 'local-data') this.#data.push(unquoted(value));
    else if (key === 'local-data-ptr') this.#takePointer(unquoted(value));
    else if (NAMED[key] !== undefined) this.#draft.skip('other', `${key}: ${value}`, NAMED[key]);
  }

  /** A clause ends where the next one begins. */
  #begin(clause: string): void {
    this.#finishZone();
    const isZone = clause === 'forward-zone' || clause === 'stub-zone';
    if (isZone) this.#zone = { name: '', isTls: false, servers: [] };
    else if (!PLAIN_CLAUSES.has(clause)) {
      this.#draft.skip('other', clause, 'this clause is not taken');
    }
  }

  #takeZoneKey(zone: Zone, key: string, value: string): void {
    if (key === 'name') zone.name = plain(value);
    else if (/^(?:forward|stub)-(?:addr|host)$/.test(key)) zone.servers.push(value);
    else if (/^(?:forward|stub)-(?:tls|ssl)-upstream$/.test(key)) zone.isTls = isSet(value);
    else if (key === 'forward-first' && isSet(value)) {
      this.#draft.skip('upstreams', zone.name, 'forward-first: its servers are asked only, here');
    }
  }

  #finishZone(): void {
    const zone = this.#zone;
    this.#zone = null;
    if (zone === null) return;
    const isRoot = zone.name === '';
    for (const server of zone.servers) {
      const target = isRoot ? this.#draft.upstreams : this.#draft.suffixServers(zone.name);
      this.#draft.addUpstream(serverOf(server, zone.isTls), target);
    }
  }

  /** What the closest zone around a name says about names without local data. */
  #takeZone(name: string, type: string): void {
    const wide = name.includes('.') ? '' : 'wide';
    const rule = (start: string, ...modifiers: string[]): void => {
      const ends = [...modifiers, wide].filter((one) => one !== '');
      const end = ends.length === 0 ? '' : `$${ends.join(',')}`;
      this.#draft.addRule(`${start}||${name}^${end}`);
    };
    if (BLOCKING.has(type)) rule('');
    else if (REFUSING.has(type)) rule('', 'dnsrewrite=REFUSED');
    else if (type === 'always_nodata') rule('', 'dnsrewrite=NOERROR');
    else if (OPEN.has(type)) {
      if (this.#isInsideBlocked(name)) rule('@@');
    } else this.#draft.skip('rules', `${name} ${type}`, 'local zones of this type are not taken');
  }

  #isInsideBlocked(name: string): boolean {
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const type = this.#types.get(name.slice(dot + 1));
      if (type !== undefined) return !OPEN.has(type);
    }
    return false;
  }

  #takeData(text: string): void {
    const record = readRecord(text);
    if (record === null) {
      this.#draft.skip('records', text, 'records of this type are not taken');
      return;
    }
    const name = plain(record.name);
    const zone = this.#types.get(name) ?? '';
    const isBelow = zone === 'redirect';
    const value = record.data.join(' ');
    const ttl = record.ttl ?? TTL_SECONDS;
    if (zone.startsWith('always_')) {
      this.#draft.skip('records', text, 'its zone does not look at it');
    } else if (isSinkhole(value)) this.#draft.addRule(`${isBelow ? '||' : '|'}${name}^`);
    else if (isBelow) this.#draft.addSubtree(name, record.type, value, ttl);
    else this.#draft.addRecord(name, record.type, value, ttl);
  }

  /** "address [TTL] name" */
  #takePointer(value: string): void {
    const [address = '', ...rest] = words(value);
    const network = parseNetwork(address);
    const target = rest.at(-1) ?? '';
    if (!network || target === '') {
      this.#draft.skip('records', value, 'it is no address with a name');
      return;
    }
    const bytes = addressType(address) === 'A' ? network.bytes.subarray(IPV4_AT) : network.bytes;
    const ttl = rest.length > 1 ? Number(rest[0]) : TTL_SECONDS;
    this.#draft.addRecord(reverseName(bytes), 'PTR', target, ttl);
  }
}

const PLAIN_CLAUSES = new Set(['server', 'remote-control', 'python', 'dynlib']);
const BLOCKING = new Set(['static', 'redirect', 'always_nxdomain', 'always_null']);
const REFUSING = new Set(['refuse', 'always_refuse']);
const OPEN = new Set(['transparent', 'typetransparent', 'always_transparent', 'nodefault']);
/** Settings of the clause server that would be missed. */
const NAMED: Readonly<Record<string, string>> = {
  include: 'other files are not read: import them, too',
  'include-toplevel': 'other files are not read: import them, too',
  'root-hints': 'Sluice asks resolvers and resolves nothing itself',
  'local-zone-tag': 'tags of zones have no equal here',
  'access-control-tag': 'tags of zones have no equal here',
  'access-control-view': 'views have no equal here',
  'private-domain': 'add the name to rebinding.allow in the settings',
};

/** "address@port#name" */
function serverOf(text: string, isTls: boolean): string {
  const [endpoint, name] = halves(text, '#');
  const [address, port] = halves(endpoint, '@');
  const isUsual = port === '' || port === (isTls ? '853' : '53');
  if (isUsual && !isTls) return address;
  const host = addressType(address) === 'AAAA' ? `[${address}]` : address;
  const place = isUsual ? host : `${host}:${port}`;
  if (!isTls) return place;
  return `tls://${place}${name === '' ? '' : `#name=${name}`}`;
}

function halves(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function unquoted(value: string): string {
  const match = /^(["'])(.*)\1$/.exec(value);
  return match?.[2] ?? value;
}

function plain(name: string): string {
  return name.replaceAll(/["']/g, '').toLowerCase().replace(/\.$/, '');
}
