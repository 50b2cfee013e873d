/** What the upstream behind the gateway knows, for the tests with real peers as clients. */
import { a, wireName, type RecordOptions, type ReplyOptions } from './dns-wire.ts';

const alias: RecordOptions = { type: 'CNAME', ttl: 300, data: wireName('www.site.example') };
const target: RecordOptions = { ...a(300, 192, 0, 2, 10), name: 'www.site.example' };
const long = Array.from({ length: 100 }, (_, index) => a(300, 192, 0, 2, index));

export function peerAnswers(name: string): ReplyOptions {
  if (name === 'alias.site.example') return { answers: [alias, target] };
  if (name === 'big.site.example') return { answers: long, edns: {} };
  if (name.endsWith('site.example')) return { answers: [a(300, 192, 0, 2, 10)], edns: {} };
  return { rcode: 3, edns: {} };
}
