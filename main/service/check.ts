/**
 * Explains what a name would get: the engine's decision with list names and rule texts put in.
 * Loaded by the service at the first check; sends nothing and logs nothing.
 */
import type { Config } from '../contract/config.ts';
import type { MethodArguments, MethodOutput } from '../contract/methods.ts';
import { AppError } from '../contract/errors.ts';
import type { PolicyMessage } from '../dataplane/messages.ts';
import { openPolicy } from '../dataplane/open-policy.ts';
import { explain } from '../engine/explain.ts';
import { LIST_ID_POLICIES, LIST_ID_RULES } from '../engine/policy.ts';
import { parseNetwork } from './networks.ts';
import type { ListsPart } from './parts.ts';
import { readTypedName } from './typed-name.ts';

/**
 * @param names  of lists, policies and services, by their ids
 * @throws       AppError ARGUMENT_INVALID when name, type or client is none
 */
export function checkName(
  message: PolicyMessage,
  config: Config,
  lists: ListsPart,
  names: ReadonlyMap<number, string>,
  { name: text, type, client }: MethodArguments<'check'>,
): MethodOutput<'check'> {
  const name = readTypedName(text);
  const policy = openPolicy(message);
  const found = explain(policy, name, type, client === undefined ? null : addressOf(client));
  const matches = found.matches.map(({ listId, ...match }) => ({
    action: match.action,
    list: listId === LIST_ID_RULES ? 'rules' : (names.get(listId) ?? ''),
    matchedName: match.matchedName,
    rule: ruleText(listId, match.line, config, lists),
    line: match.line,
    won: match.won,
  }));
  const { decision, steps } = found;
  const winner = matches.find((match) => match.won);
  const why = nameWinner(found.why, winner?.list ?? '');
  return { name: name.toLowerCase().replace(/(?<=.)\.$/, ''), decision, why, steps, matches };
}

/** The text of a rule; '' for policies and services, which are no line of a text. */
function ruleText(listId: number, line: number, config: Config, lists: ListsPart): string {
  if (listId === LIST_ID_RULES) return config.rules[line - 1] ?? '';
  return listId >= LIST_ID_POLICIES ? '' : lists.ruleText(listId, line);
}

/** The sentence with the name of the list, policy or service that decided. */
function nameWinner(why: string, winner: string): string {
  if (winner === '' || winner === 'rules') return why;
  return why
    .replace(' a list ', ` the list "${winner}" `)
    .replace('one of your policies', `your policy "${winner}"`)
    .replace('your settings for services name', `"${winner}" in your settings names`);
}

/** @throws AppError ARGUMENT_INVALID */
function addressOf(text: string): Uint8Array {
  const network = parseNetwork(text);
  if (network?.bits === 128) return network.bytes;
  throw new AppError('ARGUMENT_INVALID', `client: not an IP address: "${text}"`);
}
