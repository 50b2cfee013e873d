/**
 * Says what a name would get, and why: every rule and list entry that matches, and which one won.
 *
 * Called by service/check.ts in the main thread; it adds list names and rule texts. Asks nobody,
 * changes nothing. It reads names with the same Query, zones and tables as the packet path, so that
 * the two cannot disagree.
 */
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { NO_PROFILE } from './client-profile.ts';
import { CONNECTIVITY_NAMES } from './connectivity.ts';
import {
  createMatchContext,
  fillContext,
  takeProfile,
  type MatchContext,
} from './match-context.ts';
import { collectTables, describeRewrite, explainTables } from './explain-tables.ts';
import { readName, writeName } from './name.ts';
import type { Policy } from './policy.ts';
import { Query } from './query.ts';
import { typeNumber } from './record-type.ts';
import { RULE_ALLOW, RULE_IMPORTANT_ALLOW, RULE_NONE, type RuleSet } from './rule-set.ts';
import {
  findSpecialZone,
  isForParent,
  ZONE_CANARY,
  ZONE_LOOPBACK,
  zoneKind,
  zoneLabels,
} from './special-zones.ts';
import {
  decide,
  decidingRewrite,
  decidingRules,
  isBlock,
  VERDICT_CLIENT_ALLOW,
  VERDICT_CLIENT_BLOCK,
  VERDICT_LIST_ALLOW,
  VERDICT_LIST_BLOCK,
  VERDICT_NONE,
  VERDICT_POLICY_ALLOW,
  VERDICT_POLICY_BLOCK,
  VERDICT_SERVICE_BLOCK,
  VERDICT_USER_ALLOW,
  VERDICT_USER_BLOCK,
  type Verdict,
} from './verdict.ts';
import { CLASS, HEADER_BYTES, TYPE, writeUint16 } from './wire.ts';

/** An entry that names this name or one above it. */
export interface ExplainedMatch {
  readonly action: 'block' | 'allow' | 'redirect';
  /** As in policy.ts: 0 for the user's own rules. */
  readonly listId: number;
  /** Presentation form. */
  readonly matchedName: string;
  /** 1-based. */
  readonly line: number;
  /** Whether this entry decided, or would while filtering is off or paused. */
  readonly won: boolean;
}

export interface Explanation {
  readonly decision: 'blocked' | 'allowed' | 'local';
  /** What each stage found, in the order of pipeline.ts. */
  readonly steps: { step: string; result: string }[];
  /** The user's rules first, then lists; most specific first. */
  readonly matches: ExplainedMatch[];
  /** One plain sentence. */
  readonly why: string;
}

/**
 * @param name  presentation form, any letter case, trailing dot or not
 * @param type  mnemonic, TYPE123 or number
 * @param client  16 bytes as in ports.ts; null for nobody in particular
 * @throws      AppError ARGUMENT_INVALID when either cannot be read
 */
export function explain(
  policy: Policy,
  name: string,
  type: string,
  client: Uint8Array | null = null,
): Explanation {
  const query = parse(name, type);
  const steps: Explanation['steps'] = [];
  const shown = suffix(query, query.labelCount);
  if (query.type !== TYPE.any && policy.records?.find(query)) {
    steps.push({ step: 'local records', result: 'answered by one of your records' });
    const why = `${shown} is answered by Sluice itself: it is one of your local records.`;
    return { decision: 'local', steps, matches: [], why };
  }
  const special = explainSpecial(policy, query);
  steps.push({ step: 'special names', result: special === '' ? 'not special' : special });
  if (special !== '') {
    const why = `${shown} is answered by Sluice itself: ${special}.`;
    return { decision: 'local', steps, matches: [], why };
  }
  const context = contextOf(policy, query, client);
  const { filtering, name: owner } = context.profile;
  if (policy.clients) steps.push({ step: 'client', result: owner === '' ? 'not known' : owner });
  if (policy.filtering && filtering) return explainFilter(policy, query, context, shown, steps);
  return explainOff(policy, query, context, shown, steps);
}

