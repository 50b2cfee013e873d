/** Which name stands beside which address of the log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../main/contract/config.ts';
import { NamedClients } from '../../../main/control/reports/named-clients.ts';
import { ClientNames } from '../../../main/log/client-names.ts';

type Clients = Config['clients'];

const CLIENTS = [
  { name: 'Everybody', group: '', tags: [], ids: ['0.0.0.0/0', '::/0'] },
  { name: 'Home', group: '', tags: [], ids: ['192.168.0.0/16', 'fd00::/16'] },
  { name: 'Kids', group: '', tags: [], ids: ['192.168.1.0/24'] },
  { name: 'Tablet', group: '', tags: [], ids: ['192.168.1.24', '02:00:00:00:00:01'] },
  { name: 'Printer', group: '', tags: [], ids: ['02:00:00:00:00:02', 'FD00:0:0::9'] },
] as unknown as Clients;

const mapped = (...last: number[]): Uint8Array =>
  Uint8Array.from([...new Uint8Array(10), 255, 255, ...last]);

const NEIGHBOURS = new Map([
  ['020000000001', [mapped(192, 168, 1, 77)]],
  // Another client has this address by the settings, which counts more.
  ['020000000002', [mapped(192, 168, 1, 24), mapped(10, 0, 0, 5)]],
]);

test('the narrowest id names an address, a network of everybody names none', () => {
  const clients = new NamedClients(CLIENTS, NEIGHBOURS);
  for (const [client, name] of [
    ['192.168.1.24', 'Tablet'],
    ['192.168.1.77', 'Tablet'],
    ['192.168.1.78', 'Kids'],
    ['192.168.2.1', 'Home'],
    ['10.0.0.5', 'Printer'],
    ['10.0.0.6', ''],
    ['fd00::9', 'Printer'],
    ['fd00:0:0:1::1', 'Home'],
    ['2001:db8::1', ''],
    ['', ''],
  ] as const) {
    assert.deepEqual(clients.name({ client }), { client, clientName: name }, client);
  }
});

test('a shortened address gets no name', () => {
  const clients = new NamedClients(CLIENTS, NEIGHBOURS);
  for (const client of ['192.168.1.0', '192.168.2.0', 'fd00::', 'fd00:1:2::']) {
    assert.equal(clients.name({ client }).clientName, '', client);
  }
});

test('many addresses stay bounded and right', () => {
  const names = new ClientNames([{ address: '10.0.0.0', prefix: 8, name: 'Ten' }]);
  for (let at = 1; at < 10_000; at++) {
    assert.equal(names.nameOf(`10.0.${String(at >> 8)}.${String(at & 255 || 1)}`), 'Ten');
  }
});

test('only a part of a name makes a search look at names', () => {
  const clients = new NamedClients(CLIENTS, NEIGHBOURS);
  assert.equal(clients.placesFor('192.'), undefined);
  assert.equal(clients.placesFor(' '), undefined);
  assert.ok(clients.placesFor('tabl'));
});
