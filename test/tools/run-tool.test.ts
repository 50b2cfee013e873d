/** Running a tool, and how npm is found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { npmCommand, runTool, runToolOrThrow } from '../../tools/run-tool.ts';

const script = (text: string): [string, string[]] => [process.execPath, ['-e', text]];

test('gives exit code, output and the last lines', async () => {
  const result = await runTool(...script('console.log("a"); console.error("b"); process.exit(3)'));
  assert.equal(result.code, 3);
  assert.equal(result.stdout, 'a\n');
  assert.deepEqual(result.tail.split('\n').sort(), ['a', 'b']);
});

test('a failure names the action and shows what the tool said', async () => {
  const run = runToolOrThrow('weaving', ...script('console.error("no yarn"); process.exit(1)'));
  await assert.rejects(run, /weaving failed \(exit 1\):\nno yarn/);
});

test('ends the tool when asked to', async () => {
  const stop = new AbortController();
  const running = runTool(...script('setInterval(() => {}, 1000)'), { signal: stop.signal });
  stop.abort();
  assert.equal((await running).code, null);
});

test('a tool that is missing rejects', async () => {
  await assert.rejects(runTool('no-such-tool-anywhere', []), /ENOENT/);
});

test('uses the npm that started us, else the one on the path', () => {
  const [command, ...args] = npmCommand({ npm_execpath: '/n/npm-cli.js' });
  assert.deepEqual([command, args], [process.execPath, ['/n/npm-cli.js']]);
  assert.match(npmCommand({})[0], /^npm/);
});
