/**
 * `sluice import` and `sluice settings`, and what they print. Used by cli.ts.
 */
import { basename } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { IMPORT_SECTIONS, type ImportSection } from '../../contract/methods/import.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type { CliClient } from './client.ts';
import { isStandard, readInput, writeBackup } from './files.ts';
import { t } from './language.ts';
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
    .description('import lists, rules, clients and servers from another program')
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
    .description('restore what "settings export" wrote, replacing the current settings')
    .action((file: string) =>
      cli.show(
        (client) => callWithFile(client, 'settings.import', file, {}),
        ({ lists, protection }) => t().cli.import.restored(lists, protectionText(protection)),
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
    ({ path }) => t().cli.import.written(path),
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
  const said = t().cli.import;
  return [
    applied ? said.imported(program) : said.wouldImport(program),
    ...(taken.length === 0 ? [`  ${said.nothing}`] : taken.map(takenLine)),
    ...(notTaken.length === 0 ? [] : [said.skipped]),
    ...notTaken.map(({ section, why, count, examples }) => {
      const some = examples.length === 0 ? '' : said.examples(examples.slice(0, 3).join('; '));
      return `  ${String(count)} ${section === 'other' ? said.other : section}: ${why}${some}`;
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
  const said = t().cli.import;
  const there = known === 0 ? '' : said.known(known);
  const some = examples.length === 0 ? '' : `: ${examples.slice(0, 3).join('; ')}`;
  const instead = replaced === 0 ? '' : said.replaces(replaced);
  return `  ${String(count)} ${section}${there}${instead}${some}`;
}
