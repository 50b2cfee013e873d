/**
 * What goes past Sluice although the system resolver leads to it: browsers with their own DNS,
 * containers. Read from files only; what cannot be read is not claimed. For the network page.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export interface Bypass {
  readonly what: string;
  /** bypasses: goes past us. prevented: is kept from it. */
  readonly state: 'bypasses' | 'prevented' | 'unknown';
  /** One plain sentence. */
  readonly detail: string;
}

const CHROMIUM_POLICIES = [
  ['Chrome', 'etc/opt/chrome/policies/managed'],
  ['Chromium', 'etc/chromium/policies/managed'],
  ['Edge', 'etc/opt/edge/policies/managed'],
] as const;
const FIREFOX_POLICIES = [
  'etc/firefox/policies/policies.json',
  'usr/lib/firefox/distribution/policies.json',
];

/** @param root  of the file system, for tests */
export function findBypasses(root = '/'): Bypass[] {
  const found: Bypass[] = [];
  for (const [browser, folder] of CHROMIUM_POLICIES) {
    const mode = chromiumMode(root + folder);
    if (mode !== null) found.push(browserBypass(browser, mode === 'off', mode));
  }
  for (const file of FIREFOX_POLICIES) {
    const doh = firefoxPolicy(root + file);
    if (doh !== null) found.push(browserBypass('Firefox', !doh, doh ? 'on' : 'off'));
  }
  if (existsSync(`${root}run/docker.sock`) || existsSync(`${root}sys/class/net/docker0`)) {
    found.push({
      what: 'Docker',
      state: 'bypasses',
      detail: 'Containers do not reach a resolver on loopback; Docker gives them public servers.',
    });
  }
  return found;
}

function browserBypass(browser: string, isOff: boolean, mode: string): Bypass {
  return {
    what: browser,
    state: isOff ? 'prevented' : 'bypasses',
    detail: `The policy of ${browser} sets DNS over HTTPS to "${mode}".`,
  };
}

function chromiumMode(folder: string): string | null {
  for (const name of namesIn(folder)) {
    const mode = objectIn(`${folder}/${name}`)['DnsOverHttpsMode'];
    if (typeof mode === 'string') return mode;
  }
  return null;
}

function firefoxPolicy(file: string): boolean | null {
  const { policies } = objectIn(file) as { policies?: { DNSOverHTTPS?: { Enabled?: unknown } } };
  const enabled = policies?.DNSOverHTTPS?.Enabled;
  return typeof enabled === 'boolean' ? enabled : null;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

/** A policy that is not there, or is no JSON, sets nothing. */
function objectIn(file: string): Record<string, unknown> {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
