/**
 * Replays: a conversation written down, played against the engine with a clock that only the script
 * moves. One command a line; `#` begins a comment.
 *
 *     settings {"rules": ["||ads.example^"], "cache": {"staleSecondsMax": 60}}
 *     ask NAME TYPE [over tcp] [edns] [as CLIENT]   a client asks; its answer is awaited below
 *     answer CODE [RECORDS]      the last client's answer, now: NOERROR www.example 30 A 192.0.2.1; ...
 *     waiting                    it has no answer yet
 *     upstream asks NAME TYPE    the next question that went upstream, in order
 *     upstream silent            nothing more went upstream
 *     reply CODE [RECORDS]       the upstream answers it; records as above, SOA as "NAME TTL SOA MINIMUM"
 *     fail timeout|refused|full  it gets no reply
 *     forged CODE [RECORDS]      a reply that the reply check must refuse: another question
 *     pass SECONDS               time passes
 *     alarm                      what was to happen after a while happens
 *     log OUTCOME REASON         the last record of the log
 *
 * Those with servers, sockets and real time are played by network-replay.ts.
 *
 * Run one by hand, with the path of each query: npm run replay -- FILE --verbose
 */
import assert from 'node:assert/strict';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { checkReply, REPLY_OK } from '../../main/dns/reply-check.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { decode, header, question, replyTo, wireName, type RecordOptions } from './dns-wire.ts';
import { EngineHarness, FakeClient, type Asked } from './engine-fakes.ts';

const CODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

interface Settings {
  readonly rules?: readonly string[];
  readonly lists?: readonly string[];
  readonly cache?: object;
  readonly rebinding?: object;
}

/** Plays a script. @throws AssertionError naming the line */
export function replay(text: string, say: (line: string) => void = () => undefined): void {
  const player = new Player(say);
  for (const { command, line } of commandsOf(text)) {
    try {
      player.play(command);
    } catch (error) {
      throw inLine(line, command, error);
    }
  }
  player.end();
}

/** The commands of a script, with their lines. */
export function commandsOf(text: string): { command: string; line: number }[] {
  return text
    .split('\n')
    .map((line, index) => ({ command: line.replace(/(^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter(({ command }) => command !== '');
}

/** An error with the place where it came up. */
export function inLine(line: number, command: string, error: unknown): assert.AssertionError {
  const said = error instanceof Error ? error.message : String(error);
  return new assert.AssertionError({ message: `line ${String(line)}, "${command}": ${said}` });
}

class Player {
  #harness = new EngineHarness();
  readonly #say: (line: string) => void;
  #client = new FakeClient();
  #now: Uint8Array | null = null;
  #asked: Asked | null = null;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  play(command: string): void {
    const [verb = '', ...rest] = command.split(/\s+/);
    const argument = command.slice(verb.length).trim();
    this.#say(`> ${command}`);
    switch (verb) {
      case 'settings':
        this.#configure(JSON.parse(argument) as Settings);
        break;
      case 'ask':
        this.#ask(rest);
        break;
      case 'answer':
        assert.equal(this.#take(), argument.replace(/\s+/g, ' '));
        break;
      case 'waiting':
        assert.ok(this.#now === null && this.#client.late.length === 0, 'it has an answer');
        break;
      case 'upstream':
        this.#upstream(rest);
        break;
      case 'reply':
        this.#reply(argument);
        break;
      case 'forged':
        this.#forged(argument);
        break;
      default:
        this.#time(verb, rest);
    }
  }

  end(): void {
    assert.equal(this.#harness.exchange.asked.length, 0, 'questions upstream were not looked at');
  }

  #time(verb: string, [first = '', second = '']: string[]): void {
    const { clock, alarm, sink } = this.#harness;
    if (verb === 'pass') clock.pass(Number(first));
    else if (verb === 'alarm') alarm.ring();
    else if (verb === 'fail') {
      this.#current().done({ reply: null, failure: first as 'timeout', upstream: 0 });
      this.#asked = null;
      this.#tellLog();
    } else if (verb === 'log') {
      assert.deepEqual([sink.last.outcome, sink.last.reason], [first, second]);
    } else throw new Error(`unknown command ${verb}`);
  }

  #configure({ rules = [], lists = [], ...rest }: Settings): void {
    this.#harness = new EngineHarness({
      ...rest,
      rules: RuleSet.open(compileRules(rules)),
      lists: RuleSet.open(compileRules(lists)),
    });
  }

  #ask([name = '', type = '', ...options]: string[]): void {
    const as = options.indexOf('as');
    const number = as < 0 ? 77 : Number(options[as + 1]);
    this.#client = new FakeClient(192, 0, 2, number);
    if (options.includes('tcp')) this.#client.transport = 'tcp';
    const edns = options.includes('edns') ? { edns: {} } : {};
    const answer = this.#harness.send(question(name, type, edns), this.#client);
    this.#now = answer === 'later' ? null : answer;
    this.#tellLog(answer === 'later');
  }

  /** The path of the last query, for people. */
  #tellLog(isLater = false): void {
    const { sink, exchange } = this.#harness;
    if (isLater) {
      this.#say(
        `    special names, rules, lists: pass; cache: miss; upstream: ${String(exchange.asked.length)} waiting`,
      );
      return;
    }
    if (sink.records.length === 0) return;
    const { name, outcome, reason, rcode, matched, listId } = sink.last;
    const by = matched === '.' ? '' : ` because of ${matched}`;
    this.#say(
      `    ${name}: ${outcome} (${reason}${by}), ${CODES[rcode] ?? String(rcode)}, list ${String(listId)}`,
    );
  }

  #take(): string {
    const answer = this.#now ?? this.#client.late.shift();
    this.#now = null;
    if (answer === undefined) throw new Error('there is no answer');
    return shown(answer);
  }

  #upstream([verb = '', name = '', type = '']: string[]): void {
    const { exchange } = this.#harness;
    if (verb === 'silent') {
      assert.equal(exchange.asked.length, 0, 'something was asked');
      return;
    }
    this.#asked = exchange.take();
    const [asked] = decode(this.#asked.query).questions ?? [];
    assert.deepEqual([asked?.name, asked?.type], [name, type]);
  }

  #current(): Asked {
    if (this.#asked === null) throw new Error('say "upstream asks" first');
    return this.#asked;
  }

  #reply(text: string): void {
    const asked = this.#current();
    const reply = makeReply(asked.query, text);
    assert.equal(checkReply(reply, reply.length, asked.query, asked.query.length), REPLY_OK);
    this.#asked = null;
    asked.done({ reply, failure: null, upstream: 0 });
    this.#tellLog();
  }

  /** The upstreams drop it before the engine sees it. */
  #forged(text: string): void {
    const { query } = this.#current();
    const other = query.slice();
    other[13] = (other[13] as number) ^ 1;
    const reply = makeReply(other, text);
    assert.notEqual(checkReply(reply, reply.length, query, query.length), REPLY_OK);
  }
}

