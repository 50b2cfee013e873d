/**
 * TCP framing: however the stream is cut, the same messages come out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frameMessage, MessageReader } from '../../main/net/message-reader.ts';

/** Feeds the stream in pieces cut at `cuts` and collects copies of the messages. */
function read(stream: Buffer, cuts: readonly number[], settles: boolean): Buffer[] {
  const reader = new MessageReader();
  const messages: Buffer[] = [];
  const edges = [0, ...cuts.map((cut) => cut % (stream.length + 1)), stream.length];
  edges.sort((a, b) => a - b);
  edges.slice(1).forEach((end, index) => {
    reader.feed(Buffer.from(stream.subarray(edges[index], end)));
    while (reader.next()) {
      messages.push(Buffer.from(reader.bytes.subarray(reader.start, reader.start + reader.length)));
    }
    if (settles) reader.settle();
  });
  assert.equal(reader.unread, 0);
  return messages;
}

test('any messages, cut anywhere', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 12 }),
      fc.array(fc.nat(10_000), { maxLength: 30 }),
      fc.boolean(),
      (messages, cuts, settles) => {
        const stream = Buffer.concat(messages.map((one) => frameMessage(one, 0, one.length)));
        assert.deepEqual(
          read(stream, cuts, settles),
          messages.map((one) => Buffer.from(one)),
        );
      },
    ),
  );
});

test('an announced length takes no memory before the bytes arrive', () => {
  const reader = new MessageReader();
  reader.feed(Buffer.of(0xff, 0xff, 1, 2, 3));
  assert.equal(reader.next(), false);
  reader.settle();
  assert.ok(reader.bytes.length <= 256, `${String(reader.bytes.length)} bytes`);
});
