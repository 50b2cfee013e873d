/**
 * Explains what a question would get: the engine's decision with names and rule texts put in, and
 * what caches and upstreams have to do with it. Loaded by the service at the first check. Sends and
 * logs nothing, unless it is told to resolve.
 */
import type { Config } from '../../contract/config.ts';
import type { MethodArguments, MethodOutput } from '../../contract/methods/methods.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { PolicyMessage } from '../../dataplane/messages.ts';
import { openPolicy } from '../../dataplane/open-policy.ts';
import type { OwnAnswer } from '../../dataplane/own-question.ts';
import type { CachedRecord } from '../../engine/cache/cache-view.ts';
import { explain, judge, writeQuestion, type Explanation } from '../../engine/explain/explain.ts';
import { readAnswerSection, writeCachedReply } from '../../engine/explain/explain-message.ts';
import type { EngineConfig } from '../../engine/filter/engine-config.ts';
import { typeName } from '../../dns/type-names.ts';
import { describeAnswer, describeChain, describeResolved, targetsOf } from './check-answer.ts';
import { findKept, type KeptAnswer } from './check-cache.ts';
import { findClient, type CheckedClient } from './check-client.ts';
import { nameMatches, type Naming } from './check-matches.ts';
import { listSteps, type StepParts } from './check-steps.ts';
import { whySentence, type Further } from './check-why.ts';
import type { ServiceClock } from '../../system/clock.ts';
import type { Filters } from '../policy/filters.ts';
import { listPriorityRules } from '../policy/priority-rules.ts';
import type { ListsPart, PlanePart } from '../process/parts.ts';
import type { TemporaryRules } from '../settings/temporary-rules.ts';
import { readTypedName } from '../../dns/typed-name.ts';

type Check = MethodOutput<'check'>;

export interface CheckParts {
  /** As the data plane has it now. */
  readonly message: PolicyMessage;
  readonly config: Config;
  readonly lists: Pick<ListsPart, 'listNames' | 'ruleText'>;
  readonly plane: Pick<PlanePart, 'inspectCache' | 'resolve' | 'upstreams'>;
  readonly filters: Pick<Filters, 'names'>;
  readonly temporary: Pick<TemporaryRules, 'all'>;
  readonly clock: Pick<ServiceClock, 'wallMs'>;
}

/** @throws AppError ARGUMENT_INVALID when the name, the type or the client is none */
export async function checkName(
  parts: CheckParts,
  input: MethodArguments<'check'>,
): Promise<Check> {
  const looked = await look(parts, input);
  const { engineConfig, client, found, kept, naming, records } = looked;
  const matches = nameMatches(found.matches, naming);
  const upstream = routeOf(found, parts.config);
  const answer = describeAnswer(found, kept);
  const further = findFurther(found, records, engineConfig, naming);
  const winner = further?.match ?? matches.find(({ shown }) => shown.won);
  const { filtering } = engineConfig;
  return {
    name: found.name,
    type: typeName(found.type),
    decision: found.decision,
    why: whySentence({
      ...{ found, matches, further, filtering, group: client.shown?.group ?? '' },
      addressList: parts.lists.listNames.get(found.filtered.listId) ?? '',
      nowMs: naming.nowMs,
    }),
    endsAtMs: winner?.endsAtMs ?? null,
    client: client.shown,
    steps: listSteps({
      ...{ found, matches, kept, upstream, answer, filtering, client: client.shown },
      has: stagesOf(engineConfig, naming),
    }),
    matches: matches.map(({ shown }) => shown),
    answer,
    cache: describeCache(kept),
    upstream,
    chain: describeChain(records, found, engineConfig, naming),
    resolved: describeResolved(looked.asked, parts.plane.upstreams),
  };
}