/** An answer as scripts write it. */
export function shown(answer: Uint8Array): string {
  const { rcode, tc } = header(answer);
  const records = (decode(answer).answers ?? []).map((record) => {
    const data = 'data' in record ? record.data : '';
    const ttl = 'ttl' in record ? String(record.ttl) : '';
    return `${record.name} ${ttl} ${record.type} ${typeof data === 'string' ? data : JSON.stringify(data)}`;
  });
  return [`${CODES[rcode] ?? String(rcode)}${tc ? ' TC' : ''}`, records.join('; ')]
    .join(' ')
    .trim();
}

/** Replies to a query as scripts write it. "@" is the name in the question. */
export function makeReply(query: Uint8Array, text: string): Uint8Array {
  const [code = '', ...rest] = text.split(/\s+/);
  const all = rest
    .join(' ')
    .split(';')
    .filter((part) => part.trim() !== '');
  const records = all.map((part) => makeRecord(part.trim().split(/\s+/)));
  return replyTo(query, {
    rcode: CODES.indexOf(code),
    answers: records.filter(({ type }) => type !== 'SOA'),
    authorities: records.filter(({ type }) => type === 'SOA'),
  });
}

function makeRecord([name = '', ttl = '', type = '', data = '']: string[]): RecordOptions {
  const owner = name === '@' ? {} : { name };
  return { ...owner, type, ttl: Number(ttl), data: dataOf(type, data) };
}

function dataOf(type: string, data: string): number[] {
  if (type === 'A') return data.split('.').map(Number);
  if (type === 'CNAME' || type === 'NS' || type === 'PTR') return wireName(data);
  if (type === 'SOA') {
    const minimum = Number(data);
    return [
      ...wireName('ns.example'),
      ...wireName('host.example'),
      ...Buffer.alloc(16),
      ...[minimum >>> 24, (minimum >>> 16) & 255, (minimum >>> 8) & 255, minimum & 255],
    ];
  }
  throw new Error(`records of type ${type} are not known here`);
}
