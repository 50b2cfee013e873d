/** The page Clients: named clients, those seen lately, and groups. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const clients = {
  title: 'Clients',
  lead: 'Name your devices, and give groups of them their own filtering.',
  parts: { label: 'Parts of Clients', clients: 'Clients', groups: 'Groups' },
  edit: 'Edit',
  editOne: (name: string) => `Edit ${name}`,
  remove: 'Remove',
  removeOne: (name: string) => `Remove ${name}`,
  tools: 'Edit or remove',
  save: 'Save',

  named: 'Named clients',
  namedLead:
    'Use names instead of addresses in policies and rules, and to put a client in a group.',
  create: 'New client',
  none: 'No named clients',
  noneHint: 'Choose “Name this client” next to one seen recently, or add one yourself.',
  name: 'Name',
  identifiers: 'Identifiers',
  identifiersHint:
    'IP addresses, networks such as 192.168.10.0/24, or MAC addresses; one per line. A MAC address stays the same when the IP address changes.',
  group: 'Group',
  noGroup: 'none',
  defaultGroup: 'Default',
  tags: 'Tags',
  tagsHint: 'For list rules with $ctag, such as device_phone or user_child. Optional.',
  namePlaceholder: "Ana's laptop",
  nameClient: 'Name a client',
  editClient: 'Edit client',
  addClient: 'Add client',
  removed: (name: string) => `The client ${name} was removed.`,

  seen: 'Recently seen',
  seenLead: 'The most active clients of the last 24 hours.',
  nobody: 'No clients yet',
  nobodyHint: 'Clients appear here once they have made queries.',
  queries: (count: number) => counted(count, 'query', 'queries'),
  nameThis: 'Name this client',
  nameThisOne: (address: string) => `Name this client, ${address}`,

  groups: 'Groups',
  groupsLead:
    'Clients in a group have their own lists, rules, services and safe search. Clients without a group get the defaults.',
  createGroup: 'New group',
  noGroups: 'No groups',
  noGroupsHint:
    "Create one for the children's devices, or for devices that should not be filtered, and add clients to it.",
  filterGroup: (name: string) => `Filter for the group ${name}`,
  editGroup: 'Edit group',
  addGroup: 'Add group',
  groupPlaceholder: 'Children',
  filterThese: 'Filter for these clients',
  notFiltered: 'Filtering is off for this group.',
  lists: 'Lists',
  allLists: 'All enabled lists',
  someLists: 'Only some',
  listOff: (name: string) => `${name} (disabled)`,
  noLists: 'There are no lists to choose from yet.',
  rules: 'Group rules',
  rulesHint:
    'One per line. They come before the rules for everyone: ||example.com^ blocks, @@||example.com^ allows.',
  services: (blocked: number) => `Blocked services (${number(blocked)})`,
  safeSearch: 'Safe search',
  safe: { 'as-all': 'Default', on: 'On', off: 'Off', some: 'Only some engines' },
  groupRemoved: (name: string) => `The group ${name} was removed.`,
  has: {
    noFilter: 'filtering off',
    allLists: 'all lists',
    noLists: 'no lists',
    rules: (count: number) => counted(count, 'group rule', 'group rules'),
    services: (count: number) => counted(count, 'service blocked', 'services blocked'),
    safeSearch: 'safe search',
    noSafeSearch: 'no safe search',
    noClients: 'no clients yet',
  },
  groupInUse: (name: string) => `The group ${name} still has clients. Remove them from it first.`,
  policyInUse: (name: string) => `A policy still applies to ${name}. Change the policy first.`,
};
