/**
 * Makes text fit for a terminal: whatever lists, servers, clients or files have put into it, it
 * cannot move the cursor, change colours or the order of letters. Everything that the command line
 * and the entries print goes through here (cli.ts, printer.ts).
 *
 * Replaced are the C0 and C1 controls and DEL (ECMA-48), the bidirectional controls (UAX #9), other
 * invisible marks and line breaks of Unicode, and lone surrogates: by U+FFFD, one for one.
 */

const UNSAFE =
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Cs}]/gu;

const REPLACEMENT = '\ufffd';

/** One line or field: line breaks are replaced, too. */
export function terminalLine(text: string): string {
  return text.replace(UNSAFE, REPLACEMENT);
}

/** Text whose line breaks are layout. */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, (mark) => (mark === '\n' ? mark : REPLACEMENT));
}

/** The same value with every text in it made a field, so that only layout breaks lines. */
export function terminalFields<Value>(value: Value): Value {
  return fields(value) as Value;
}

function fields(value: unknown): unknown {
  if (typeof value === 'string') return terminalLine(value);
  if (Array.isArray(value)) return value.map(fields);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fields(one)]));
}

/** JSON that means the same and holds none of these characters. */
export function terminalJson(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
