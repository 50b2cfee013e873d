/** What each stage of the pipeline finds, in words, in its order. Used by check.ts; pure. */
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Explanation } from '../../engine/explain/explain.ts';
import type { KeptAnswer } from './check-cache.ts';
import type { NamedMatch } from './check-matches.ts';
import { isAddressBlock } from './check-why.ts';

type Check = MethodOutput<'check'>;
type Step = Check['steps'][number];

export interface StepParts {
  readonly found: Explanation;
  readonly matches: readonly NamedMatch[];
  readonly client: Check['client'];
  readonly kept: KeptAnswer;
  readonly upstream: Check['upstream'];
  readonly answer: Check['answer'];
  /** Which parts the settings have; a stage without any is not told. */
  readonly has: {
    readonly records: boolean;
    readonly priorityRules: boolean;
    readonly policies: boolean;
    readonly services: boolean;
    readonly groupRules: boolean;
  };
  /** Whether filtering is on at all. */
  readonly filtering: boolean;
}

export function listSteps(parts: StepParts): Step[] {
  const { found, has } = parts;
  if (found.decision === 'rejected') {
    return [{ step: 'question', result: 'not served by a gateway', decides: true }];
  }
  const steps = [
    ...(has.records ? [recordStep(found)] : []),
    specialStep(found),
    clientStep(parts),
    ...(found.isOn ? [] : [offStep(parts)]),
    ...(has.priorityRules ? [layerStep('rules that come first', 'first', parts)] : []),
    ...(has.groupRules ? [layerStep('rules of the group', 'client', parts)] : []),
    layerStep('your rules', 'user', parts),
    ...(has.policies ? [layerStep('policies', 'policy', parts)] : []),
    ...(has.services ? [layerStep('services and safe search', 'service', parts)] : []),
    layerStep('lists', 'list', parts),
    ...answerSteps(parts),
  ];
  const first = steps.findIndex(({ decides }) => decides);
  const told = steps.map((step, index) => ({ ...step, decides: index === first }));
  return found.decision === 'local' && first >= 0 ? told.slice(0, first + 1) : told;
}

function recordStep({ now }: Explanation): Step {
  const decides = now.reason === REASON.localRecord;
  return {
    step: 'local records',
    result: decides ? 'one of your records answers' : 'none of this name',
    decides,
  };
}

function specialStep({ special, decision, now }: Explanation): Step {
  const decides = decision === 'local' && now.reason === REASON.specialName;
  return { step: 'special names', result: special === '' ? 'not special' : special, decides };
}

function clientStep({ client }: StepParts): Step {
  return { step: 'client', result: clientText(client), decides: false };
}

function clientText(client: Check['client']): string {
  if (client === null) return 'nobody in particular; what holds for unknown clients';
  const { address, name, group, knownBy } = client;
  if (name === '') return `${address} is not in the settings; what holds for unknown clients`;
  const inGroup = group === '' ? '' : `, in the group "${group}"`;
  return `${address} is "${name}", known by ${knownBy}${inGroup}`;
}

function offStep({ filtering, client }: StepParts): Step {
  const group = client?.group ?? '';
  const result = filtering ? `off for the group "${group}"` : 'off or paused';
  return { step: 'filtering', result, decides: true };
}

function layerStep(step: string, layer: NamedMatch['layer'], parts: StepParts): Step {
  const mine = parts.matches.filter((match) => match.layer === layer);
  const decides =
    parts.found.isOn && !isByAnswer(parts.found) && mine.some(({ shown }) => shown.won);
  return { step, result: layerText(mine), decides };
}

function layerText(matches: readonly NamedMatch[]): string {
  const applying = matches.filter(({ shown }) => shown.applies);
  const others = matches.length - applying.length;
  const rest =
    others === 0 ? '' : `; ${String(others)} that ${others === 1 ? 'does' : 'do'} not apply`;
  const [first] = applying;
  if (first === undefined) return others === 0 ? 'nothing names it' : `nothing applies${rest}`;
  const winner = applying.find(({ shown }) => shown.won) ?? first;
  const verb = { block: 'blocks', allow: 'allows', redirect: 'redirects' }[winner.shown.action];
  const { list } = winner.shown;
  const who = list === 'rules' || list === '' ? '' : `${list} `;
  const count = applying.length === 1 ? '' : `, ${String(applying.length)} entries name it`;
  return `${who}${verb} ${winner.shown.matchedName}${count}${rest}`;
}

function answerSteps({ found, kept, upstream, answer }: StepParts): Step[] {
  const { now, decision } = found;
  if (decision === 'local') return [];
  const isFurther = isByAnswer(found);
  if (now.asked === null) return [{ step: 'answer', result: answer.text, decides: false }];
  const steps: Step[] = [
    {
      step: 'cache',
      result: isFurther ? blockedText(now.matched) : cacheText(kept),
      decides: isFurther || (decision === 'allowed' && isServed(kept)),
    },
  ];
  if (isFurther) {
    steps.push({ step: 'answer', result: answer.text, decides: false });
  } else {
    const isNeeded = !isServed(kept);
    steps.push({
      step: 'upstream',
      result: isNeeded ? upstreamText(upstream) : 'not asked',
      decides: isNeeded && decision === 'allowed' && now.outcome === OUTCOME.forwarded,
    });
  }
  return steps;
}

function isServed({ state }: KeptAnswer): boolean {
  return state === 'fresh' || state === 'negative' || state === 'failure';
}

/** The name passes, but what its answer leads to does not. */
function isByAnswer({ now }: Explanation): boolean {
  return now.reason === REASON.cname || isAddressBlock(now);
}

function blockedText(target: string): string {
  if (target === '') return 'the kept answer has an address that is blocked';
  return `the kept answer leads to ${target}, which is blocked`;
}

function cacheText({ item, state, name }: KeptAnswer): string {
  if (item === null) return 'nothing is kept';
  const left = `${String(item.leftSeconds)} s left`;
  switch (state) {
    case 'stale':
      return `an answer that expired ${String(-item.leftSeconds)} s ago`;
    case 'failure':
      return `a failure is remembered, ${left}`;
    case 'negative':
      return `${name} has nothing of the kind, ${left}`;
    default:
      return `an answer, ${left}`;
  }
}

function upstreamText({ suffix, servers }: Check['upstream']): string {
  const route = suffix === '' ? '' : ` (for ${suffix})`;
  return `${servers.join(', ')}${route}`;
}