/** With the matches and their winner as they would be, which is what people want to know. */
function explainOff(
  policy: Policy,
  query: Query,
  context: MatchContext,
  shown: string,
  steps: Explanation['steps'],
): Explanation {
  const isOff = policy.filtering ? 'off for this client' : 'off or paused';
  steps.push({ step: 'filter', result: `filtering is ${isOff}` });
  const otherwise = explainFilter(policy, query, context, shown, []);
  const isSame = otherwise.decision === 'allowed';
  const rest = isSame ? 'It would be allowed otherwise, too' : 'Otherwise';
  const why = `${shown} is allowed because filtering is ${isOff}. ${rest}: ${otherwise.why}`;
  return { decision: 'allowed', steps, matches: otherwise.matches, why };
}

function explainFilter(
  policy: Policy,
  query: Query,
  context: MatchContext,
  shown: string,
  steps: Explanation['steps'],
): Explanation {
  const { rules, lists } = policy;
  const own = context.profile.rules;
  const byOwn = own && describe(own.match(query, context), own.hasBlock);
  const byRules = describe(rules.match(query, context), rules.hasBlock);
  const byLists = describe(lists.match(query, context), lists.hasBlock);
  const beaten = rules.hasBlock || lists.hasBlock;
  const verdict = decide(policy, query, context);
  const isKeptOpen = verdict === VERDICT_LIST_BLOCK && CONNECTIVITY_NAMES.has(query);
  const matches = collectAll(policy, query, context, isKeptOpen ? VERDICT_NONE : verdict);
  if (byOwn !== null) steps.push({ step: 'rules of the group', result: byOwn });
  steps.push({ step: 'rules', result: byRules });
  steps.push(...explainTables(policy, query, context));
  steps.push({ step: 'lists', result: byLists });
  const isBlocked = isBlock(verdict) && !isKeptOpen;
  const rewrite = isBlocked ? decidingRewrite(policy, verdict, context) : null;
  const blocked = rewrite ? describeRewrite(rewrite) : blockedAnswer(policy, query.type);
  const answer = isBlocked ? blocked : 'cache or upstream';
  steps.push({ step: 'answer', result: answer });
  const won = matches.find((match) => match.won);
  const decision = isBlocked ? 'blocked' : 'allowed';
  const why = isKeptOpen
    ? `${shown} is allowed because systems check their connectivity with it, whatever lists say.`
    : reason(shown, verdict, won?.matchedName ?? '', beaten);
  return { decision, steps, matches, why };
}

function reason(shown: string, verdict: Verdict, matched: string, beaten: boolean): string {
  switch (verdict) {
    case VERDICT_NONE:
      return `${shown} is allowed because no rule and no list names it.`;
    case VERDICT_USER_ALLOW:
    case VERDICT_CLIENT_ALLOW:
      return `${shown} is allowed because one of your rules allows ${matched}${
        beaten ? ', which beats every block' : ''
      }.`;
    case VERDICT_USER_BLOCK:
    case VERDICT_CLIENT_BLOCK:
      return `${shown} is blocked because one of your rules blocks ${matched}.`;
    case VERDICT_LIST_ALLOW:
      return `${shown} is allowed because a list allows ${matched}${
        beaten ? ', which beats the blocks of all lists' : ''
      }.`;
    case VERDICT_LIST_BLOCK:
      return `${shown} is blocked because a list blocks ${matched}.`;
    case VERDICT_POLICY_ALLOW:
      return `${shown} is allowed because one of your policies allows ${matched}.`;
    case VERDICT_POLICY_BLOCK:
      return `${shown} is blocked or redirected because one of your policies names ${matched}.`;
    case VERDICT_SERVICE_BLOCK:
      return `${shown} is blocked or redirected because your settings for services name ${matched}.`;
  }
}

