/** `sluice lists` and what stands below it. Added to the other commands by cli.ts. */
import { Option, type Command } from 'commander';
import {
  addList,
  catalogueText,
  changeList,
  listText,
  type AddOptions,
  type UseOptions,
} from './lists.ts';
import type { Printer } from './printer.ts';
import { listsText } from './text.ts';

const FORMATS = [
  ...['auto', 'hosts', 'domains', 'adblock', 'wildcard', 'dnsmasq', 'unbound', 'rpz', 'regex'],
];

export function addListCommands(program: Command, cli: Printer): void {
  const lists = program.command('lists').description('the lists of names to block');
  lists
    .command('list', { isDefault: true })
    .description('print them with their state')
    .action(() => cli.print('lists.list', {}, listsText));
  lists
    .command('show')
    .description('one of them: its copies, and which lines were ignored and why')
    .argument('<name>')
    .action((name: string) => cli.print('lists.list', {}, (output) => listText(output, name)));
  lists
    .command('refresh')
    .argument('[name]', 'all of them without it')
    .description('look them up now')
    .action((name?: string) => cli.print('lists.refresh', { name }, listsText));
  lists
    .command('catalogue')
    .description('well-known lists that can be added')
    .action(() => cli.print('catalogue.list', {}, catalogueText));
  addChanges(lists, cli);
  addCopies(lists, cli);
}

function addChanges(lists: Command, cli: Printer): void {
  withUse(lists.command('add'))
    .description('add a list and wait until it is in use')
    .argument('[name]', 'of your choice')
    .argument('[url]', 'https://…, file:///… or builtin:starter')
    .option('--from-catalogue <id>', 'in place of name and URL; see "lists catalogue"')
    .addOption(new Option('--format <format>').choices(FORMATS).default('auto'))
    .action((name: string | undefined, url: string | undefined, options: AddOptions) =>
      cli.show((client) => addList(client, { name, url, ...options }), listsText),
    );
  withUse(lists.command('change'), '--no-allow-wide')
    .description('change what a list is used for; what is not given stays')
    .argument('<name>')
    .action((name: string, use: UseOptions) =>
      cli.show((client) => changeList(client, name, use), listsText),
    );
  lists
    .command('remove')
    .description('remove a list from the settings')
    .argument('<name>')
    .action((name: string) => cli.print('lists.remove', { name }, listsText));
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    lists
      .command(verb)
      .description(enabled ? 'use a list again' : 'keep a list without using it')
      .argument('<name>')
      .action((name: string) => cli.print('lists.enable', { name, enabled }, listsText));
  }
}

function addCopies(lists: Command, cli: Printer): void {
  lists
    .command('accept')
    .description('take the copy of a list that waits in quarantine')
    .argument('<name>')
    .action((name: string) => cli.print('lists.accept', { name }, listsText));
  lists
    .command('rollback')
    .description('go back to the copy before, until the list changes again')
    .argument('<name>')
    .action((name: string) => cli.print('lists.rollback', { name }, listsText));
}

/** What a list's names are used for, as options. */
function withUse(command: Command, ...more: readonly string[]): Command {
  command
    .addOption(new Option('--action <action>').choices(['block', 'allow']))
    .addOption(new Option('--match <match>').choices(['subdomains', 'exact']))
    .option('--allow-wide', 'take lines for whole top-level domains, too');
  for (const flags of more) command.option(flags);
  return command;
}