/** All that is told about, before it becomes text. */
interface Looked {
  readonly engineConfig: EngineConfig;
  readonly client: CheckedClient;
  readonly asked: OwnAnswer | null;
  readonly found: Explanation;
  readonly kept: KeptAnswer;
  readonly naming: Naming;
  /** Those whose aliases are told. */
  readonly records: readonly CachedRecord[];
}

async function look(
  { config, message, plane, lists, filters, temporary, clock }: CheckParts,
  { name: text, type, client: clientText, resolve }: MethodArguments<'check'>,
): Promise<Looked> {
  const name = readTypedName(text);
  const engineConfig = openPolicy(message);
  const client = findClient(clientText, config, message, engineConfig);
  const packet = writeQuestion(name, type);
  const asked = resolve ? await plane.resolve(packet, client.address) : null;
  const { found, kept } = await explainWithKept(plane, engineConfig, name, type, client.address);
  const naming: Naming = {
    ...{ config, lists, names: filters.names, nowMs: clock.wallMs() },
    group: config.groups.find((one) => one.name === client.shown?.group),
    priorityRules: listPriorityRules(config.rules, temporary.all),
  };
  const records = chainRecords(kept, asked?.answer ?? null);
  return { engineConfig, client, asked, found, kept, naming, records };
}

/** Which stages there are for this client. */
function stagesOf(
  { records, priorityRules: firstRules, policies, services }: EngineConfig,
  { group }: Naming,
): StepParts['has'] {
  return {
    records: Boolean(records),
    priorityRules: Boolean(firstRules),
    policies: Boolean(policies),
    services: Boolean(services),
    groupRules: group !== undefined && group.rules.length > 0,
  };
}

function describeCache({ state, item, entries }: KeptAnswer): Check['cache'] {
  return { state, leftSeconds: item?.leftSeconds ?? 0, entries };
}

/** First what the engine would ask for, then the same with what is kept of it. */
async function explainWithKept(
  plane: Pick<PlanePart, 'inspectCache'>,
  engineConfig: EngineConfig,
  name: string,
  type: string,
  address: Uint8Array,
): Promise<{ readonly found: Explanation; readonly kept: KeptAnswer }> {
  const question = { config: engineConfig, name, type, address };
  const found = explain(question);
  const kept = await findKept(plane, found.now.asked);
  const { item } = kept;
  if (item === null || item.failure !== 0) return { found, kept };
  const withKept = explain({ ...question, kept: (query) => writeCachedReply(query, item) });
  return { found: withKept, kept };
}

/** The records whose aliases are told: those kept, else those that were just asked for. */
function chainRecords({ item }: KeptAnswer, answer: Uint8Array | null): readonly CachedRecord[] {
  if (item !== null && item.records.length > 0) return item.records;
  return answer === null ? [] : readAnswerSection(answer);
}

/** The first name that the answer leads to and that is blocked, and the rule that does it. */
function findFurther(
  found: Explanation,
  records: readonly CachedRecord[],
  engineConfig: EngineConfig,
  naming: Naming,
): Further | undefined {
  const { filtered } = found;
  if (filtered.outcome !== OUTCOME.blocked || filtered.reason !== REASON.cname) return undefined;
  for (const target of targetsOf(records)) {
    const { isBlocked, matches } = judge(engineConfig, found, target.name);
    const match = nameMatches(matches, naming).find(({ shown }) => shown.won);
    if (isBlocked && match) return { target: target.name, match };
  }
  return undefined;
}

/** The servers that the name falls to; the longest suffix counts. */
function routeOf({ name }: Explanation, { dns }: Config): Check['upstream'] {
  const labels = name.split('.');
  const suffixes = new Map(
    Object.entries(dns.suffixes).map(([suffix, servers]) => [
      suffix.toLowerCase().replace(/\.$/, ''),
      servers,
    ]),
  );
  for (let first = 0; first < labels.length; first++) {
    const suffix = labels.slice(first).join('.');
    const servers = suffixes.get(suffix);
    if (servers) return { suffix, servers };
  }
  return { suffix: '', servers: dns.upstreams };
}
