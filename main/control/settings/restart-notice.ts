/**
 * Says which changed settings wait for a restart. Called by the service after a change.
 */
import type { Config } from '../../contract/config.ts';

/** One sentence naming the keys; null when the running program has all settings in use. */
export function restartNotice(startedWith: Config, now: Config): string | null {
  const waiting: string[] = [];
  if (startedWith.dns.listen.join() !== now.dns.listen.join()) waiting.push('dns.listen');
  if (startedWith.dns.threads !== now.dns.threads) waiting.push('dns.threads');
  if (startedWith.http.listen !== now.http.listen) waiting.push('http.listen');
  if (waiting.length === 0) return null;
  return `Changed and in use after a restart: ${waiting.join(', ')}.`;
}
