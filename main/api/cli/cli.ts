/**
 * The command line: the method table as sub-commands, sent to the running instance (cli-client.ts).
 *
 * Started by headless.ts for everything but `run`. Results go to stdout, as text or with --json as
 * the method returns them; errors are one line on stderr, with --json {"error": …} on stdout. Nothing
 * that is printed can steer a terminal (control/process/terminal-text.ts).
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { lineOf, toWire, type ErrorCode } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { readToken, replaceToken } from '../http/access-token.ts';
import { connect, windowLink, type CliClient } from './client.ts';
import { readJson } from './json.ts';
import { t } from './language.ts';
import { addFilterCommands } from './filters.ts';
import { addImportCommands } from './import.ts';
import { addListCommands } from './list-commands.ts';
import type { Printer } from './printer.ts';
import { giveBack, networkText, restoreText, takeoverText } from './takeover.ts';
import {
  cacheText,
  protectionText,
  rulesText,
  statusText,
  tailText,
  upstreamsText,
} from './text.ts';
import { checkText, ruleInput, spanMinutes, type RuleOptions } from './check.ts';
import { programVersion } from '../../control/process/resources.ts';
import {
  terminalFields,
  terminalJson,
  terminalLine,
  terminalText,
} from '../../control/process/terminal-text.ts';
import { defaultDataDirectory } from './data-directory.ts';
import { findRunning } from '../run-file.ts';

interface Globals {
  readonly dataDir?: string;
  readonly json?: boolean;
}

interface CheckOptions {
  readonly type: string;
  readonly client?: string;
  readonly resolve?: boolean;
}

/** Where a command writes; the process's own, or a test's. */
export interface CliOutput {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const STANDARD: CliOutput = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/** Errors that are in what was typed. */
const WRONG_USE: ReadonlySet<ErrorCode> = new Set([
  'ARGUMENT_INVALID',
  'RULE_INVALID',
  'METHOD_UNKNOWN',
]);

/** Runs one command. @param argv  without node and script. @returns the exit code */
export async function runCli(argv: readonly string[], output = STANDARD): Promise<number> {
  const program = buildProgram(output);
  process.stdout.on('error', endAtClosedPipe);
  try {
    if (argv.length === 0) {
      output.out(program.helpInformation());
      return 0;
    }
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    report(error, program.opts<Globals>().json === true, output);
    return WRONG_USE.has(toWire(error).code) ? 2 : 1;
  } finally {
    process.stdout.off('error', endAtClosedPipe);
  }
}

/** `sluice tail | head` closes the pipe: that is the end, not a failure. */
function endAtClosedPipe(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
}

function report(error: unknown, asJson: boolean, output: CliOutput): void {
  const wire = toWire(error);
  if (asJson) output.out(`${terminalJson({ error: wire })}\n`);
  else output.err(`sluice: ${terminalLine(lineOf(wire))}\n`);
}

function buildProgram(output: CliOutput): Command {
  const program = new Command('sluice')
    .description('A DNS filtering gateway for your own machine')
    .option(
      '-d, --data-dir <dir>',
      'folder of the instance (default: $SLUICE_DATA_DIR or the usual)',
    )
    .option('--json', 'print results as JSON')
    .exitOverride()
    .configureOutput({
      writeOut: output.out,
      writeErr: (text) => {
        output.err(terminalText(text));
      },
      outputError: (text, write) => {
        write(inOurVoice(text));
      },
    })
    .version(programVersion(), '--version', 'print the version');
  const cli = new Commands(program, output);
  cli.addRun();
  cli.addSwitch();
  cli.addTakeover();
  cli.addQuestions();
  cli.addRules();
  addListCommands(program, cli);
  cli.addCache();
  addFilterCommands(program, cli);
  addImportCommands(program, cli);
  cli.addToken();
  return program;
}

class Commands implements Printer {
  readonly #program: Command;
  readonly #output: CliOutput;

  constructor(program: Command, output: CliOutput) {
    this.#program = program;
    this.#output = output;
  }

  /** For the help only: headless.ts runs it without loading this file. */
  addRun(): void {
    this.#program
      .command('run')
      .description('run in the foreground; prints one line "ready …" on stdout once it answers')
      .option('-c, --config <file>', 'settings file (default: sluice.yaml in the data folder)')
      .option('--listen <address>', 'in place of dns.listen; may be given several times')
      .option('--http <address>', 'in place of http.listen')
      .option('--port-fallback', 'use port 5353 when port 53 is taken or forbidden');
  }

  addSwitch(): void {
    this.#program
      .command('status')
      .description('what Sluice does now')
      .action(() => this.print('status', {}, statusText));
    this.#program
      .command('pause')
      .argument(
        '[minutes]',
        `at most ${String(LIMITS.pauseMinutesMax)}; without it until "resume"`,
        minutes,
      )
      .description('stop blocking; queries are forwarded')
      .action((minutes?: number) => this.print('pause', { minutes }, protectionText));
    this.#program
      .command('resume')
      .description('block again')
      .action(() => this.print('resume', {}, protectionText));
  }

  addTakeover(): void {
    this.#program
      .command('takeover')
      .description('use Sluice for all apps on this computer, until it ends or "restore"')
      .action(() => this.print('takeover', {}, takeoverText));
    this.#program
      .command('restore')
      .description('restore the previous system DNS; works without a running instance too')
      .option('--only-leftovers', 'only what an instance left that died; for boot')
      .action(async (choice: { onlyLeftovers?: boolean }) => {
        this.#write(await giveBack(() => this.#connect(), choice), restoreText);
      });
    this.#program
      .command('network')
      .description('the DNS manager of this system, and which links use Sluice')
      .action(() => this.print('network', {}, networkText));
  }

