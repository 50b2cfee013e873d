/**
 * Policies, clients, groups, services and local records of the fake service, with the refusals that
 * the window has to show.
 */
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { FakeRefusal, type MethodArguments } from './fake-refusal.ts';

type Policy = MethodOutput<'policies.list'>['policies'][number];
type Client = MethodOutput<'clients.list'>['clients'][number];
type Group = MethodOutput<'clients.list'>['groups'][number];
type LocalRecord = MethodOutput<'records.list'>['records'][number];
type Services = MethodOutput<'services.list'>;

const refuse = (message: string): FakeRefusal => new FakeRefusal('ARGUMENT_INVALID', message);

export class FakeFilters {
  policies: Policy[] = fakePolicies();
  clients: Client[] = [
    { name: "Ana's laptop", ids: ['192.168.1.24', '02:00:5e:10:00:01'], tags: [], group: '' },
    { name: 'Console', ids: ['192.168.10.0/24'], tags: ['device_gameconsole'], group: 'Children' },
  ];
  groups: Group[] = [
    {
      ...{ name: 'Children', rules: ['||videos.example^'], services: ['tiktok', 'roblox'] },
      ...{ safeSearch: true, filtering: true },
    },
    { name: 'Work', rules: [], services: [], filtering: false },
  ];
  records: LocalRecord[] = [
    { name: 'nas.home.example', type: 'A', value: '192.168.1.10', ttlSeconds: 300 },
    { name: '*.lab.home.example', type: 'CNAME', value: 'nas.home.example', ttlSeconds: 3_600 },
  ];
  services: Services = fakeServices();

  has(name: string): boolean {
    return /^(policies|clients|groups|services|records)\./.test(name);
  }

  call(name: string, input: MethodArguments): unknown {
    const [part = ''] = name.split('.');
    if (part === 'policies') return this.#policy(name, input);
    if (part === 'services') return this.#service(name, input);
    if (part === 'records') return this.#record(name, input);
    return this.#client(name, input);
  }

  #policy(name: string, input: MethodArguments) {
    if (name === 'policies.put') {
      const policy = input['policy'] as Policy;
      const { domains, regex } = policy;
      const bad = domains.findIndex((domain) => !domain.includes('.'));
      if (bad >= 0) {
        throw refuse(
          `policy.domains[${String(bad)}]: "${domains[bad] ?? ''}" is not allowed, write a domain ` +
            'name such as x.example, or *.x.example for what is below it',
        );
      }
      if (domains.length + regex.length === 0) {
        throw refuse('policies[0]: a policy needs domains or a regex');
      }
      this.policies = put(this.policies, policy, input['was']);
    }
    if (name === 'policies.remove') this.policies = without(this.policies, input['name']);
    const inForce = this.policies.filter(({ enabled }) => enabled).map((policy) => policy.name);
    return { policies: this.policies, inForce };
  }

  #client(method: string, input: MethodArguments) {
    if (method === 'clients.put') {
      const client = input['client'] as Client;
      const bad = client.ids.findIndex((id) => !/^[0-9a-f.:/]+$/i.test(id));
      if (bad >= 0) {
        throw refuse(
          `clients[0].ids[${String(bad)}]: "${client.ids[bad] ?? ''}" is not allowed, write an IP ` +
            'address, a network or a MAC address',
        );
      }
      this.clients = put(this.clients, client, input['was']);
    }
    if (method === 'clients.remove') this.clients = without(this.clients, input['name']);
    if (method === 'groups.put') {
      this.groups = put(this.groups, input['group'] as Group, input['was']);
    }
    if (method === 'groups.remove') {
      const index = this.clients.findIndex(({ group }) => group === input['name']);
      if (index >= 0) {
        throw refuse(
          `clients[${String(index)}].group: there is no group "${String(input['name'])}"`,
        );
      }
      this.groups = without(this.groups, input['name']);
    }
    return { clients: this.clients, groups: this.groups };
  }

  #service(name: string, input: MethodArguments) {
    const { services } = this;
    if (name === 'services.set') services.services = input['services'] as string[];
    if (name === 'services.safe-search') services.safeSearch = input as Services['safeSearch'];
    if (name === 'services.bypass') services.bypass = input as Services['bypass'];
    return services;
  }

  #record(method: string, input: MethodArguments) {
    if (method === 'records.put') {
      const record = input['record'] as LocalRecord;
      if (record.type === 'A' && !/^[\d.]+$/.test(record.value)) {
        throw refuse(
          `records[2].value: "${record.value}" is not allowed, write an IPv4 address such as ` +
            '192.168.0.10',
        );
      }
      this.records = [...this.records, record];
    }
    if (method === 'records.remove') {
      this.records = this.records.filter(
        ({ name, value }) => name !== input['name'] || value !== input['value'],
      );
    }
    return { records: this.records };
  }
}

function put<Entry extends { name: string }>(all: Entry[], entry: Entry, was: unknown): Entry[] {
  const index = all.findIndex(({ name }) => name === (was ?? entry.name));
  return index < 0 ? [...all, entry] : all.with(index, entry);
}

function without<Entry extends { name: string }>(all: Entry[], name: unknown): Entry[] {
  return all.filter((entry) => entry.name !== name);
}

function fakePolicies(): Policy[] {
  return [
    {
      ...{ name: 'No games at night', enabled: true, action: 'block', priority: 100 },
      ...{ domains: ['games.example', 'play.example', '*.arcade.example'], regex: [] },
      clients: ['Children'],
      schedule: {
        ...{ days: ['mon', 'tue', 'wed', 'thu', 'sun'], from: '21:00', to: '06:30' },
        timeZone: '',
      },
    },
    {
      ...{ name: 'Bank always works', enabled: true, action: 'allow', priority: 500 },
      ...{ domains: ['bank.example'], regex: [], clients: [] },
    },
    {
      ...{ name: 'Old intranet name', enabled: false, action: 'redirect', priority: 100 },
      ...{ domains: ['intranet.old.example'], regex: [], clients: ['192.168.1.0/24'] },
      redirect: { addresses: [], name: 'intranet.new.example' },
    },
  ];
}

function fakeServices(): Services {
  const service = (id: string, title: string, category: string) => {
    return { id, title, category, domains: [`${id}.com`, `${id}cdn.com`] };
  };
  return {
    catalogue: [
      service('facebook', 'Facebook', 'social'),
      service('instagram', 'Instagram', 'social'),
      service('tiktok', 'TikTok', 'social'),
      service('reddit', 'Reddit', 'social'),
      service('mastodon', 'Mastodon (large servers)', 'social'),
      service('whatsapp', 'WhatsApp', 'messaging'),
      service('telegram', 'Telegram', 'messaging'),
      service('youtube', 'YouTube', 'video'),
      service('twitch', 'Twitch', 'video'),
      service('roblox', 'Roblox', 'games'),
      service('steam', 'Steam', 'games'),
    ],
    services: ['tiktok'],
    safeSearch: {
      enabled: true,
      engines: ['google', 'youtube', 'bing', 'duckduckgo'],
      youtube: 'moderate',
    },
    bypass: { block: false },
  };
}
