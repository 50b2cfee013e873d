/**
 * Replays with a network: real sockets, fake servers on loopback, real time, and a wall clock that
 * the script sets. Engine, upstream pool, bootstrap lookups and the file of known addresses are the
 * program's own. A file whose first command is `server` is one of these; `#` begins a comment.
 *
 *     server NAME [tls CERTIFICATE]   a server on a port of its own; it answers nothing yet.
 *                                     CERTIFICATE: good, expired, not-yet-valid
 *     server NAME closed              a port where nobody listens
 *     NAME answers CODE [RECORDS]     to every question; "@" in place of a name is the question's
 *     NAME after MS CODE [RECORDS]    the same, later
 *     NAME silent
 *     NAME certificate CERTIFICATE    its connections are closed, new ones get this certificate
 *     clock DATE                      what the machine's clock says from now on
 *     boot SETTINGS                   {"upstreams": ["one", "two"], "strategy", "bootstrap",
 *                                     "suffixes": {"corp.example": ["two"]}}, servers by name;
 *                                     "one@HOST" is known by a host name that must be looked up
 *     shutdown                        the file of known addresses stays
 *     ask NAME TYPE                   a client asks; its answer is awaited
 *     answer CODE [RECORDS]           what it got
 *     took under MS | took over MS    how long that was
 *     until CODE [RECORDS]            asks again until this is the answer, ten seconds at most
 *     heard NAME COUNT                questions that have reached a server in all
 *     trouble NAME TEXT               what was last said of a server holds this text
 *     no trouble NAME
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { Engine } from '../../main/engine/engine.ts';
import type { Clock } from '../../main/engine/query/ports.ts';
import { SuffixSet } from '../../main/dns/suffix-set.ts';
import { createLookup } from '../../main/net/upstream/bootstrap.ts';
import { systemClock } from '../../main/net/clock.ts';
import { CryptoRandom } from '../../main/net/random.ts';
import { parseServer } from '../../main/net/server-address.ts';
import { makePlan, type PlanSettings } from '../../main/net/upstream/plan.ts';
import { UpstreamPool } from '../../main/net/upstream/pool.ts';
import { AddressBook } from '../../main/control/machine/address-book.ts';
import { realClock } from '../../main/system/clock.ts';
import { certificates, type Certificate } from './certificates.ts';
import { question } from './dns-wire.ts';
import { FakeClient, FakeSink, policy } from './engine-fakes.ts';
import { FakeSecureUpstream } from './fake-secure-upstream.ts';
import { FakeUpstream, silent, type Behaviour } from './fake-upstream.ts';
import { commandsOf, inLine, makeReply, replay, shown } from './replay.ts';
import { tempDir } from './temp-dir.ts';

/** Longest wait for what must come. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 50;

type Cleanup = Parameters<typeof tempDir>[0];
type Server = FakeUpstream | FakeSecureUpstream;
interface Program {
  readonly engine: Engine;
  close(): Promise<void>;
}

/** Plays a script of either kind. @throws AssertionError naming the line */
export async function replayAny(
  t: Cleanup,
  text: string,
  say: (line: string) => void = () => undefined,
): Promise<void> {
  const [first] = commandsOf(text);
  if (first?.command.startsWith('server ') !== true) {
    replay(text, say);
    return;
  }
  const player = new NetworkPlayer(t, await tempDir(t));
  t.after(() => player.shutdown());
  for (const { command, line } of commandsOf(text)) {
    say(`> ${command}`);
    try {
      await player.play(command);
    } catch (error) {
      throw inLine(line, command, error);
    }
    if (/^(ask|until) /.test(command)) say(`    ${player.heardText}`);
  }
}

class NetworkPlayer {
  readonly #t: Cleanup;
  readonly #folder: string;
  readonly #servers = new Map<string, Server>();
  readonly #clock: Clock & { ms: number };
  readonly #troubles = new Map<string, string>();
  #program: Program | null = null;
  #answer = '';
  #tookMs = 0;
  #last = '';

