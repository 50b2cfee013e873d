/**
 * Windows: servers of each interface and family, and one name-resolution policy (NRPT) for every
 * name, through PowerShell's DnsClient module. Tested against recorded output only.
 *
 * Windows asks all adapters at once and takes the first answer; the policy for "." makes it ask us
 * alone. Servers set by hand stand in the registry; an empty value means DHCP.
 */
import type { RunCommand } from '../../system/command.ts';
import type {
  Detection,
  DnsServer,
  OwnerItem,
  Properties,
  PropertyValue,
  ResolverOwner,
} from './owner.ts';

const DNS_PORT = 53;
const POLICY_KEY = 'nrpt';
const COMMENT = 'Sluice';
/** PowerShell takes its time to start. */
const POWERSHELL_MS = 20_000;
const TUNNELS = /\b(VPN|WireGuard|Tailscale|TAP|Wintun|OpenVPN)\b/i;

/** Prints interfaces and our policy as one JSON document. Reads nothing else. */
export const READ_SCRIPT = [
  "$ErrorActionPreference='Stop'",
  "$p='HKLM:\\SYSTEM\\CurrentControlSet\\Services\\'",
  '$links=@(Get-NetAdapter | Where-Object Status -eq Up | ForEach-Object {',
  '  $g=$_.InterfaceGuid; $i=$_.ifIndex',
  '  [ordered]@{ guid=$g; index=$i; name=$_.Name; description=$_.InterfaceDescription',
  '    v4=[string](Get-ItemProperty "${p}Tcpip\\Parameters\\Interfaces\\$g" -EA 0).NameServer',
  '    v6=[string](Get-ItemProperty "${p}Tcpip6\\Parameters\\Interfaces\\$g" -EA 0).NameServer',
  '    inUse=@((Get-DnsClientServerAddress -InterfaceIndex $i).ServerAddresses) } })',
  `$rules=@(Get-DnsClientNrptRule | Where-Object Comment -eq '${COMMENT}' | ForEach-Object { ,@($_.NameServers) })`,
  '[ordered]@{ links=$links; rules=$rules } | ConvertTo-Json -Depth 4 -Compress',
].join('\n');

interface WindowsLink {
  readonly guid: string;
  readonly index: number;
  readonly name: string;
  readonly description: string;
  /** Set by hand, separated by commas or blanks; '' for DHCP. */
  readonly v4: string;
  readonly v6: string;
  readonly inUse: readonly string[];
}

export class WindowsOwner implements ResolverOwner {
  readonly name = 'windows';
  readonly #run: RunCommand;

  constructor({ run }: { readonly run: RunCommand }) {
    this.#run = run;
  }

  detect(): Promise<Detection> {
    const isPresent = process.platform === 'win32';
    return Promise.resolve({
      isPresent,
      isInCharge: isPresent,
      takesPort: false,
      detail: 'the Windows DNS client keeps servers for each interface',
    });
  }

  async capture(): Promise<OwnerItem[]> {
    return parseState(await this.#powershell(READ_SCRIPT));
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (before.skip !== '' || servers.some(({ port }) => port !== DNS_PORT)) return null;
    const addresses = servers.map(({ address }) => address);
    if (before.key === POLICY_KEY) return { servers: addresses };
    return {
      v4: addresses.filter((address) => !address.includes(':')),
      v6: addresses.filter((address) => address.includes(':')),
    };
  }

  async write(before: OwnerItem, properties: Properties): Promise<void> {
    if (Object.keys(properties).length === 0) return;
    await this.#powershell(writeScript(before, properties));
  }

  async release(now: OwnerItem): Promise<void> {
    const nothing = now.key === POLICY_KEY ? { servers: [] } : { v4: [], v6: [] };
    await this.#powershell(writeScript(now, nothing));
  }

  async settle(): Promise<void> {
    await this.#powershell('Clear-DnsClientCache');
  }

  #powershell(script: string): Promise<string> {
    const words = ['-NoProfile', '-NonInteractive', '-Command', script];
    return this.#run('powershell.exe', words, { timeoutMs: POWERSHELL_MS });
  }
}

/** Reads what READ_SCRIPT printed. */
export function parseState(text: string): OwnerItem[] {
  const { links, rules } = JSON.parse(text) as { links: WindowsLink[]; rules: string[][] };
  const items = links.map((link): OwnerItem => {
    const isTunnel = TUNNELS.test(`${link.name} ${link.description}`);
    return {
      key: link.guid,
      label: link.name,
      skip: isTunnel ? 'a tunnel: its own names stay with its own servers' : '',
      properties: { index: link.index, v4: addressesOf(link.v4), v6: addressesOf(link.v6) },
      servers: link.inUse,
      routingDomains: [],
    };
  });
  const policy: OwnerItem = {
    key: POLICY_KEY,
    label: 'name resolution policy',
    skip: '',
    properties: { servers: rules[0] ?? [] },
    servers: [],
    routingDomains: [],
  };
  return [...items, policy];
}

/** The PowerShell text that writes one item. An empty list means: as DHCP says, or no policy. */
export function writeScript(before: OwnerItem, properties: Properties): string {
  if (before.key === POLICY_KEY) {
    const remove = `Get-DnsClientNrptRule | Where-Object Comment -eq '${COMMENT}' | Remove-DnsClientNrptRule -Force`;
    const servers = listOf(properties['servers']);
    if (servers.length === 0) return remove;
    return `${remove}; Add-DnsClientNrptRule -Namespace '.' -NameServers ${quoted(servers)} -Comment '${COMMENT}'`;
  }
  // One reset clears both families, so both are written whenever one is.
  const both = ['v4', 'v6'].flatMap((name) => listOf(properties[name] ?? before.properties[name]));
  const link = `Set-DnsClientServerAddress -InterfaceIndex ${String(before.properties['index'])}`;
  const reset = `${link} -ResetServerAddresses`;
  return both.length === 0 ? reset : `${reset}; ${link} -ServerAddresses ${quoted(both)}`;
}

function addressesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '');
}

function listOf(value: PropertyValue | undefined): string[] {
  return Array.isArray(value) ? (value as string[]) : [];
}

/** Addresses only, but quoted all the same. */
function quoted(addresses: readonly string[]): string {
  return `@(${addresses.map((one) => `'${one.replaceAll("'", "''")}'`).join(',')})`;
}
