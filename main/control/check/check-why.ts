/** One plain sentence about who decides over a name, and why. Used by check.ts; pure. */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Explanation } from '../../engine/explain/explain.ts';
import type { Rehearsal } from '../../engine/explain/explain-run.ts';
import { VERDICT_POLICY_ALLOW } from '../../engine/filter/verdict.ts';
import { subjectOf, type NamedMatch } from './check-matches.ts';

export interface WhyParts {
  readonly found: Explanation;
  readonly matches: readonly NamedMatch[];
  /** Of the client; '' without one. */
  readonly group: string;
  /** Whether filtering is on at all. */
  readonly filtering: boolean;
  readonly further: Further | undefined;
  /** The list that blocks an address in the answer; '' for a rule of the user's. */
  readonly addressList: string;
  readonly nowMs: number;
}

/** A name that the answer leads to, and the rule that blocks it. */
export interface Further {
  readonly target: string;
  readonly match: NamedMatch;
}

export function whySentence(parts: WhyParts): string {
  const { found, group, filtering } = parts;
  const isLocal = found.decision === 'local' || found.decision === 'rejected';
  if (found.isOn || isLocal) return whyFiltered(parts);
  const off = filtering ? `off for the group "${group}"` : 'off or paused';
  const isSame = found.filtered.outcome === OUTCOME.forwarded;
  const rest = isSame ? 'It would be allowed otherwise, too' : 'Otherwise';
  return `${found.name} is allowed because filtering is ${off}. ${rest}: ${whyFiltered(parts)}`;
}

/** As if filtering were on. */
function whyFiltered(parts: WhyParts): string {
  const { found, matches, nowMs } = parts;
  const { name, filtered } = found;
  const own = ownReason(found);
  if (own !== '') return own;
  if (filtered.reason === REASON.cname) return whyFurther(parts);
  if (isAddressBlock(filtered)) return whyAddress(parts);
  const winner = matches.find(({ shown }) => shown.won);
  if (!winner) return whyNobody(parts);
  const { action, matchedName, important } = winner.shown;
  const subject = subjectOf(winner, nowMs);
  const marked = important ? ', marked as important' : '';
  if (action === 'allow') {
    return `${name} is allowed because ${subject} allows ${matchedName}${marked}${beaten(parts)}.`;
  }
  if (action === 'redirect') {
    return whyRedirected(found, `${subject} redirects ${matchedName}${marked}`);
  }
  return `${name} is blocked because ${subject} blocks ${matchedName}${marked}.`;
}

/** The name that a policy's redirect leads to is let through, though it may name that one, too. */
function whyRedirected({ name, verdict, filtered }: Explanation, redirects: string): string {
  if (verdict === VERDICT_POLICY_ALLOW) return `${name} is allowed because ${redirects} to it.`;
  const isBlocked = filtered.outcome === OUTCOME.blocked;
  return `${name} ${isBlocked ? 'is blocked' : 'is answered with something else'} because ${redirects}.`;
}

/** What Sluice answers or refuses whatever rules say; ''. */
function ownReason({ name, decision, special, now }: Explanation): string {
  if (decision === 'rejected') return `${name} is refused: no gateway serves such a question.`;
  if (decision !== 'local') return '';
  if (now.reason === REASON.localRecord) {
    return `${name} is answered by Sluice itself: it is one of your local records.`;
  }
  if (special !== '') return `${name} is answered by Sluice itself: ${special}.`;
  return `${name} is answered by Sluice itself: ANY gets one small record.`;
}

function whyFurther({ found, further, nowMs }: WhyParts): string {
  const { name, filtered } = found;
  if (!further) return `${name} is blocked because it leads to ${filtered.matched}.`;
  const subject = subjectOf(further.match, nowMs);
  return `${name} is blocked because it leads to ${further.target}, which ${subject} blocks.`;
}

/** The name passes, but not the answer. */
export function isAddressBlock({ outcome, reason, asked }: Rehearsal): boolean {
  const isRule = reason === REASON.list || reason === REASON.rule;
  return outcome === OUTCOME.blocked && asked !== null && isRule;
}

function whyAddress({ found, addressList }: WhyParts): string {
  const subject = addressList === '' ? 'one of your rules' : `the list "${addressList}"`;
  return `${found.name} is blocked because its answer has an address that ${subject} blocks.`;
}

function whyNobody({ found, matches }: WhyParts): string {
  const { name, filtered } = found;
  if (filtered.reason === REASON.specialName) {
    return `${name} is allowed because systems check their connectivity with it, whatever lists say.`;
  }
  if (matches.length > 0) {
    return `${name} is allowed because no rule and no list that applies here names it.`;
  }
  return `${name} is allowed because no rule and no list names it.`;
}

/** What an allow rule wins over. */
function beaten({ matches }: WhyParts): string {
  const blocks = matches.filter(({ shown }) => shown.applies && shown.action !== 'allow');
  if (blocks.length === 0) return '';
  const others = blocks.every(({ shown }) => shown.source === 'list');
  return others ? ', which beats the blocks of lists' : ', which beats every block';
}
