/**
 * What a rule says beside its name or pattern: under which conditions it holds, and what is
 * answered. Kept as JSON in the rule program, read when the rule is first met, then kept: a rule
 * that is never met costs nothing, and one that is met allocates once.
 */
import type { NameView } from '../../dns/name.ts';
import type { MatchContext } from './match-context.ts';
import { writeName } from '../../dns/name.ts';

/** An address and how many of its bits count: 32 hex digits, 0..128. */
export type ClientNetwork = readonly [hex: string, bits: number];

/** What is answered in place of the blocking answer, as JSON. */
export interface RewriteText {
  readonly rcode?: number;
  /** Presentation form. */
  readonly cname?: string;
  /** Type, TTL in seconds, RDATA in hex. */
  readonly records?: readonly (readonly [type: number, ttl: number, hex: string])[];
  readonly drop?: true;
  /** Over UDP the answer is cut, over TCP the rule is none: RPZ's rpz-tcp-only. */
  readonly tcpOnly?: true;
}

/** A rule's terms as JSON. An absent key sets no condition. */
export interface RuleTermsText {
  readonly types?: readonly number[];
  readonly notTypes?: readonly number[];
  /** Lower-case names, or networks. */
  readonly clients?: readonly (string | ClientNetwork)[];
  readonly notClients?: readonly (string | ClientNetwork)[];
  readonly tags?: readonly string[];
  readonly notTags?: readonly string[];
  /** Names that, with all below them, the rule does not speak of; presentation form. */
  readonly denyAllow?: readonly string[];
  readonly rewrite?: RewriteText;
  /** Rewrites that this rule undoes: one as JSON, or '' for every one. */
  readonly undo?: string;
}

/** What is answered in place of the blocking answer. */
export interface Rewrite {
  readonly rcode: number;
  /** Presentation form; '' for none. */
  readonly cname: string;
  /** With rcode 0 and no cname, [] means NODATA. */
  readonly records: readonly RewriteRecord[];
  /** No answer at all. */
  readonly drop: boolean;
  /** Over UDP a truncated answer, over TCP the name's own. */
  readonly tcpOnly?: boolean;
}

export interface RewriteRecord {
  readonly type: number;
  readonly ttl: number;
  /** Wire form, names in it not compressed. */
  readonly rdata: Uint8Array;
}

interface Network {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

/** Clients by name and by address. */
interface Clients {
  readonly names: readonly string[];
  readonly networks: readonly Network[];
}

export class RuleTerms {
  readonly rewrite: Rewrite | null;
  /** JSON of the rewrite; '' without one. */
  readonly rewriteText: string;
  /** As in RuleTermsText; null when it undoes nothing. */
  readonly undo: string | null;
  readonly #types: readonly number[] | null;
  readonly #notTypes: readonly number[] | null;
  readonly #clients: Clients | null;
  readonly #notClients: Clients | null;
  readonly #tags: readonly string[] | null;
  readonly #notTags: readonly string[] | null;
  /** Wire labels. */
  readonly #denyAllow: readonly Uint8Array[] | null;
  /** Wire labels of the rewrite's other name; null without one. */
  readonly #target: Uint8Array | null;

  constructor(text: RuleTermsText) {
    this.rewrite = text.rewrite ? readRewrite(text.rewrite) : null;
    this.rewriteText = text.rewrite ? JSON.stringify(text.rewrite) : '';
    this.undo = text.undo ?? null;
    this.#types = text.types ?? null;
    this.#notTypes = text.notTypes ?? null;
    this.#clients = text.clients ? readClients(text.clients) : null;
    this.#notClients = text.notClients ? readClients(text.notClients) : null;
    this.#tags = text.tags ?? null;
    this.#notTags = text.notTags ?? null;
    this.#denyAllow = text.denyAllow ? text.denyAllow.map(wireName) : null;
    this.#target = text.rewrite?.cname === undefined ? null : wireName(text.rewrite.cname);
  }

  static read(json: Uint8Array): RuleTerms {
    return new RuleTerms(JSON.parse(new TextDecoder().decode(json)) as RuleTermsText);
  }

  /**
   * Whether all conditions hold. An answer with another name is none for that name itself, so that
   * `||a.example^$dnsrewrite=www.a.example` leads somewhere. Allocates nothing.
   */
  hold(view: NameView | null, matchContext: MatchContext): boolean {
    if (this.#types !== null && !this.#types.includes(matchContext.type)) return false;
    if (this.#notTypes?.includes(matchContext.type) === true) return false;
    if (this.#clients !== null && !isAmong(matchContext, this.#clients)) return false;
    if (this.#notClients !== null && isAmong(matchContext, this.#notClients)) return false;
    if (this.#tags !== null && !shareOne(matchContext.clientTags, this.#tags)) return false;
    if (this.#notTags !== null && shareOne(matchContext.clientTags, this.#notTags)) return false;
    return view === null || this.#speaksOf(view);
  }

  #speaksOf(view: NameView): boolean {
    if (this.#target?.length === view.nameLength && isBelow(view, this.#target)) return false;
    return this.#denyAllow === null || !isBelowAny(view, this.#denyAllow);
  }
}

function isAmong(matchContext: MatchContext, { names, networks }: Clients): boolean {
  if (shareOne(matchContext.clientNames, names)) return true;
  for (const { bytes, bits } of networks) {
    if (hasPrefix(matchContext.clientAddress, bytes, bits)) return true;
  }
  return false;
}

function shareOne(left: readonly string[], right: readonly string[]): boolean {
  for (const one of left) if (right.includes(one)) return true;
  return false;
}

/** Whether two addresses of 16 bytes begin with the same bits. */
export function hasPrefix(address: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (address[at] !== prefix[at]) return false;
  const rest = bits & 7;
  if (rest === 0) return true;
  return (((address[whole] as number) ^ (prefix[whole] as number)) & (0xff00 >> rest) & 0xff) === 0;
}

/** Whether the name is one of these or lies below one. */
function isBelowAny(view: NameView, names: readonly Uint8Array[]): boolean {
  for (const name of names) if (isBelow(view, name)) return true;
  return false;
}

function isBelow(view: NameView, name: Uint8Array): boolean {
  const start = view.nameLength - name.length;
  if (start < 0) return false;
  for (let at = 0; at < name.length; at++) {
    if (view.name[start + at] !== name[at]) return false;
  }
  for (let label = 0; label < view.labelCount; label++) {
    if (view.labelStarts[label] === start) return true;
  }
  return false;
}

function readRewrite(text: RewriteText): Rewrite {
  const records = (text.records ?? []).map(([type, ttl, hex]) => ({
    type,
    ttl,
    rdata: bytesOf(hex),
  }));
  return {
    ...{ rcode: text.rcode ?? 0, cname: text.cname ?? '', records },
    ...{ drop: text.drop ?? false, tcpOnly: text.tcpOnly ?? false },
  };
}

function readClients(texts: readonly (string | ClientNetwork)[]): Clients {
  const names: string[] = [];
  const networks: Network[] = [];
  for (const text of texts) {
    if (typeof text === 'string') names.push(text);
    else networks.push({ bytes: bytesOf(text[0]), bits: text[1] });
  }
  return { names, networks };
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16),
  );
}

function wireName(text: string): Uint8Array {
  const bytes = new Uint8Array(256);
  const length = writeName(text, bytes, 0);
  return bytes.slice(0, Math.max(0, length));
}
