/** The right to call instances that tests start: their tokens, by the address of their HTTP door. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const tokens = new Map<string, string>();

/** Reads the token of an instance, if its disk took one. @param http  base URL, no slash behind it */
export async function learnToken(http: string, dataDirectory: string): Promise<void> {
  const text = await readFile(join(dataDirectory, 'token'), 'latin1').catch(() => '');
  tokens.set(http, text.trim());
}

/** A header with the token of that instance. */
export function authorization(http: string): { readonly authorization: string } {
  return { authorization: `Bearer ${tokens.get(http) ?? ''}` };
}
