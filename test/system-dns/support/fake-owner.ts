/** An owner in memory, whose parts can be made to fail. */
import type {
  Detection,
  DnsServer,
  OwnerItem,
  Properties,
  ResolverOwner,
} from '../../../main/system-dns/owners/owner.ts';

export class FakeOwner implements ResolverOwner {
  readonly name = 'systemd-resolved';
  readonly items = new Map<string, OwnerItem>();
  /** Throws what it likes, before the named operation. */
  onCall: (operation: string) => void = () => undefined;
  takesPort = true;
  writes = 0;
  released: string[] = [];

  constructor(...labels: string[]) {
    for (const label of labels) this.put(label, ['10.0.0.1']);
  }

  put(label: string, dns: string[], rest: Partial<OwnerItem> = {}): void {
    const properties = { dns, domains: ['lan'] };
    this.items.set(label, {
      ...{ key: label, label, skip: '', properties, servers: dns, routingDomains: [] },
      ...rest,
    });
  }

  dnsOf(label: string): unknown {
    return this.items.get(label)?.properties['dns'];
  }

  detect(): Promise<Detection> {
    this.onCall('detect');
    const detail = 'a fake';
    return Promise.resolve({
      isPresent: true,
      isInCharge: true,
      detail,
      takesPort: this.takesPort,
    });
  }

  async capture(): Promise<OwnerItem[]> {
    await Promise.resolve();
    this.onCall('capture');
    return [...this.items.values()];
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (before.skip !== '') return null;
    return { dns: servers.map(({ address, port }) => `${address}:${String(port)}`) };
  }

  async write(before: OwnerItem, properties: Properties): Promise<void> {
    await Promise.resolve();
    this.onCall('write');
    this.writes++;
    const item = this.items.get(before.key);
    if (!item) return;
    const all = { ...item.properties, ...properties };
    this.items.set(before.key, { ...item, properties: all, servers: all['dns'] as string[] });
  }

  release(now: OwnerItem): Promise<void> {
    this.released.push(now.label);
    this.put(now.label, ['10.0.0.1']);
    return Promise.resolve();
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }
}
