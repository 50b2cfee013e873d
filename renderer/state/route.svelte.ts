/** Which page is shown, and which part of it: the address after #/ is page or page/part. */
import { createSubscriber } from 'svelte/reactivity';

/** The pages in groups, for the navigation. */
export const pageGroups = [
  { group: 'queries', names: ['activity', 'log'] },
  { group: 'filter', names: ['lists', 'rules', 'policies', 'clients'] },
  { group: 'system', names: ['network', 'health', 'backup'] },
] as const;
export type PageName = (typeof pageGroups)[number]['names'][number];

const names: readonly string[] = pageGroups.flatMap((group) => group.names);

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
  return names.includes(name);
}
