/**
 * `node tools/node.mjs [FLAGS] FILE ARGS`: as `node`, with the Node 24 that the lock file
 * pins, whatever Node npm runs with. Every script of package.json goes through it.
 *
 * The pinned Node comes as a package for each platform, without a script that runs at install.
 * npm 11 links its program into node_modules/.bin; npm 10 takes that link away again when it skips
 * the packages of the other platforms. Where `node` is the pinned one already, FILE runs in this
 * process, so that a program weighs no more than an installed one.
 */
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import './end-with-npm.mjs';
import { chooseNode } from './node-package.mjs';

const args = process.argv.slice(2);
const choice = chooseNode();
if (choice.problem !== undefined) {
  process.stderr.write(`sluice: ${choice.problem}\n`);
  process.exitCode = 1;
} else if (isThis(choice.executable) && !args[0]?.startsWith('-')) {
  process.argv.splice(1, 2, resolve(args[0] ?? ''));
  await import(pathToFileURL(process.argv[1] ?? '').href);
} else {
  runWith(choice.executable);
}

function isThis(executable) {
  return realpathSync(executable) === realpathSync(process.execPath);
}

/** Programs that this one starts find the same Node by its name. */
function runWith(executable) {
  const path = `${dirname(executable)}${delimiter}${process.env.PATH ?? ''}`;
  const child = spawn(executable, args, {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
  // A terminal sends Ctrl-C to both; the program takes two signals close together for one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`sluice: ${executable} cannot be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}
