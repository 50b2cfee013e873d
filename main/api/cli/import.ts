/**
 * `sluice import` and `sluice settings`, and what they print. Used by cli.ts.
 */
import { basename } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { IMPORT_SECTIONS, type ImportSection } from '../../contract/methods/import.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type { CliClient } from './client.ts';
import { isStandard, readInput, writeBackup } from './files.ts';
import type { Printer } from './printer.ts';
import { protectionText } from './text.ts';

export function addImportCommands(program: Command, cli: Printer): void {
  program
    .command('import')
    .argument(
      '<file>',
      'of Pi-hole, AdGuard Home, blocky, uBlock Origin, dnsmasq, unbound or dnscrypt-proxy; "-" reads standard input',
    )
    .option('--dry-run', 'print the report, change nothing')
    .option('--only <sections>', IMPORT_SECTIONS.join(','), sections)
    .description('take over lists, rules, clients and servers of another program')
    .action((file: string, options: { dryRun?: boolean; only?: ImportSection[] }) => {
      const name = options.dryRun === true ? 'import.preview' : 'import.apply';
      return cli.show(
        (client) => callWithFile(client, name, file, { name: basename(file), only: options.only }),
        importText,
      );
    });
  const settings = program.command('settings').description('all settings, as one file');
  settings
    .command('export')
    .argument('<file>', '"-" writes to standard output')
    .description('write settings, switch and state of the lists into a file')
    .action((file: string) => exportSettings(cli, file));
  settings
    .command('import')
    .argument('<file>', '"-" reads standard input')
    .description('put back what "settings export" has written, in place of what is set now')
    .action((file: string) =>
      cli.show(
        (client) => callWithFile(client, 'settings.import', file, {}),
        ({ lists, protection }) =>
          `Settings of ${String(lists)} lists put back; protection ${protectionText(protection)}.`,
      ),
    );
}

/** Sends a file, and calls a method that uses it. */
async function callWithFile<Name extends 'import.preview' | 'import.apply' | 'settings.import'>(
  client: CliClient,
  name: Name,
  file: string,
  input: object,
): Promise<MethodOutput<Name>> {
  const { id } = await client.upload(await readInput(file));
  return (await client.call(name, { upload: id, ...input })) as MethodOutput<Name>;
}

async function exportSettings(cli: Printer, file: string): Promise<void> {
  const text = async (client: CliClient): Promise<string> =>
    ((await client.call('settings.export', {})) as MethodOutput<'settings.export'>).text;
  if (isStandard(file)) {
    await cli.pass(text);
    return;
  }
  await cli.show(
    async (client) => ({ path: await writeBackup(file, await text(client)) }),
    ({ path }) => `Written to ${path}.`,
  );
}

function sections(text: string): ImportSection[] {
  return text.split(',').map((part) => {
    const found = IMPORT_SECTIONS.find((section) => section === part.trim());
    if (found) return found;
    throw new InvalidArgumentError(`write some of ${IMPORT_SECTIONS.join(',')}.`);
  });
}

export function importText(report: MethodOutput<'import.apply'>): string {
  const { program, applied, taken, notTaken } = report;
  return [
    `${program}: ${applied ? 'taken over' : 'would take over'}`,
    ...(taken.length === 0 ? ['  nothing'] : taken.map(takenLine)),
    ...(notTaken.length === 0 ? [] : ['not taken:']),
    ...notTaken.map(({ section, why, count, examples }) => {
      const some = examples.length === 0 ? '' : `, e.g. ${examples.slice(0, 3).join('; ')}`;
      return `  ${String(count)} ${section === 'other' ? 'other' : section}: ${why}${some}`;
    }),
  ].join('\n');
}

function takenLine({
  section,
  count,
  known,
  replaced,
  examples,
}: MethodOutput<'import.apply'>['taken'][number]): string {
  const there = known === 0 ? '' : `, ${String(known)} there already`;
  const some = examples.length === 0 ? '' : `: ${examples.slice(0, 3).join('; ')}`;
  const instead =
    replaced === 0
      ? ''
      : `, replaces the ${String(replaced)} ${replaced === 1 ? 'server there is' : 'servers there are'}`;
  return `  ${String(count)} ${section}${there}${instead}${some}`;
}
