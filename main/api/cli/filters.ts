/**
 * Commands about policies, clients, groups, services and local records. Added to the others by
 * cli.ts.
 */
import { Argument, Option, type Command } from 'commander';
import { RECORD_TYPES, SAFE_ENGINES } from '../../contract/filter-words.ts';
import { clientsText, policiesText, recordsText, servicesText } from './filters-text.ts';
import { blockServices, enablePolicy } from './filter-edits.ts';
import { readJson } from './json.ts';
import type { Printer } from './printer.ts';

export function addFilterCommands(program: Command, cli: Printer): void {
  addPolicies(program, cli);
  addClients(program, cli);
  addServices(program, cli);
  addRecords(program, cli);
}

function addPolicies(program: Command, cli: Printer): void {
  const policies = program
    .command('policies')
    .description('what is blocked, allowed or redirected, for whom and when');
  policies
    .command('list', { isDefault: true })
    .description('print them in the order in which they decide')
    .action(() => cli.print('policies.list', {}, policiesText));
  policies
    .command('put')
    .argument('<policy>', 'JSON: {"name": …, "action": "block", "domains": […]}')
    .description('add a policy, or replace the one with its name')
    .action((policy: string) =>
      cli.print('policies.put', { policy: readJson(policy) }, policiesText),
    );
  policies
    .command('remove')
    .argument('<name>')
    .description('remove a policy from the settings')
    .action((name: string) => cli.print('policies.remove', { name }, policiesText));
  for (const verb of ['enable', 'disable'] as const) {
    policies
      .command(verb)
      .argument('<name>')
      .description(verb === 'enable' ? 'use a policy again' : 'keep a policy without using it')
      .action((name: string) =>
        cli.show((client) => enablePolicy(client, name, verb === 'enable'), policiesText),
      );
  }
}

function addClients(program: Command, cli: Printer): void {
  const clients = program.command('clients').description('clients by address, and their groups');
  clients
    .command('list', { isDefault: true })
    .description('print them')
    .action(() => cli.print('clients.list', {}, clientsText));
  clients
    .command('put')
    .argument('<name>')
    .argument('<ids...>', 'addresses, networks, MAC addresses')
    .option('--group <group>', 'its group', '')
    .option('--tag <tags...>', 'for rules with $ctag', [])
    .description('add a client, or replace the one with its name')
    .action((name: string, ids: string[], { group, tag }: { group: string; tag: string[] }) =>
      cli.print('clients.put', { client: { name, ids, group, tags: tag } }, clientsText),
    );
  clients
    .command('remove')
    .argument('<name>')
    .description('remove a client from the settings')
    .action((name: string) => cli.print('clients.remove', { name }, clientsText));
  clients
    .command('put-group')
    .argument('<group>', 'JSON: {"name": …, "services": […], "safeSearch": true}')
    .description('add a group, or replace the one with its name')
    .action((group: string) => cli.print('groups.put', { group: readJson(group) }, clientsText));
  clients
    .command('remove-group')
    .argument('<name>')
    .description('remove a group from the settings')
    .action((name: string) => cli.print('groups.remove', { name }, clientsText));
}

function addServices(program: Command, cli: Printer): void {
  const services = program
    .command('services')
    .description('services blocked for everybody, safe search, ways past the filter');
  services
    .command('list', { isDefault: true })
    .description('print what can be blocked, and what is')
    .action(() => cli.print('services.list', {}, servicesText));
  services
    .command('set')
    .argument('[ids...]', 'none: nothing is blocked')
    .description('block these services for everybody, and no others')
    .action((ids: string[]) => cli.print('services.set', { services: ids }, servicesText));
  for (const verb of ['block', 'unblock'] as const) {
    services
      .command(verb)
      .argument('<services...>', 'ids or names')
      .description(verb === 'block' ? 'block these, too' : 'block these no more')
      .action((named: string[]) =>
        cli.show((client) => blockServices(client, named, verb === 'block'), servicesText),
      );
  }
  services
    .command('safe-search')
    .addArgument(onOff())
    .addOption(
      new Option('--engine <engines...>', 'only these')
        .choices(SAFE_ENGINES)
        .default([...SAFE_ENGINES]),
    )
    .addOption(new Option('--youtube <mode>').choices(['strict', 'moderate']).default('moderate'))
    .description('search engines answer with their safe form')
    .action((state: string, { engine, youtube }: { engine: string[]; youtube: string }) => {
      const input = { enabled: state === 'on', engines: engine, youtube };
      return cli.print('services.safe-search', input, servicesText);
    });
  services
    .command('bypass')
    .addArgument(onOff())
    .description('block public encrypted DNS and relays')
    .action((state: string) =>
      cli.print('services.bypass', { block: state === 'on' }, servicesText),
    );
}

function onOff(): Argument {
  return new Argument('<state>').choices(['on', 'off']);
}

function addRecords(program: Command, cli: Printer): void {
  const records = program.command('records').description('names that are answered here');
  records
    .command('list', { isDefault: true })
    .description('print them')
    .action(() => cli.print('records.list', {}, recordsText));
  records
    .command('put')
    .argument('<name>', '*.name stands for all names below it')
    .addArgument(new Argument('<type>').choices(RECORD_TYPES))
    .argument('<value...>', 'as in a zone file')
    .option('--ttl <seconds>', 'how long it may be kept', Number)
    .description('add a record')
    .action((name: string, type: string, value: string[], { ttl }: { ttl?: number }) => {
      const record = { name, type, value: value.join(' '), ttlSeconds: ttl };
      return cli.print('records.put', { record }, recordsText);
    });
  records
    .command('remove')
    .argument('<name>')
    .argument('[type]', 'all types without it')
    .argument('[value...]', 'all values without it')
    .description('remove records from the settings')
    .action((name: string, type: string | undefined, value: string[]) => {
      const wanted = value.length === 0 ? undefined : value.join(' ');
      return cli.print('records.remove', { name, type, value: wanted }, recordsText);
    });
}
