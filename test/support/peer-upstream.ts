/** The gateway of the tests with real peers as clients, and what the upstream behind it knows. */
import { a, wireName, type RecordOptions, type ReplyOptions } from './dns-wire.ts';
import { table } from './engine-fakes.ts';
import { byTransport } from './fake-upstream.ts';
import { Gateway, replying, type GatewayOptions } from './gateway.ts';

const alias: RecordOptions = { type: 'CNAME', ttl: 300, data: wireName('www.site.example') };
const target: RecordOptions = { ...a(300, 192, 0, 2, 10), name: 'www.site.example' };
const long = Array.from({ length: 100 }, (_, index) => a(300, 192, 0, 2, index));

export function peerAnswers(name: string): ReplyOptions {
  if (name === 'alias.site.example') return { answers: [alias, target] };
  if (name === 'big.site.example') return { answers: long, edns: {} };
  if (name.endsWith('site.example')) return { answers: [a(300, 192, 0, 2, 10)], edns: {} };
  return { rcode: 3, edns: {} };
}

/** A gateway that blocks ads.example; what is long comes over TCP only. */
export function openPeerGateway(
  t: Parameters<typeof Gateway.open>[0],
  options: GatewayOptions = {},
): Promise<Gateway> {
  const whole = replying(peerAnswers);
  const behaviour = byTransport(
    (query, upstream) =>
      query.name.toLowerCase().startsWith('big')
        ? replying({ tc: true })(query, upstream)
        : whole(query, upstream),
    whole,
  );
  return Gateway.open(t, behaviour, { lists: table(['ads.example']), ...options });
}
