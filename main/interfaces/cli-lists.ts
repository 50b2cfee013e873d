/** `sluice lists add`: adds a list and waits until it has been fetched. Used by cli.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../contract/errors.ts';
import type { MethodOutput } from '../contract/methods.ts';
import type { CliClient } from './cli-client.ts';

/** A download may take longer; it goes on without us. */
const WAIT_MS = 60_000;
const LOOK_MS = 200;

/**
 * @returns the lists, once the new one is in use or the wait is over
 * @throws  AppError LIST_UNREACHABLE when it could not be taken, with the reason
 */
export async function addList(
  client: Pick<CliClient, 'call'>,
  source: { readonly name: string; readonly url: string; readonly format: string },
): Promise<MethodOutput<'lists.add'>> {
  let answer = (await client.call('lists.add', source)) as MethodOutput<'lists.add'>;
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_MS) {
    const list = answer.lists.find(({ name }) => name === source.name);
    if (list?.state === 'failed') {
      const text = `list "${source.name}" is in the settings now, but not in use: ${list.error}`;
      throw new AppError('LIST_UNREACHABLE', text);
    }
    if (list?.state !== 'updating' && list?.state !== 'waiting') break;
    await sleep(LOOK_MS);
    answer = (await client.call('lists.list', {})) as MethodOutput<'lists.list'>;
  }
  return answer;
}
