/**
 * RFC 7828, edns-tcp-keepalive: over TCP the option is answered with our idle timeout, in units of 100 ms,
 * when the client sent it (§3.3.2); over UDP it is ignored (§3.3.1); without it there is none.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import { a, u16 } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

const edns = { options: [0, 11, 0, 0] };
const expected = [...u16(11), ...u16(2), ...u16(LIMITS.tcpIdleMs / 100)];

test('over TCP, for answers from upstream, from the cache and of our own', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const name of ['www.example', 'www.example', 'localhost']) {
    const answer = await gateway.askTcp(name, 'A', { edns });
    assert.deepEqual([...answer.subarray(-6)], expected, name);
    assert.deepEqual([...answer.subarray(-8, -6)], [0, 6], name);
  }
});

test('not when it was not asked for, nor over UDP', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const answer of [
    await gateway.askTcp('www.example', 'A', { edns: {} }),
    await gateway.ask('www.example', 'A', { edns }),
    await gateway.askTcp('www.example', 'A', { edns: { options: [0, 11, 0, 2, 0, 9] } }),
  ]) {
    assert.deepEqual([...answer.subarray(-2)], [0, 0]);
  }
});
