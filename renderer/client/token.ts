/**
 * The access token of this browser tab.
 *
 * It arrives in the address as #token=…, is moved to sessionStorage at once (so that it is neither
 * bookmarked nor sent anywhere) and lives as long as the tab.
 */
const storageKey = 'sluice-token';

/** Moves the token from the address, if it is there, and returns the one to use; '' for none. */
export function takeToken(page: Window): string {
  const match = /^#token=([^&]+)$/.exec(page.location.hash);
  if (match?.[1] !== undefined) {
    page.sessionStorage.setItem(storageKey, decodeURIComponent(match[1]));
    page.history.replaceState(null, '', `${page.location.pathname}${page.location.search}`);
  }
  return page.sessionStorage.getItem(storageKey) ?? '';
}

/** Keeps a token that a person typed in; the page is to be loaded again afterwards. */
export function keepToken(page: Window, token: string): void {
  page.sessionStorage.setItem(storageKey, token);
}