  constructor(t: Cleanup, folder: string) {
    this.#t = t;
    this.#folder = folder;
    const clock = { ms: Date.now(), nowUs: () => systemClock.nowUs(), wallMs: () => clock.ms };
    this.#clock = clock;
  }

  /** Who was asked how often. */
  get heardText(): string {
    const all = [...this.#servers].map(
      ([name, { queries }]) => `${name} ${String(queries.length)}`,
    );
    return `${this.#answer} after ${this.#tookMs.toFixed(0)} ms; heard: ${all.join(', ')}`;
  }

  async play(command: string): Promise<void> {
    const [verb = '', ...rest] = command.split(/\s+/);
    const [first = '', second = ''] = rest;
    const argument = command.slice(verb.length).trim();
    if (verb === 'server') await this.#open(first, rest.slice(1));
    else if (this.#servers.has(verb)) await this.#behave(this.#server(verb), first, argument);
    else if (verb === 'clock') this.#clock.ms = Date.parse(first);
    else if (verb === 'boot') await this.#boot(JSON.parse(argument) as PlanSettings);
    else if (verb === 'shutdown') await this.shutdown();
    else if (verb === 'ask') await this.#ask(argument);
    else if (verb === 'until') await this.#until(argument);
    else this.#check(verb, first, second, argument);
  }

  async shutdown(): Promise<void> {
    const program = this.#program;
    this.#program = null;
    await program?.close();
  }

  #check(verb: string, first: string, second: string, argument: string): void {
    const took = `took ${this.#tookMs.toFixed(0)} ms`;
    switch (verb) {
      case 'answer':
        assert.equal(this.#answer, argument.replace(/\s+/g, ' '));
        break;
      case 'took':
        assert.ok(
          first === 'under' ? this.#tookMs < Number(second) : this.#tookMs > Number(second),
          took,
        );
        break;
      case 'heard':
        assert.equal(this.#server(first).queries.length, Number(second));
        break;
      case 'trouble':
        assert.ok(
          this.#troubleOf(first).includes(argument.slice(first.length).trim()),
          this.#troubleOf(first),
        );
        break;
      case 'no':
        assert.equal(this.#troubleOf(second), '');
        break;
      default:
        throw new Error(`unknown command ${verb}`);
    }
  }

  #server(name: string): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`there is no server ${name}`);
    return server;
  }

  #troubleOf(name: string): string {
    const port = `:${String(this.#server(name).port)}`;
    return [...this.#troubles].find(([upstream]) => upstream.includes(port))?.[1] ?? '';
  }

  async #open(name: string, [kind = 'plain', certificate = 'good']: string[]): Promise<void> {
    const server =
      kind === 'tls'
        ? await FakeSecureUpstream.open(this.#t, 'tls', await certificateOf(certificate), silent)
        : await FakeUpstream.open(this.#t, silent);
    if (kind === 'closed') server.close();
    this.#servers.set(name, server);
  }

  async #behave(server: Server, verb: string, argument: string): Promise<void> {
    const text = argument.slice(verb.length).trim();
    if (verb === 'certificate') {
      const name = [...this.#servers].find(([, other]) => other === server)?.[0] ?? '';
      const { port, queries } = server;
      server.close();
      const { behaviour } = server as FakeSecureUpstream;
      const next = await FakeSecureUpstream.open(
        this.#t,
        'tls',
        await certificateOf(text),
        behaviour,
        port,
      );
      next.queries.push(...queries);
      this.#servers.set(name, next);
      return;
    }
    const behaviour = behaviourOf(verb, text);
    if (server instanceof FakeUpstream) server.behave(behaviour);
    else server.behaviour = behaviour;
  }

  /** "one" as a setting: its address; "one@host": its name and port. */
  #text(entry: string): string {
    const [name = '', host] = entry.split('@');
    const server = this.#server(name);
    if (server instanceof FakeUpstream) return server.endpoint;
    return host === undefined ? server.text() : `tls://${host}:${String(server.port)}`;
  }

  async #boot({ upstreams, suffixes = {}, bootstrap = [], ...rest }: PlanSettings): Promise<void> {
    const text = (entry: string): string => this.#text(entry);
    const helpers = bootstrap.map(text);
    const own = Object.entries(suffixes).map(
      ([suffix, names]) => [suffix, names.map(text)] as const,
    );
    const plan = makePlan(
      {
        ...rest,
        upstreams: upstreams.map(text),
        suffixes: Object.fromEntries(own),
        bootstrap: helpers,
      },
      [],
    );
    const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
    const random = new CryptoRandom();
    let book: AddressBook | null = null;
    const pool = new UpstreamPool({
      ...{ servers: plan, clock: this.#clock, random, counters },
      authorities: [(await certificates()).authority],
      onTrouble: (upstream, reason) => this.#troubles.set(upstream, reason ?? ''),
      onUnreachable: (host) => book?.refresh(host),
    });
    book = AddressBook.open({
      file: join(this.#folder, 'upstream-addresses.json'),
      lookup: createLookup(helpers.map((helper) => parseServer(helper))),
      clock: realClock,
      onAddresses: (addresses) => {
        pool.setAddresses(addresses);
      },
      onTrouble: () => undefined,
      onSaveFailed: (reason) => {
        throw new Error(reason);
      },
    });
    book.setHosts(upstreams.flatMap((entry) => entry.split('@').slice(1)));
    pool.setAddresses(book.addresses);
    const engine = new Engine({
      clock: this.#clock,
      random,
      exchange: pool,
      sink: new FakeSink(),
      counters,
    });
    engine.setPolicy(policy({ suffixes: new SuffixSet(Object.keys(suffixes)) }));
    this.#program = {
      engine,
      close: async () => {
        pool.close();
        engine.close();
        await book.close();
      },
    };
  }

  async #ask(text: string): Promise<void> {
    const [name = '', type = ''] = text.split(/\s+/);
    if (this.#program === null) throw new Error('say "boot" first');
    this.#last = text;
    const startedMs = performance.now();
    const packet = question(name, type);
    const out = new Uint8Array(4_096);
    const client = new FakeClient();
    const written = this.#program.engine.handle(packet, 0, packet.length, client, out, 0);
    while (written < 0 && client.late.length === 0) {
      assert.ok(performance.now() - startedMs < PATIENCE_MS, 'no answer');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    this.#tookMs = performance.now() - startedMs;
    this.#answer = shown(written < 0 ? (client.late[0] as Uint8Array) : out.slice(0, written));
  }

  async #until(wanted: string): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    const isThere = (): boolean => this.#answer === wanted.replace(/\s+/g, ' ');
    while (!isThere() && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      await this.#ask(this.#last);
    }
    assert.ok(isThere(), `it still is ${this.#answer}`);
  }
}

async function certificateOf(text: string): Promise<Certificate> {
  const all = await certificates();
  const known = new Map([
    ['good', all.good],
    ['expired', all.expired],
    ['not-yet-valid', all.notYetValid],
  ]);
  const certificate = known.get(text);
  if (certificate === undefined) throw new Error(`there is no certificate "${text}"`);
  return certificate;
}

function behaviourOf(verb: string, text: string): Behaviour {
  if (verb === 'silent') return silent;
  const [delay = '', ...rest] = text.split(/\s+/);
  const delayMs = verb === 'after' ? Number(delay) : 0;
  if (verb !== 'after' && verb !== 'answers') throw new Error(`unknown behaviour ${verb}`);
  const reply = verb === 'after' ? rest.join(' ') : text;
  return ({ bytes }) => [{ bytes: Buffer.from(makeReply(bytes, reply)), delayMs }];
}
