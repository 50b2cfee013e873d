/** Which page is shown, and which part of it: the address after #/ is page or page/part. */
import { createSubscriber } from 'svelte/reactivity';

export const pages = {
  activity: 'Activity',
  log: 'Log',
  lists: 'Lists',
  rules: 'Rules',
  policies: 'Policies',
  clients: 'Clients',
  network: 'Network',
  health: 'Health',
  backup: 'Backup',
} as const;
export type PageName = keyof typeof pages;

const watched: readonly PageName[] = ['activity', 'log'];
const decided: readonly PageName[] = ['lists', 'rules', 'policies', 'clients'];
const names = Object.keys(pages) as PageName[];

/** The pages in groups, for the navigation; what no other group has is about the machine. */
export const pageGroups: readonly { title: string; names: readonly PageName[] }[] = [
  { title: 'Queries', names: watched },
  { title: 'Filter', names: decided },
  {
    title: 'System',
    names: names.filter((name) => !watched.includes(name) && !decided.includes(name)),
  },
];

export class Route {
  readonly #follow = createSubscriber((changed) => {
    window.addEventListener('hashchange', changed);
    return () => {
      window.removeEventListener('hashchange', changed);
    };
  });

  /** The page; Activity when the address names none. */
  get page(): PageName {
    this.#follow();
    const [name = ''] = addressParts();
    return isPageName(name) ? name : 'activity';
  }

  /** The part of the page; '' when the address names none. */
  get part(): string {
    this.#follow();
    return addressParts()[1] ?? '';
  }

  open(page: PageName): void {
    window.location.hash = `#/${page}`;
  }
}

function addressParts(): string[] {
  return window.location.hash.replace(/^#\//, '').split('/');
}

function isPageName(name: string): name is PageName {
  return Object.hasOwn(pages, name);
}
