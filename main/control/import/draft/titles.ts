/**
 * Names for people: of lists, groups and clients that another program calls something else, and
 * examples in a report. Used by the draft and the readers.
 */
const EXAMPLE_CHARS_MAX = 120;
/** More of a title than will be used. */
const TITLE_READ_CHARS = 256;

/** A name that nobody has: the wanted one, or with a number. */
export function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : ` ${String(number)}`;
    const name = wanted.slice(0, 64 - end.length).trimEnd() + end;
    if (!isTaken(name)) return name;
  }
}

/** A name for a list: what a person called it, or host and last part of its URL. */
export function titleOf(name: string, url: string): string {
  const given = cleanTitle(name);
  if (given !== '' && given.toLowerCase() !== 'rules') return given;
  if (!URL.canParse(url)) return 'List';
  const { hostname, pathname } = new URL(url);
  return cleanTitle(`${hostname} ${pathname.split('/').filter(Boolean).at(-1) ?? ''}`) || 'List';
}

/** Without control characters, at most 64 characters. */
export function cleanTitle(text: string): string {
  return oneLine(text.slice(0, TITLE_READ_CHARS)).slice(0, 64).trim();
}

/** One line of at most EXAMPLE_CHARS_MAX characters, for a report. */
export function shown(text: string): string {
  const line = oneLine(text.slice(0, 2 * EXAMPLE_CHARS_MAX));
  return line.length > EXAMPLE_CHARS_MAX ? `${line.slice(0, EXAMPLE_CHARS_MAX)}…` : line;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
}