  addQuestions(): void {
    this.#program
      .command('check')
      .argument('<name>')
      .option('-t, --type <type>', 'query type', 'A')
      .option('-c, --client <client>', 'for whom: an address, or a name in the settings')
      .option('-r, --resolve', 'ask once, as that client would; without it nothing is sent')
      .description('what a name would get, and why')
      .action((name: string, options: CheckOptions) =>
        this.print('check', { name, ...options }, checkText),
      );
    this.#addDecision('allow', 'allow a name and everything below it');
    this.#addDecision('block', 'block a name and everything below it');
    this.#program
      .command('upstreams')
      .description('upstream servers and their status')
      .action(() => this.print('upstreams.list', {}, upstreamsText));
    this.#program
      .command('tail')
      .description('show queries as they are answered')
      .action(() => this.#tail());
    this.#program
      .command('open')
      .description('print the link that opens the window in a browser')
      .action(async () => {
        this.#write({ link: await windowLink(this.#directory) }, ({ link }) => link);
      });
    this.#program
      .command('call')
      .argument('<method>', 'as in /api/openapi.json')
      .argument('[input]', 'JSON', '{}')
      .description('call any method; prints JSON')
      .action((method: string, input: string) => this.#call(method, input));
  }

  #addDecision(action: 'allow' | 'block', description: string): void {
    this.#program
      .command(action)
      .argument('<name>')
      .option('--for <time>', 'how long: 10m, 2h; without it for good', spanMinutes)
      .option('--client <client>', 'for one client: an address, or a name in the settings')
      .description(description)
      .action((name: string, options: RuleOptions) =>
        this.print('rules.add', ruleInput(action, name, options), rulesText),
      );
  }

  addRules(): void {
    const rules = this.#program.command('rules').description('your own block and allow rules');
    rules
      .command('list', { isDefault: true })
      .description('list rules')
      .action(() => this.print('rules.list', {}, rulesText));
    rules
      .command('add')
      .description('block or allow a name and everything below it')
      .argument('<rule>', '||name^ blocks, @@||name^ allows')
      .action((rule: string) => this.print('rules.add', { rule }, rulesText));
    rules
      .command('remove')
      .description('take a rule back')
      .argument('<rule>', 'as printed by "rules"')
      .action((rule: string) => this.print('rules.remove', { rule }, rulesText));
  }

  addCache(): void {
    const cache = this.#program.command('cache').description('the DNS cache');
    cache
      .command('inspect')
      .argument('<name>')
      .description('show the cached answers of a name')
      .action((name: string) => this.print('cache.inspect', { name }, cacheText));
    cache
      .command('flush')
      .argument('[name]', 'everything without it')
      .option('--below', 'all names below it too')
      .description('clear the cache')
      .action((name: string | undefined, { below = false }: { below?: boolean }) =>
        this.print('cache.flush', { name, below }, ({ flushed }) => t().cli.cache.flushed(flushed)),
      );
  }

  addToken(): void {
    this.#program
      .command('token')
      .option('--renew', 'make a new one; what was opened with the old one ends')
      .description('print the token that lets in over HTTP')
      .action(async ({ renew = false }: { renew?: boolean }) => {
        if (renew) await this.#renewToken();
        this.#write({ token: await readToken(this.#directory) }, ({ token }) => token);
      });
  }

  async #renewToken(): Promise<void> {
    const isRunning = (await findRunning(this.#directory)) !== null;
    if (isRunning) await (await this.#connect()).call('token.renew', {});
    else await replaceToken(this.#directory);
  }

  get #directory(): string {
    return this.#program.opts<Globals>().dataDir ?? defaultDataDirectory();
  }

  get #asJson(): boolean {
    return this.#program.opts<Globals>().json === true;
  }

  #connect(): Promise<CliClient> {
    return connect(this.#directory);
  }

  /** Calls a method and writes what it gives. */
  readonly print: Printer['print'] = (name, input, text) =>
    this.show(
      async (client) => (await client.call(name, input)) as MethodOutput<typeof name>,
      text,
    );

  /** Writes what some calls give. */
  readonly show: Printer['show'] = async (work, text) => {
    this.#write(await work(await this.#connect()), text);
  };

  #write<Value>(value: Value, text: (value: Value) => string): void {
    const shown = this.#asJson ? terminalJson(value) : terminalText(text(terminalFields(value)));
    this.#output.out(`${shown}\n`);
  }

  /** As it is, since it is JSON; with line breaks. */
  async pass(work: (client: CliClient) => Promise<string>): Promise<void> {
    this.#output.out(await work(await this.#connect()));
  }

  async #call(method: string, input: string): Promise<void> {
    const client = await this.#connect();
    this.#output.out(`${terminalJson(await client.call(method, readJson(input)))}\n`);
  }

  async #tail(): Promise<void> {
    const client = await this.#connect();
    await client.live((update) => {
      const lines = this.#asJson
        ? update.rows.map((row) => terminalJson(row))
        : tailText(terminalFields(update));
      if (lines.length > 0) this.#output.out(`${lines.join('\n')}\n`);
    });
  }
}

/** A message of commander as one line of ours. */
function inOurVoice(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .replace(/^\S+ value '(.*?)' is invalid for \S+ '(.*?)'\. /, '$2: "$1" is not allowed, ')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
  return `sluice: ${terminalLine(line)}\n`;
}

function minutes(text: string): number {
  const value = Number(text);
  const max = LIMITS.pauseMinutesMax;
  if (value > 0 && value <= max) return value;
  throw new InvalidArgumentError(`write a number of minutes above 0, at most ${String(max)}.`);
}
