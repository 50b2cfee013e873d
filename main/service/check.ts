/**
 * Explains what a name would get: the engine's decision with list names and rule texts put in.
 * Loaded by the service at the first check; sends nothing and logs nothing.
 */
import type { Config } from '../contract/config.ts';
import type { MethodArguments, MethodOutput } from '../contract/methods.ts';
import type { PolicyMessage } from '../dataplane/messages.ts';
import { openPolicy } from '../dataplane/open-policy.ts';
import { explain } from '../engine/explain.ts';
import { LIST_ID_RULES } from '../engine/policy.ts';
import type { ListsPart } from './parts.ts';
import { readTypedName } from './typed-name.ts';

/** @throws AppError ARGUMENT_INVALID when the name or the type is none */
export function checkName(
  message: PolicyMessage,
  config: Config,
  lists: ListsPart,
  { name: text, type }: MethodArguments<'check'>,
): MethodOutput<'check'> {
  const name = readTypedName(text);
  const policy = openPolicy(message);
  const found = explain(policy, name, type);
  const matches = found.matches.map(({ listId, ...match }) => ({
    action: match.action,
    list: listId === LIST_ID_RULES ? 'rules' : (lists.listNames.get(listId) ?? ''),
    matchedName: match.matchedName,
    rule:
      listId === LIST_ID_RULES
        ? (config.rules[match.line - 1] ?? '')
        : lists.ruleText(listId, match.line),
    line: match.line,
    won: match.won,
  }));
  const { decision, steps } = found;
  const winner = matches.find((match) => match.won);
  const why =
    winner && winner.list !== '' && winner.list !== 'rules'
      ? found.why.replace(' a list ', ` the list "${winner.list}" `)
      : found.why;
  return { name: name.toLowerCase().replace(/(?<=.)\.$/, ''), decision, why, steps, matches };
}
