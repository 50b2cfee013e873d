/** What would be answered, and the names an answer leads to, as text. Used by check.ts. */
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { OUTCOMES, REASONS } from '../../contract/outcome.ts';
import type { OwnAnswer } from '../../dataplane/own-question.ts';
import type { CachedRecord } from '../../engine/cache/cache-view.ts';
import { judge, type Explanation } from '../../engine/explain/explain.ts';
import { readAnswerSection } from '../../engine/explain/explain-message.ts';
import type { EngineConfig } from '../../engine/filter/engine-config.ts';
import { RCODE, TYPE } from '../../dns/wire.ts';
import { recordText } from '../methods/cache-methods.ts';
import type { KeptAnswer } from './check-cache.ts';
import { nameMatches, subjectOf, type Naming } from './check-matches.ts';

type Check = MethodOutput<'check'>;

const RCODES: Readonly<Record<number, string>> = {
  [RCODE.noError]: 'NOERROR',
  [RCODE.formErr]: 'FORMERR',
  [RCODE.servFail]: 'SERVFAIL',
  [RCODE.nxDomain]: 'NXDOMAIN',
  [RCODE.notImp]: 'NOTIMP',
  [RCODE.refused]: 'REFUSED',
};

export function rcodeText(rcode: number): string {
  return RCODES[rcode] ?? `code ${String(rcode)}`;
}

/** What this question would get now. */
export function describeAnswer({ now, decision }: Explanation, kept: KeptAnswer): Check['answer'] {
  if (decision === 'allowed') return describeKept(kept);
  if (now.answer === null) return { text: 'no answer at all', rcode: '', records: [] };
  const records = readAnswerSection(now.answer);
  const rcode = rcodeText(now.rcode);
  const isOpen = now.asked !== null && kept.item === null;
  const text = isOpen
    ? `an alias to ${now.asked.name}, whose records are asked upstream`
    : recordsText(records, now.rcode);
  return { text, rcode, records: records.map(recordText) };
}

function describeKept({ state, item }: KeptAnswer): Check['answer'] {
  if (item === null) return { text: 'asked upstream', rcode: '', records: [] };
  const { rcode, records, leftSeconds } = item;
  const left = `${String(leftSeconds)} s left`;
  const shown = { rcode: rcodeText(rcode), records: records.map(recordText) };
  switch (state) {
    case 'stale':
      return { text: 'asked upstream; an expired answer stands in if that fails', ...shown };
    case 'failure':
      return { text: `SERVFAIL, a failure that is remembered, ${left}`, ...shown };
    default:
      return { text: `the kept answer, ${left}: ${recordsText(records, rcode)}`, ...shown };
  }
}

/** "0.0.0.0 for 10 s", "NXDOMAIN", "no data". */
function recordsText(records: readonly CachedRecord[], rcode: number): string {
  const [first] = records;
  if (first === undefined) return rcode === RCODE.noError ? 'no data' : rcodeText(rcode);
  const last = records.filter(({ type }) => type !== TYPE.cname);
  const shown = (last.length > 0 ? last : records).map(({ data }) => data);
  return `${shown.join(', ')} for ${String(first.ttl)} s`;
}

/** A name that a record leads to. */
export interface Target {
  readonly owner: string;
  readonly typeName: Check['chain'][number]['typeName'];
  readonly name: string;
}

/** Aliases, and targets of services, in their order. */
export function targetsOf(records: readonly CachedRecord[]): Target[] {
  return records.flatMap(({ owner, type, data }) => {
    const typeName = TARGET_TYPES[type];
    const name = type === TYPE.cname ? data : data.replace(/^\d+ /, '');
    return typeName === undefined || name === '.' || name === '?'
      ? []
      : [{ owner, typeName, name }];
  });
}

/** The same, each with what the filter says of it. */
export function describeChain(
  records: readonly CachedRecord[],
  found: Explanation,
  engineConfig: EngineConfig,
  naming: Naming,
): Check['chain'] {
  return targetsOf(records).map(({ owner, typeName, name }) => {
    return { owner, typeName, target: name, ...judgeTarget(name, found, engineConfig, naming) };
  });
}

const TARGET_TYPES: Readonly<Record<number, Check['chain'][number]['typeName']>> = {
  [TYPE.cname]: 'CNAME',
  [TYPE.svcb]: 'SVCB',
  [TYPE.https]: 'HTTPS',
};

function judgeTarget(
  target: string,
  found: Explanation,
  engineConfig: EngineConfig,
  naming: Naming,
) {
  const { isBlocked, matches, spared } = judge(engineConfig, found, target);
  const winner = nameMatches(matches, naming).find(({ shown }) => shown.won);
  if (!winner) return { decision: 'allowed', why: 'no rule and no list names it' } as const;
  const verb = { block: 'blocks', allow: 'allows', redirect: 'redirects' }[winner.shown.action];
  const said = `${subjectOf(winner, naming.nowMs)} ${verb} ${winner.shown.matchedName}`;
  if (isBlocked) return { decision: 'blocked', why: said } as const;
  if (spared === 'user') {
    return {
      decision: 'allowed',
      why: `${said}, but you allow the name that was asked for`,
    } as const;
  }
  if (spared === 'list') {
    return {
      decision: 'allowed',
      why: `${said}, but not for the name that was asked for`,
    } as const;
  }
  const isOff = !found.isOn && winner.shown.action === 'block';
  return { decision: 'allowed', why: isOff ? `${said}, but filtering is off` : said } as const;
}

/** What came of asking. @param upstreams  as DataPlane.upstreams */
export function describeResolved(
  asked: OwnAnswer | null,
  upstreams: readonly string[],
): Check['resolved'] {
  if (asked === null) return null;
  const { answer, outcome, reason, upstream, durationUs } = asked;
  const records = answer === null ? [] : readAnswerSection(answer);
  return {
    outcome: OUTCOMES[outcome],
    reason: REASONS[reason],
    rcode: answer === null ? '' : rcodeText((answer[3] ?? 0) & 0x0f),
    records: records.map(recordText),
    upstream: upstreams[upstream] ?? '',
    durationUs,
  };
}
