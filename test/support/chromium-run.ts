/**
 * Runs inside a network and mount namespace of its own (`unshare`): a gateway on port 53 is all the
 * resolver there is, a web server has the address of every allowed name, and Chromium asks with its
 * own resolver. Prints what became of each name and what the gateway was asked, as JSON.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { openPeerGateway } from './peer-upstream.ts';
import { findTool } from './tools.ts';

export interface Visited {
  /** Title of the page, or the browser's error. */
  readonly pages: Record<string, string>;
  /** "name TYPE" of each query. */
  readonly asked: string[];
}

const [folder = '', ...names] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['address', 'add', '192.0.2.10/24', 'dev', 'lo']);
writeFileSync(`${folder}/resolv.conf`, 'nameserver 127.0.0.1\n');
writeFileSync(`${folder}/nsswitch.conf`, 'hosts: files dns\n');
execFileSync('mount', ['--bind', `${folder}/resolv.conf`, '/etc/resolv.conf']);
execFileSync('mount', ['--bind', `${folder}/nsswitch.conf`, '/etc/nsswitch.conf']);

const closers: (() => void | Promise<void>)[] = [];
const t = { after: (close: () => void | Promise<void>) => void closers.push(close) };
const gateway = await openPeerGateway(t, { port: 53 });
// Not on 0.0.0.0: that is where blocked names lead.
const web = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(`<title>${request.headers.host ?? ''}</title>`);
}).listen(80, '192.0.2.10');
const browser = await chromium.launch({
  executablePath: findTool('chromium') ?? 'chromium',
  args: ['--no-sandbox', '--disable-gpu', '--enable-features=AsyncDns'],
});
const pages: Record<string, string> = {};
for (const name of names) {
  const page = await browser.newPage();
  pages[name] = await page.goto(`http://${name}/`, { timeout: 8_000 }).then(
    () => page.title(),
    (error: unknown) => /net::\w+/.exec(String(error))?.[0] ?? String(error),
  );
  await page.close();
}
await browser.close();
web.closeAllConnections();
web.close();
const asked = gateway.sink.records.map(({ name, type }) => `${name} TYPE${String(type)}`);
process.stdout.write(`${JSON.stringify({ pages, asked } satisfies Visited)}\n`);
for (const close of closers) await close();
