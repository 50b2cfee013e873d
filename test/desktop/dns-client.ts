/** A client and an upstream for the desktop tests: plain UDP, real packets. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode, type DecodedPacket } from 'dns-packet';

/** The address that the upstream gives for every name. */
export const UPSTREAM_ADDRESS = '192.0.2.7';
const ANSWER_MS = 5_000;
/** Questions in flight at once in `askMany`; the kernel's socket buffer holds them easily. */
const BURST = 100;

export interface FakeUpstream {
  /** As a setting: "127.0.0.1:port". */
  readonly endpoint: string;
  /** Names asked so far, in lower case. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export async function openUpstream(): Promise<FakeUpstream> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (bytes, from) => {
    const query = decode(bytes);
    const question = query.questions?.[0];
    if (question === undefined) return;
    // Upper and lower case in it are random, as a sign that a reply must repeat.
    asked.push(question.name.toLowerCase());
    const answer = { name: question.name, type: 'A', ttl: 60, data: UPSTREAM_ADDRESS } as const;
    const reply = encode({
      type: 'response',
      id: query.id,
      flags: 0x0180,
      questions: [question],
      answers: question.type === 'A' ? [answer] : [],
    });
    socket.send(reply, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    endpoint: `127.0.0.1:${String(socket.address().port)}`,
    asked,
    close: () => closeSocket(socket),
  };
}

/** Asks for the address of a name; the answer's addresses. */
export async function ask(port: number, name: string): Promise<string[]> {
  const socket = createSocket('udp4');
  try {
    const message = once(socket, 'message', { signal: AbortSignal.timeout(ANSWER_MS) });
    socket.send(question(1, name), port, '127.0.0.1');
    const [bytes] = (await message) as [Buffer];
    return addresses(decode(bytes));
  } finally {
    await closeSocket(socket);
  }
}

/** Asks the same question many times, keeping a bounded number in flight. @returns answers */
export async function askMany(port: number, name: string, count: number): Promise<number> {
  const socket = createSocket('udp4');
  let sent = 0;
  let answered = 0;
  const all = Promise.withResolvers<undefined>();
  const send = (): void => {
    if (sent < count) socket.send(question(sent++ & 0xffff, name), port, '127.0.0.1');
  };
  socket.on('message', () => {
    if (++answered === count) all.resolve(undefined);
    else send();
  });
  for (let index = 0; index < BURST; index++) send();
  const bound = setTimeout(() => {
    all.reject(new Error(`${String(answered)} of ${String(sent)} questions were answered`));
  }, 10 * ANSWER_MS);
  try {
    await all.promise;
    return answered;
  } finally {
    clearTimeout(bound);
    await closeSocket(socket);
  }
}

function question(id: number, name: string): Buffer {
  return encode({ type: 'query', id, flags: 0x0100, questions: [{ type: 'A', name }] });
}

function addresses(packet: DecodedPacket): string[] {
  return (packet.answers ?? []).flatMap((answer) => (answer.type === 'A' ? [answer.data] : []));
}

function closeSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.close(() => {
      resolve();
    });
  });
}
