/**
 * Decodes DNS stamps, sdns://…, for plain DNS, DNS over TLS and DNS over HTTPS. Called by
 * upstream-address.ts; pure.
 *
 *     base64url( protocol 1 byte │ properties 8 bytes │ fields … )
 *     plain 0x00:  LP(address)
 *     DoH   0x02:  LP(address) VLP(hashes) LP(host) LP(path) [VLP(bootstrap addresses)]
 *     DoT   0x03:  LP(address) VLP(hashes) LP(host) [VLP(bootstrap addresses)]
 *
 * LP is a length byte and as many bytes; VLP is several of them, all but the last with bit 7 of the
 * length set. Hashes are of the signed body of a certificate in the chain ("TBS").
 * Source: dnscrypt.info/stamps-specifications.
 */
import { isIP } from 'node:net';
import { AppError } from '../contract/errors.ts';
import { isHost } from '../dns/host-name.ts';
import { parseServer } from './server-address.ts';
import type { SecureServer, UpstreamServer } from './upstream-address.ts';

const PROTOCOL_PLAIN = 0x00;
const PROTOCOL_HTTPS = 0x02;
const PROTOCOL_TLS = 0x03;
/** Kinds that exist and are not spoken here. */
const OTHERS = new Map([
  [0x01, 'DNSCrypt'],
  [0x04, 'DNS over QUIC'],
  [0x05, 'Oblivious DoH'],
  [0x81, 'a DNSCrypt relay'],
  [0x85, 'an Oblivious DoH relay'],
]);
const PROPERTIES_BYTES = 8;
const HASH_BYTES = 32;
const MORE_FOLLOW = 0x80;
const STAMP_CHARS_MAX = 4_096;

/** @throws AppError CONFIG_INVALID saying what the stamp is instead */
export function decodeStamp(text: string): UpstreamServer {
  const encoded = text.slice('sdns://'.length);
  if (text.length > STAMP_CHARS_MAX || !/^[A-Za-z0-9_-]+=*$/.test(encoded)) {
    throw invalid(text, 'it is not base64url');
  }
  const fields = new Fields(text, Buffer.from(encoded, 'base64url'));
  const protocol = fields.byte();
  const other = OTHERS.get(protocol);
  if (other !== undefined) throw invalid(text, `it is for ${other}, which is not supported`);
  switch (protocol) {
    case PROTOCOL_PLAIN:
      return decodePlain(fields);
    case PROTOCOL_HTTPS:
    case PROTOCOL_TLS:
      return decodeSecure(fields, protocol === PROTOCOL_HTTPS);
    default:
      throw invalid(text, `its protocol number ${String(protocol)} is not known`);
  }
}

function decodePlain(fields: Fields): UpstreamServer {
  fields.skip(PROPERTIES_BYTES);
  const address = fields.text();
  fields.end();
  return fields.within(() => parseServer(address));
}

function decodeSecure(fields: Fields, isHttps: boolean): SecureServer {
  fields.skip(PROPERTIES_BYTES);
  const address = readAddress(fields);
  const chainHashes = readHashes(fields);
  const host = readHost(fields);
  const path = isHttps ? readPath(fields) : '';
  // Addresses of bootstrap servers follow in some stamps; ours come from the settings.
  if (!fields.isAtEnd) fields.list();
  fields.end();
  const portText = address.port === '' ? host.port : address.port;
  const port = portText === '' ? (isHttps ? 443 : 853) : Number(portText);
  if (port < 1 || port > 65_535) fields.refuse('its port is none');
  return {
    transport: isHttps ? 'https' : 'tls',
    host: host.name,
    port,
    addresses: address.name === '' ? [] : [address.name],
    certificateName: host.name,
    pins: [],
    chainHashes,
    path,
    method: 'POST',
  };
}

/** An IP address, a port, both or neither. */
function readAddress(fields: Fields): { name: string; port: string } {
  const parts = /^(\[.+\]|[\d.]+)?(?::(\d{1,5}))?$/.exec(fields.text());
  const [, written = '', port = ''] = parts ?? fields.refuse('its address is none');
  const name = bare(written);
  if (name !== '' && isIP(name) === 0) fields.refuse('its address is none');
  return { name, port };
}

function readHost(fields: Fields): { name: string; port: string } {
  const parts = /^(\[.+\]|[^:]+)(?::(\d{1,5}))?$/.exec(fields.text());
  const name = bare(parts?.[1] ?? '').toLowerCase();
  if (!isHost(name)) fields.refuse('it names no host');
  return { name, port: parts?.[2] ?? '' };
}

function readHashes(fields: Fields): string[] {
  const hashes = fields.list().filter((hash) => hash.length > 0);
  if (hashes.some((hash) => hash.length !== HASH_BYTES)) fields.refuse('a hash is not SHA-256');
  return hashes.map((hash) => hash.toString('hex'));
}

function readPath(fields: Fields): string {
  const path = fields.text();
  if (!/^\/[^\s#]*$/.test(path)) fields.refuse('its path does not begin with "/"');
  return path;
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** Reads the fields of one stamp in order. */
class Fields {
  readonly #stamp: string;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(stamp: string, bytes: Buffer) {
    this.#stamp = stamp;
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? this.refuse('it is cut off');
  }

  skip(count: number): void {
    this.#at += count;
    if (this.#at > this.#bytes.length) this.refuse('it is cut off');
  }

  text(): string {
    return this.#take(this.byte()).toString('latin1');
  }

  list(): Buffer[] {
    const parts: Buffer[] = [];
    for (let size = MORE_FOLLOW; (size & MORE_FOLLOW) !== 0;) {
      size = this.byte();
      parts.push(this.#take(size & ~MORE_FOLLOW));
    }
    return parts;
  }

  end(): void {
    if (!this.isAtEnd) this.refuse('bytes follow its last field');
  }

  refuse(why: string): never {
    throw invalid(this.#stamp, why);
  }

  /** Runs a parser and reports its failure as the stamp's. */
  within<Value>(parse: () => Value): Value {
    try {
      return parse();
    } catch (error) {
      return this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  #take(count: number): Buffer {
    const start = this.#at;
    this.skip(count);
    return this.#bytes.subarray(start, start + count);
  }
}

function invalid(text: string, why: string): AppError {
  const shown = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  return new AppError('CONFIG_INVALID', `not a usable DNS stamp: "${shown}": ${why}`);
}
