/** The adapters against replies recorded from the real owners, with a stand-in for the commands. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addressText } from '../../main/system-dns/owners/bus.ts';
import { runCommand, type CommandError, type RunCommand } from '../../main/system/command.ts';
import { isLinkUp, linkIndex, linkKind } from '../../main/system-dns/owners/links.ts';
import {
  MacosOwner,
  parseResolvers,
  parseServers,
  parseServices,
} from '../../main/system-dns/owners/macos.ts';
import { deviceItem, NetworkManagerOwner } from '../../main/system-dns/owners/network-manager.ts';
import type { OwnerItem } from '../../main/system-dns/owners/owner.ts';
import { linkItem, ResolvedOwner } from '../../main/system-dns/owners/resolved.ts';
import { parseState, WindowsOwner, writeScript } from '../../main/system-dns/owners/windows.ts';
import { tempDir } from '../support/temp-dir.ts';

const LOOPBACK = [
  { address: '127.0.0.1', port: 53 },
  { address: '::1', port: 53 },
];

/** Records what is run. */
function recorder(reply: (file: string, args: readonly string[]) => string = () => '') {
  const commands: string[] = [];
  const run: RunCommand = (file, args) => {
    commands.push([file, ...args].join('|'));
    return Promise.resolve(reply(file, args));
  };
  return { run, commands };
}

