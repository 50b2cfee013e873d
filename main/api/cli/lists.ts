/**
 * `sluice lists add`, which waits until the list has been fetched, `lists change`, and the texts of
 * `show` and `catalogue`. Used by list-commands.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../contract/errors.ts';
import type { ListStatus, MethodOutput } from '../../contract/methods/methods.ts';
import type { CliClient } from './client.ts';
import { t } from './language.ts';
import { table } from './table.ts';
import { acceptHint, bytes, count, ignoredLines, newsText, stateText, timeText } from './text.ts';

/** A download may take longer; it goes on without us. */
const WAIT_MS = 60_000;
const LOOK_MS = 200;

/** What a list's names are used for; what is not given is as usual, or stays. */
export interface UseOptions {
  readonly action?: 'block' | 'allow';
  readonly match?: 'subdomains' | 'exact';
  readonly allowWide?: boolean;
}

export interface AddOptions extends UseOptions {
  readonly format: string;
  readonly fromCatalogue?: string;
}

/**
 * @returns the lists, once the new one is in use or the wait is over
 * @throws  AppError ARGUMENT_INVALID without name and URL; LIST_UNREACHABLE when it could not be
 *          taken, with the reason
 */
export async function addList(
  client: Pick<CliClient, 'call'>,
  source: AddOptions & { readonly name: string | undefined; readonly url: string | undefined },
): Promise<MethodOutput<'lists.add'>> {
  const begun = await begin(client, source);
  const { name } = begun;
  let { answer } = begun;
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_MS) {
    const list = answer.lists.find((one) => one.name === name);
    if (list?.state === 'failed') {
      const text = `list "${name}" is in the settings now, but not in use: ${list.error}`;
      throw new AppError('LIST_UNREACHABLE', text);
    }
    if (list?.state !== 'updating' && list?.state !== 'waiting') break;
    await sleep(LOOK_MS);
    answer = (await client.call('lists.list', {})) as MethodOutput<'lists.list'>;
  }
  return answer;
}

async function begin(
  client: Pick<CliClient, 'call'>,
  { name, url, format, fromCatalogue, ...use }: Parameters<typeof addList>[1],
): Promise<{ answer: MethodOutput<'lists.add'>; name: string }> {
  if (fromCatalogue !== undefined) {
    const answer = (await client.call('catalogue.add', {
      id: fromCatalogue,
    })) as MethodOutput<'catalogue.add'>;
    const added = answer.lists.at(-1)?.name ?? '';
    if (Object.keys(use).length === 0) return { answer, name: added };
    return { answer: await changeList(client, added, use), name: added };
  }
  if (name === undefined || url === undefined) {
    throw new AppError(
      'ARGUMENT_INVALID',
      'lists add: write a name and a URL, or --from-catalogue',
    );
  }
  const answer = (await client.call('lists.add', {
    name,
    url,
    format,
    ...use,
  })) as MethodOutput<'lists.add'>;
  return { answer, name };
}

/** @throws AppError ARGUMENT_INVALID when nothing is to change, LIST_UNKNOWN */
export async function changeList(
  client: Pick<CliClient, 'call'>,
  name: string,
  use: UseOptions,
): Promise<MethodOutput<'lists.change'>> {
  if (Object.keys(use).length === 0) {
    throw new AppError('ARGUMENT_INVALID', 'lists change: write --action, --match or --allow-wide');
  }
  return (await client.call('lists.change', { name, ...use })) as MethodOutput<'lists.change'>;
}

/**
 * `sluice lists show`: one list with its copies, and what of it was ignored and why.
 *
 * @throws AppError LIST_UNKNOWN
 */
export function listText({ lists }: MethodOutput<'lists.list'>, name: string): string {
  const list = lists.find((one) => one.name === name);
  if (!list) throw new AppError('LIST_UNKNOWN', `there is no list "${name}"`);
  const said = t().cli.lists;
  const facts = [
    [said.name, list.name],
    [said.url, list.url],
    [said.state, stateText(list)],
    [said.error, list.error],
    [said.format, list.format],
    [said.names, count(list.names)],
    ...list.generations.map((copy) => [
      copy.inUse ? said.inUse : said.previous,
      said.version(timeText(copy.fetchedAtMs), copy.names, bytes(copy.bytes)),
    ]),
    [said.lastChange, newsText(list.change)],
    [said.lines, linesText(list)],
    [said.ignored, said.ignoredLines(ignoredLines(list))],
    ...list.ignored.flatMap(({ reason, lines, examples }) => [
      ['', `${count(lines)}: ${reason}`],
      ...examples.map((example) => ['', `    ${example}`]),
    ]),
  ].filter(([, fact]) => fact !== '');
  const hint = list.quarantine?.acceptable === true ? `\n${acceptHint(list)}` : '';
  return table(facts) + hint;
}

/** What its lines are; '' before one was read. */
function linesText({ lines, rules, comments }: ListStatus): string {
  if (lines === 0) return '';
  return t().cli.lists.linesOf(lines, rules, comments);
}

export function catalogueText({ lists }: MethodOutput<'catalogue.list'>): string {
  const said = t().cli.lists;
  const rows = lists.map((list): string[] => [
    list.id,
    list.category,
    list.size,
    list.licence,
    list.added === '' ? '' : said.added,
    list.purpose,
  ]);
  return table([[said.id, said.category, said.size, said.licence, '', said.purpose], ...rows]);
}
