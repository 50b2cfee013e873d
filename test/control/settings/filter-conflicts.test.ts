/** What is said about policies, clients, groups, services and records that cannot be used. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';

function complaint(text: string): string {
  try {
    readSettings(text, 'f');
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
  return '';
}

const cases: readonly (readonly [what: string, text: string, said: RegExp])[] = [
  ['an unknown list', 'groups: [{ name: k, lists: [startr] }]', /no list "startr".*"Starter"/],
  ['an unknown group', 'clients: [{ name: a, ids: [10.0.0.1], group: kid }]', /no group "kid"/],
  ['an unknown service', 'services: [tiktik]', /services\[0\]: .*"tiktik".*"tiktok"/],
  [
    'an unknown client in a policy',
    'groups: [{ name: kids }]\npolicies: [{ name: p, action: block, domains: [a.example], clients: [kidz] }]',
    /f:2: policies\[0\]\.clients\[0\]: there is no client or group "kidz", did you mean "kids"\?/,
  ],
  ['no id', 'clients: [{ name: a, ids: [10.0.0.256] }]', /ids\[0\].*an IP address, a network/],
  [
    'an id of two clients',
    'clients: [{ name: a, ids: ["AA:bb:cc:dd:ee:ff"] }, { name: b, ids: [aa-bb-cc-dd-ee-ff] }]',
    /"a" has it/,
  ],
  [
    'a pattern that is none',
    'policies: [{ name: p, action: block, regex: ["ads", "(a"] }]',
    /policies\[0\]\.regex\[1\]: "\(a" is not allowed, write a valid regular expression/,
  ],
  [
    'a pattern that looks around',
    'policies: [{ name: p, action: block, regex: ["ads(?=x)"] }]',
    /policies\[0\]\.regex\[0\]: .* without \(\?=/,
  ],
  [
    'an unknown search engine',
    'groups: [{ name: g, safeSearch: [googel] }]',
    /groups\[0\]\.safeSearch: \["googel"\] is not allowed, write true or false, or a list.*bing/,
  ],
  ['a policy without names', 'policies: [{ name: p, action: block }]', /domains or a regex/],
  [
    'a redirect to nowhere',
    'policies: [{ name: p, action: redirect, domains: [a.example] }]',
    /addresses or a name/,
  ],
  [
    'a redirect of a block',
    'policies: [{ name: p, action: block, domains: [a.example], redirect: { name: b.example } }]',
    /only a policy with the action redirect/,
  ],
  [
    'an unknown time zone',
    'policies: [{ name: p, action: block, domains: [a.example], schedule: { timeZone: Europe/Berlim } }]',
    /no time zone "Europe\/Berlim", did you mean "Europe\/Berlin"/,
  ],
  [
    'a time of no length',
    'policies: [{ name: p, action: block, domains: [a.example], schedule: { from: "10:00", to: "10:00" } }]',
    /another time than "from"/,
  ],
  ['a wrong address', 'records: [{ name: a.example, type: A, value: "::1" }]', /an IPv4 address/],
  [
    'a wrong service record',
    'records: [{ name: a.example, type: SRV, value: "1 2 x" }]',
    /"0 5 443/,
  ],
  [
    'an alias beside addresses',
    'records: [{ name: a.example, type: A, value: 10.0.0.1 }, { name: A.example, type: CNAME, value: b.example }]',
    /a CNAME alone/,
  ],
  ['a rule of a group', 'groups: [{ name: k, rules: ["||a b^"] }]', /groups\[0\]\.rules\[0\]/],
];

for (const [what, text, said] of cases) {
  test(`the settings check tells of ${what}`, () => {
    assert.match(complaint(text), said);
  });
}

test('settings that use everything pass', () => {
  const { config } = readSettings(
    `
lists: [{ name: Ads, url: "builtin:starter" }]
groups: [{ name: kids, lists: [Ads], rules: ["@@||good.example^"], services: [tiktok], safeSearch: [google] }]
clients: [{ name: phone, ids: [192.168.1.20, "fd00::/64", "aa:bb:cc:dd:ee:ff"], tags: [user_child], group: kids }]
policies:
  - { name: night, action: block, priority: 200, domains: [a.example, "*.b.example"], clients: [kids, phone, 10.0.0.0/8],
      schedule: { days: [mon, fri], from: "22:00", to: "06:30", timeZone: Europe/Berlin } }
  - { name: mine, action: redirect, domains: [c.example], redirect: { addresses: [10.0.0.1, "fd00::1"] } }
services: [facebook]
safeSearch: { enabled: true, youtube: strict }
bypass: { block: true }
records:
  - { name: "*.nas.example", type: A, value: 10.0.0.2 }
  - { name: t.example, type: TXT, value: "v=spf1 -all" }
`,
    'f',
  );
  assert.equal(config.policies[0]?.schedule?.to, '06:30');
  assert.equal(config.groups[0]?.filtering, true);
  assert.equal(config.records[0]?.ttlSeconds, 300);
});
