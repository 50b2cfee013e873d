/**
 * `sluice import` and `sluice settings`, and what they print. Used by cli.ts.
 */
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { IMPORT_SECTIONS, type ImportSection } from '../contract/import-methods.ts';
import type { MethodOutput } from '../contract/methods.ts';
import type { Printer } from './cli-printer.ts';
import { protectionText } from './cli-text.ts';

export function addImportCommands(program: Command, print: Printer['print']): void {
  program
    .command('import')
    .argument('<file>', 'gravity.db, Teleporter archive, AdGuardHome.yaml, blocky or uBlock file')
    .option('--dry-run', 'print the report, change nothing')
    .option('--only <sections>', IMPORT_SECTIONS.join(','), sections)
    .description('take over lists, rules, clients and servers of another program')
    .action((file: string, options: { dryRun?: boolean; only?: ImportSection[] }) => {
      const name = options.dryRun === true ? 'import.preview' : 'import.apply';
      return print(name, { path: resolve(file), only: options.only }, importText);
    });
  const settings = program.command('settings').description('all settings, as one file');
  settings
    .command('export')
    .argument('<file>')
    .description('write settings, switch and state of the lists into a file')
    .action((file: string) =>
      print('settings.export', { path: resolve(file) }, ({ path }) => `Written to ${path}.`),
    );
  settings
    .command('import')
    .argument('<file>')
    .description('put back what "settings export" has written, in place of what is set now')
    .action((file: string) =>
      print('settings.import', { path: resolve(file) }, ({ lists, protection }) => {
        return `Settings of ${String(lists)} lists put back; protection ${protectionText(protection)}.`;
      }),
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
