/**
 * Finds out whether the way to the internet is free, as operating systems do: fetches a page whose
 * answer is known, its name resolved only through the servers that the network gave.
 */
import { Resolver } from 'node:dns/promises';
import { get } from 'node:http';
import type { PortalFinding } from './portal.ts';

export interface ProbePage {
  readonly host: string;
  readonly path: string;
  /** What a free way answers. */
  readonly status: number;
  readonly body: RegExp;
}

/** The pages of three systems: one being down is no portal. */
export const PROBE_PAGES: readonly ProbePage[] = [
  {
    ...{ host: 'connectivitycheck.gstatic.com', path: '/generate_204', status: 204 },
    body: /^$/,
  },
  { host: 'detectportal.firefox.com', path: '/success.txt', status: 200, body: /^success\s*$/ },
  { host: 'captive.apple.com', path: '/', status: 200, body: /<TITLE>Success<\/TITLE>/i },
];

const PAGE_MS = 3_000;
const BODY_BYTES_MAX = 16_384;

/**
 * @param servers  of DHCP, as "10.0.0.1" or "10.0.0.1:53"
 * @returns        free when any page is as expected, portal when one is not, offline otherwise
 */
export async function probePortal(
  servers: readonly string[],
  pages: readonly ProbePage[] = PROBE_PAGES,
  port = 80,
): Promise<PortalFinding> {
  if (servers.length === 0) return 'offline';
  const resolver = new Resolver({ timeout: PAGE_MS / 3, tries: 2 });
  resolver.setServers([...servers]);
  let finding: PortalFinding = 'offline';
  for (const page of pages) {
    const answer = await fetchPage(resolver, page, port).catch(() => null); // no answer: offline
    if (answer === null) continue;
    if (answer.status === page.status && page.body.test(answer.body)) return 'free';
    finding = 'portal';
    break;
  }
  return finding;
}

async function fetchPage(resolver: Resolver, page: ProbePage, port: number) {
  const [address] = await resolver.resolve4(page.host);
  if (address === undefined) return null;
  return new Promise<{ status: number; body: string } | null>((resolve) => {
    const options = {
      ...{ host: address, port, path: page.path, agent: false, timeout: PAGE_MS },
      headers: { host: page.host, connection: 'close' },
    };
    const request = get(options, (response) => {
      let body = '';
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > BODY_BYTES_MAX) response.destroy();
      });
      response.once('close', () => {
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
    const limit = setTimeout(() => request.destroy(), PAGE_MS);
    request.once('error', () => {
      resolve(null);
    });
    request.once('close', () => {
      clearTimeout(limit);
      resolve(null);
    });
  });
}