// `busctl --json=short … GetAll s org.freedesktop.resolve1.Link`, systemd 252, variants opened.
const RESOLVED_LINK = {
  DNSEx: [
    [2, [10, 1, 0, 1], 0, ''],
    [10, [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 5353, 'dns.example'],
  ],
  Domains: [
    ['corp.example', true],
    ['lan', false],
  ],
  DefaultRoute: true,
  DNSOverTLS: 'opportunistic',
};

test('resolved: servers with ports and names, domains with their kind', () => {
  const item = linkItem('wlan0', 12, RESOLVED_LINK, '');
  assert.deepEqual(item, {
    ...{ key: '12 wlan0', label: 'wlan0', skip: '', routingDomains: ['corp.example'] },
    properties: {
      dns: ['10.1.0.1', '[2001:db8::1]:5353#dns.example'],
      domains: ['~corp.example', 'lan'],
      dnsOverTls: 'opportunistic',
    },
    servers: ['10.1.0.1', '[2001:db8::1]:5353#dns.example'],
  });
});

test('resolved: our servers go in front of everything, with the domains kept', async (t) => {
  const root = await tempDir(t);
  mkdirSync(join(root, 'class/net/wlan0'), { recursive: true });
  writeFileSync(join(root, 'class/net/wlan0/ifindex'), '12\n');
  const { run, commands } = recorder();
  const owner = new ResolvedOwner({ run, sys: root });
  const item = linkItem('wlan0', 12, RESOLVED_LINK, '');
  const ours = owner.target(item, [{ address: '::1', port: 5399 }, ...LOOPBACK]) ?? {};
  await owner.write(item, ours);
  assert.deepEqual(commands, [
    'resolvectl|dns|wlan0|[::1]:5399|127.0.0.1|::1',
    'resolvectl|domain|wlan0|~.|~corp.example|lan',
    'resolvectl|dnsovertls|wlan0|no',
  ]);
  commands.length = 0;
  await owner.write(item, { dns: [], domains: [] });
  assert.deepEqual(commands, ['resolvectl|dns|wlan0|', 'resolvectl|domain|wlan0|']);
  commands.length = 0;
  writeFileSync(join(root, 'class/net/wlan0/ifindex'), '13\n');
  await owner.write(item, ours);
  assert.deepEqual(commands, [], 'another link of that name is not the one in the journal');
});

test('resolved is in charge when the stub leads to it, by file or by module', async (t) => {
  const etc = await tempDir(t);
  const { run } = recorder(() => '{"type":"b","data":[true]}');
  const detect = () => new ResolvedOwner({ run, etc }).detect();
  writeFileSync(join(etc, 'resolv.conf'), 'nameserver 127.0.0.53\n');
  assert.equal((await detect()).isInCharge, true);
  writeFileSync(join(etc, 'resolv.conf'), 'nameserver 10.0.0.1\n');
  assert.equal((await detect()).isInCharge, false);
  writeFileSync(join(etc, 'nsswitch.conf'), 'hosts: files resolve [!UNAVAIL=return] dns\n');
  assert.equal((await detect()).takesPort, true);
  writeFileSync(join(etc, 'nsswitch.conf'), 'hosts: files dns resolve\n');
  assert.equal((await detect()).isInCharge, false);
});

test('addresses from the bus are written the short way', () => {
  assert.equal(addressText([127, 0, 0, 1]), '127.0.0.1');
  assert.equal(addressText([...Array<number>(15).fill(0), 1]), '::1');
  assert.equal(addressText([0xfe, 0x80, ...Array<number>(14).fill(0)]), 'fe80::');
  assert.equal(addressText([0x20, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]), '2001:0:1::1:0:1');
});

// `GetAppliedConnection` of NetworkManager 1.42 for a DHCP device, variants opened.
const APPLIED = {
  connection: { id: 'Wired connection 1', uuid: 'e6253fce-0a92-3017-adb0-4dba6bf820d2' },
  ipv4: { 'dns-search': [], method: 'auto' },
  ipv6: { 'dns-search': ['~corp.example'], method: 'auto', 'dns-data': ['fd00::1'] },
};

test('NetworkManager: both families are led to us, and come back as DHCP has them', async () => {
  const { run, commands } = recorder();
  const owner = new NetworkManagerOwner({ run });
  const item = deviceItem('wlan0', APPLIED, ['10.1.0.1'], '');
  await owner.write(item, owner.target(item, LOOPBACK) ?? {});
  await owner.write(item, item.properties);
  assert.deepEqual(commands, [
    'nmcli|device|modify|wlan0|ipv4.dns|127.0.0.1|ipv4.ignore-auto-dns|yes|ipv4.dns-priority|-4200' +
      '|ipv6.dns|::1|ipv6.ignore-auto-dns|yes|ipv6.dns-priority|-4200',
    'nmcli|device|modify|wlan0|ipv4.dns||ipv4.ignore-auto-dns|no|ipv4.dns-priority|0' +
      '|ipv6.dns|fd00::1|ipv6.ignore-auto-dns|no|ipv6.dns-priority|0',
  ]);
  assert.deepEqual(item.routingDomains, ['corp.example']);
});

test('NetworkManager: a device that changes meanwhile is written again', async () => {
  const said =
    "Error: Reapplying connection to device 'wlan0' failed: Reapply failed because device changed " +
    'in the meantime and the version-id mismatches';
  let failures = 2;
  const { run, commands } = recorder(() => {
    if (failures-- > 0) throw new Error(said);
    return '';
  });
  const owner = new NetworkManagerOwner({ run: async (...words) => run(...words) });
  const item = deviceItem('wlan0', APPLIED, ['10.1.0.1'], '');
  await owner.write(item, item.properties);
  assert.equal(commands.length, 3);
  failures = 100;
  await assert.rejects(owner.release(item), /version-id/);
  assert.equal(commands.length, 7, 'not for ever');
});

test('NetworkManager: a family that is off is left out, and a port cannot be said', () => {
  const applied = { ...APPLIED, ipv6: { method: 'disabled' } };
  const item = deviceItem('wlan0', applied, [], '');
  const owner = new NetworkManagerOwner({ run: recorder().run });
  assert.deepEqual(Object.keys(owner.target(item, LOOPBACK) ?? {}), [
    ...['ipv4.dns', 'ipv4.ignore-auto-dns', 'ipv4.dns-priority'],
  ]);
  assert.equal(owner.target(item, [{ address: '127.0.0.1', port: 5399 }]), null);
});

test('macOS: services, their servers, and the resolvers in use are read', () => {
  const services = `An asterisk (*) denotes that a network service is disabled.
Wi-Fi
*Thunderbolt Bridge
USB 10/100/1000 LAN
`;
  assert.deepEqual(parseServices(services), ['Wi-Fi', 'USB 10/100/1000 LAN']);
  assert.deepEqual(parseServers("There aren't any DNS Servers set on Wi-Fi.\n"), []);
  assert.deepEqual(parseServers('192.168.1.1\nfe80::1%en0\n'), ['192.168.1.1', 'fe80::1%en0']);
  const scutil = `DNS configuration

resolver #1
  search domain[0] : lan
  nameserver[0] : 192.168.1.1
  nameserver[1] : fd00::1
  if_index : 6 (en0)
  flags    : Request A records

resolver #2
  domain   : local
  options  : mdns

resolver #3
  domain   : corp.example
  nameserver[0] : 10.8.0.1

DNS configuration (for scoped queries)

resolver #1
  nameserver[0] : 10.9.9.9
`;
  assert.deepEqual(parseResolvers(scutil), {
    servers: ['192.168.1.1', 'fd00::1'],
    routingDomains: ['corp.example'],
  });
});

test('macOS: a service goes to us and back to DHCP', async () => {
  const { run, commands } = recorder();
  const owner = new MacosOwner({ run });
  const item: OwnerItem = {
    ...{ key: 'Wi-Fi', label: 'Wi-Fi', skip: '', servers: [], routingDomains: [] },
    properties: { dns: [] },
  };
  await owner.write(item, owner.target(item, LOOPBACK) ?? {});
  await owner.write(item, item.properties);
  assert.deepEqual(commands, [
    'networksetup|-setdnsservers|Wi-Fi|127.0.0.1|::1',
    'networksetup|-setdnsservers|Wi-Fi|empty',
  ]);
});

// What READ_SCRIPT prints on Windows 11.
const WINDOWS = JSON.stringify({
  links: [
    {
      ...{ guid: '{A}', index: 7, name: 'Wi-Fi', description: 'Intel(R) Wi-Fi 6', v4: '', v6: '' },
      inUse: ['192.168.1.1', 'fd00::1'],
    },
    {
      ...{ guid: '{B}', index: 9, name: 'Ethernet', description: 'Realtek' },
      ...{ v4: '10.0.0.1,10.0.0.2', v6: '' },
      inUse: ['10.0.0.1', '10.0.0.2'],
    },
    {
      ...{ guid: '{C}', index: 11, name: 'wg0', description: 'WireGuard Tunnel', v4: '', v6: '' },
      inUse: ['10.8.0.1'],
    },
  ],
  rules: [],
});

test('Windows: interfaces and the policy are items, tunnels are left alone', () => {
  const items = parseState(WINDOWS);
  assert.deepEqual(
    items.map(({ label, skip }) => [label, skip !== '']),
    [
      ['Wi-Fi', false],
      ['Ethernet', false],
      ['wg0', true],
      ['name resolution policy', false],
    ],
  );
  assert.deepEqual(items[1]?.properties, { index: 9, v4: ['10.0.0.1', '10.0.0.2'], v6: [] });
});

test('Windows: scripts set both families and one policy, and put DHCP or the old ones back', () => {
  const [wifi, ethernet, , policy] = parseState(WINDOWS);
  assert.ok(wifi && ethernet && policy);
  const owner = new WindowsOwner({ run: recorder().run });
  assert.equal(
    writeScript(wifi, owner.target(wifi, LOOPBACK) ?? {}),
    'Set-DnsClientServerAddress -InterfaceIndex 7 -ResetServerAddresses; ' +
      "Set-DnsClientServerAddress -InterfaceIndex 7 -ServerAddresses @('127.0.0.1','::1')",
  );
  assert.equal(
    writeScript(wifi, { v4: [], v6: [] }),
    'Set-DnsClientServerAddress -InterfaceIndex 7 -ResetServerAddresses',
  );
  assert.match(
    writeScript(ethernet, { v4: ['10.0.0.1', '10.0.0.2'] }),
    /-ServerAddresses @\('10\.0\.0\.1','10\.0\.0\.2'\)$/,
  );
  assert.match(
    writeScript(policy, { servers: ['127.0.0.1'] }),
    /Add-DnsClientNrptRule -Namespace '\.'/,
  );
  assert.doesNotMatch(writeScript(policy, { servers: [] }), /Add-/);
});

test('links are told apart by what the kernel says of them', async (t) => {
  const sys = await tempDir(t);
  const link = (name: string, type: number, extra: Record<string, string> = {}): void => {
    mkdirSync(join(sys, 'class/net', name), { recursive: true });
    const files = { type: String(type), ifindex: '4', operstate: 'up', ...extra };
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(sys, 'class/net', name, file), `${text}\n`);
    }
  };
  link('wlan0', 1);
  link('lo', 772);
  link('tun0', 0xfffe);
  link('tap0', 1, { tun_flags: '0x1002' });
  link('wg0', 0xfffe, { uevent: 'DEVTYPE=wireguard', operstate: 'unknown' });
  link('docker0', 1);
  link('eth1', 1, { operstate: 'down' });
  const kinds = ['wlan0', 'lo', 'tun0', 'tap0', 'wg0', 'docker0', 'nope'].map((name) =>
    linkKind(name, sys),
  );
  assert.deepEqual(kinds, [
    'ordinary',
    'loopback',
    'tunnel',
    'tunnel',
    'tunnel',
    'container',
    'gone',
  ]);
  assert.equal(isLinkUp('eth1', sys), false);
  assert.equal(isLinkUp('wg0', sys), true);
  assert.deepEqual([linkIndex('wlan0', sys), linkIndex('nope', sys)], [4, 0]);
});

test('commands: what is missing, fails or hangs is told apart', async () => {
  await assert.rejects(runCommand('no-such-program', []), { code: 'ENOENT' });
  await assert.rejects(runCommand('sh', ['-c', 'echo why >&2; exit 3']), (error: CommandError) => {
    assert.match(error.message, /: why$/);
    return true;
  });
  await assert.rejects(runCommand('sleep', ['5'], { timeoutMs: 50 }), /did not end in time/);
  assert.equal(await runCommand('cat', [], { input: 'text' }), 'text');
});
