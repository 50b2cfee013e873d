/** Which page is shown: the part of the address after #/. */
import { createSubscriber } from 'svelte/reactivity';

export const pages = {
  activity: 'Activity',
  log: 'Log',
  lists: 'Lists',
  rules: 'Rules',
  network: 'Network',
  health: 'Health',
} as const;
export type PageName = keyof typeof pages;

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
    const name = window.location.hash.replace(/^#\//, '');
    return isPageName(name) ? name : 'activity';
  }

  open(page: PageName): void {
    window.location.hash = `#/${page}`;
  }
}

function isPageName(name: string): name is PageName {
  return Object.hasOwn(pages, name);
}
