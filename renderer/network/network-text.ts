/** Names that the Network page shows. */
import { t } from '../text.ts';

/** The manager of the DNS settings, in words. */
export function ownerName(owner: string): string {
  const names: Readonly<Record<string, string>> = t().network.owners;
  return names[owner] ?? owner;
}
