/** What is said about the state of a list. */
import type { ListStatus } from '../../main/contract/methods.ts';

export const listStateLabels: Record<ListStatus['state'], string> = {
  ok: 'In use',
  updating: 'Updating…',
  failed: 'Update failed',
  waiting: 'Not fetched yet',
  disabled: 'Switched off',
};

/** Formats a person can choose when the form of a list is not recognised by itself. */
export const listFormatLabels = {
  auto: 'Recognise by itself',
  hosts: 'Hosts file (0.0.0.0 name)',
  domains: 'One name a line',
  adblock: 'Adblock (||name^)',
  wildcard: 'Wildcards (*.name)',
} as const;
export type ListFormat = keyof typeof listFormatLabels;