/** What is known of who asks. */
function contextOf(policy: Policy, query: Query, client: Uint8Array | null): MatchContext {
  const context = createMatchContext();
  const address = client ?? context.clientAddress;
  fillContext(context, query.type, address);
  const known = client === null ? undefined : policy.clients?.find(client);
  takeProfile(context, known ?? policy.everybody ?? NO_PROFILE);
  return context;
}

/** The matches of both rule sets, with the one that the verdict goes by. */
function collectAll(
  policy: Policy,
  query: Query,
  context: MatchContext,
  verdict: Verdict,
): ExplainedMatch[] {
  const deciding = decidingRules(policy, verdict, context);
  const own = context.profile.rules;
  return [
    ...(own === null ? [] : collect(own, query, context, deciding === own)),
    ...collect(policy.rules, query, context, deciding === policy.rules),
    ...collectTables(policy, query, context, verdict),
    ...collect(policy.lists, query, context, deciding === policy.lists),
  ];
}

function describe(rank: number, hasBlock: boolean): string {
  if (rank === RULE_NONE) return 'nothing matches';
  if (!isAllow(rank)) return 'blocks';
  return hasBlock ? 'blocks and allows; allow wins' : 'allows';
}

function isAllow(rank: number): boolean {
  return rank === RULE_ALLOW || rank === RULE_IMPORTANT_ALLOW;
}

/** @param decides  whether the verdict is that of these rules */
function collect(
  rules: RuleSet,
  query: Query,
  context: MatchContext,
  decides: boolean,
): ExplainedMatch[] {
  const matches: ExplainedMatch[] = [];
  rules.forEachMatch(query, context, ({ rank, listId, labels, line, won }) => {
    const action = isAllow(rank) ? 'allow' : 'block';
    const matchedName = suffix(query, labels === 0 ? query.labelCount : labels);
    matches.push({ action, listId, matchedName, line, won: won && decides });
  });
  return matches;
}

/** What the special-names step would do; '' when it lets the name pass. */
function explainSpecial(policy: Policy, query: Query): string {
  const found = findSpecialZone(query);
  const kind = zoneKind(found);
  if (found === 0 || (kind === ZONE_CANARY && !policy.filtering)) return '';
  if (policy.suffixes !== undefined && policy.suffixes.match(query) > 0) return '';
  if (isForParent(found, query, query.type)) return '';
  const zone = suffix(query, zoneLabels(found));
  if (kind === ZONE_LOOPBACK) return `${zone} is this machine`;
  if (kind === ZONE_CANARY) return `${zone} tells browsers to leave DNS to the system`;
  return `${zone} is a local name that is never asked upstream`;
}

function blockedAnswer(policy: Policy, type: number): string {
  switch (policy.blockingAnswer) {
    case 'refused':
      return 'REFUSED';
    case 'nxdomain':
      return 'NXDOMAIN';
    case 'nodata':
      return 'no data';
    case 'null-address':
      if (type === TYPE.a) return '0.0.0.0';
      return type === TYPE.aaaa ? '::' : 'no data';
  }
}

/** The last `labels` labels of the name in presentation form. */
function suffix(query: Query, labels: number): string {
  if (labels === 0) return '.';
  const start = query.labelStarts[query.labelCount - labels] as number;
  return readName(query.name, start, query.nameLength);
}

/** Reads name and type through a packet, as the pipeline would. */
function parse(name: string, type: string): Query {
  const packet = new Uint8Array(HEADER_BYTES + LIMITS.nameBytesMax + 4);
  const length = writeName(name.trim(), packet, HEADER_BYTES);
  if (length < 0) throw new AppError('ARGUMENT_INVALID', `not a domain name: "${name}"`);
  const number = typeNumber(type);
  if (number < 0) throw new AppError('ARGUMENT_INVALID', `not a record type: "${type}"`);
  packet[5] = 1;
  const at = HEADER_BYTES + length;
  packet[at] = 0;
  writeUint16(packet, at + 1, number);
  writeUint16(packet, at + 3, CLASS.internet);
  const query = new Query();
  query.read(packet, 0, at + 5);
  return query;
}
