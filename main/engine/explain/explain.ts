/**
 * Says what a question would get, and why: what each stage of the pipeline finds, every rule that
 * names it in rules, policies and lists, and which one decides.
 *
 * Called by control/check/check.ts in the main thread; it adds names and rule texts. Asks nobody, changes
 * nothing. What becomes of the question is told by an engine of its own (explain-run.ts), and who
 * decided by the same `decide` that the packet path goes by, over the same tables.
 */
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import { rehearse, type Keeper, type Rehearsal } from './explain-run.ts';
import { collectMatches, type ExplainedMatch } from './explain-matches.ts';
import type { MatchContext } from '../filter/match-context.ts';
import { readName, writeName } from '../../dns/name.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import type { Query } from '../query/query.ts';
import { typeNumber } from '../../dns/record-type.ts';
import {
  findSpecialZone,
  ZONE_CANARY,
  ZONE_LOOPBACK,
  zoneKind,
  zoneLabels,
} from '../../dns/special-zones.ts';
import { identifyClient } from '../steps/client.ts';
import { QueryContext } from '../query/query-context.ts';
import {
  decide,
  isBlock,
  isByTable,
  isUserAllow,
  VERDICT_LIST_ALLOW,
  VERDICT_LIST_BLOCK,
  VERDICT_NONE,
  type Verdict,
} from '../filter/verdict.ts';
import { CLASS, HEADER_BYTES, writeUint16 } from '../../dns/wire.ts';

export interface ExplainedQuestion {
  readonly config: EngineConfig;
  /** Presentation form, any letter case, trailing dot or not. */
  readonly name: string;
  /** Mnemonic, TYPE123 or number. */
  readonly type: string;
  /** Who asks: 16 bytes as in ports.ts Client. */
  readonly address: Uint8Array;
  readonly kept?: Keeper;
}

export interface Explanation {
  /** Presentation form, lower case. */
  readonly name: string;
  readonly type: number;
  /** What becomes of it. */
  readonly now: Rehearsal;
  /** Whether anything is filtered for this client now. */
  readonly isOn: boolean;
  /** What would become of it if filtering were on; the same as `now` when it is. */
  readonly filtered: Rehearsal;
  readonly decision: 'blocked' | 'allowed' | 'rewritten' | 'local' | 'rejected';
  /** What the special name is; '' when it is none, or is let pass. */
  readonly special: string;
  /** What rules, policies and lists say together. */
  readonly verdict: Verdict;
  /** Layer by layer in the order in which they decide; in a layer the most specific first. */
  readonly matches: readonly ExplainedMatch[];
  /** Of the client; for `judge`. */
  readonly matchContext: MatchContext;
}

/** @throws AppError ARGUMENT_INVALID when name or type cannot be read */
export function explain({ config, name, type, address, kept }: ExplainedQuestion): Explanation {
  const packet = writeQuestion(name, type);
  const context = new QueryContext();
  const { query, matchContext } = context;
  query.read(packet, 0, packet.length);
  context.address = address;
  identifyClient(context, config);
  const now = rehearse(config, packet, address, kept);
  const isOn = config.filtering && matchContext.profile.filtering;
  const filtered = isOn ? now : rehearse(switchedOn(config, matchContext), packet, address, kept);
  const verdict = decide(config, query, matchContext);
  const isOverruled =
    filtered.reason === REASON.specialName || filtered.reason === REASON.localRecord;
  return {
    name: suffixOf(query, query.labelCount),
    ...{ type: query.type, now, filtered, isOn, verdict, matchContext },
    decision: decisionOf(now),
    special: now.reason === REASON.specialName ? describeSpecial(query) : '',
    matches: collectMatches(config, query, matchContext, isOverruled ? VERDICT_NONE : verdict),
  };
}

/** The policy as if filtering were on, for everybody and for this client. */
function switchedOn(config: EngineConfig, { profile }: MatchContext): EngineConfig {
  const everybody = { ...profile, filtering: true };
  return { ...config, filtering: true, clients: null, everybody };
}

function decisionOf({ outcome, reason }: Rehearsal): Explanation['decision'] {
  switch (outcome) {
    case OUTCOME.blocked:
      return 'blocked';
    case OUTCOME.rejected:
      return 'rejected';
    case OUTCOME.local:
      return isOwn(reason) ? 'local' : 'rewritten';
    default:
      return 'allowed';
  }
}

function isOwn(reason: number): boolean {
  return reason === REASON.specialName || reason === REASON.localRecord || reason === REASON.none;
}

/** What the filter says of a name that the answer leads to; see steps/response-filter.ts. */
export interface TargetVerdict {
  readonly isBlocked: boolean;
  /** The rules that name it; the deciding one has `won`. */
  readonly matches: readonly ExplainedMatch[];
  /** Why a block does not count here; '' when it does, or when there is none. */
  readonly spared: '' | 'user' | 'list';
}

export function judge(config: EngineConfig, found: Explanation, target: string): TargetVerdict {
  const { matchContext } = found;
  const packet = writeQuestion(target, String(found.type));
  const { query } = new QueryContext();
  query.read(packet, 0, packet.length);
  const verdict = decide(config, query, matchContext);
  const isRedirect = isByTable(verdict) && matchContext.entry?.action === 'redirect';
  const matches = collectMatches(config, query, matchContext, verdict);
  if (!isBlock(verdict) || isRedirect) return { isBlocked: false, matches, spared: '' };
  const spared = sparedBy(found, verdict);
  return { isBlocked: spared === '' && found.isOn, matches, spared };
}

function sparedBy(found: Explanation, verdict: Verdict): TargetVerdict['spared'] {
  if (isUserAllow(found.verdict)) return 'user';
  const onlyRules =
    found.verdict === VERDICT_LIST_ALLOW || found.filtered.reason === REASON.specialName;
  return verdict === VERDICT_LIST_BLOCK && onlyRules ? 'list' : '';
}

function describeSpecial(query: Query): string {
  const found = findSpecialZone(query);
  if (found === 0) return '';
  const kind = zoneKind(found);
  const zone = suffixOf(query, zoneLabels(found));
  if (kind === ZONE_LOOPBACK) return `${zone} is this machine`;
  if (kind === ZONE_CANARY) return `${zone} tells browsers to leave DNS to the system`;
  return `${zone} is a local name that is never asked upstream`;
}

/** The last `labels` labels of the name in presentation form. */
export function suffixOf(query: Query, labels: number): string {
  if (labels === 0) return '.';
  const start = query.labelStarts[query.labelCount - labels] as number;
  return readName(query.name, start, query.nameLength);
}

/**
 * A query message as a plain stub writes it.
 *
 * @throws AppError ARGUMENT_INVALID when name or type cannot be read
 */
export function writeQuestion(name: string, type: string): Uint8Array {
  const packet = new Uint8Array(HEADER_BYTES + LIMITS.nameBytesMax + 4);
  const length = writeName(name.trim(), packet, HEADER_BYTES);
  if (length < 0) throw new AppError('ARGUMENT_INVALID', `not a domain name: "${name}"`);
  const number = typeNumber(type);
  if (number < 0) throw new AppError('ARGUMENT_INVALID', `not a record type: "${type}"`);
  packet[2] = 1;
  packet[5] = 1;
  const at = HEADER_BYTES + length;
  packet[at] = 0;
  writeUint16(packet, at + 1, number);
  writeUint16(packet, at + 3, CLASS.internet);
  return packet.slice(0, at + 5);
}
