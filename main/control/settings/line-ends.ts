/**
 * Edits a text as if its lines ended in LF, and gives the result the byte order mark and the line
 * ends of the text: lines that were there keep theirs, new ones get those that most lines have.
 */

const BOM = '\uFEFF';

/**
 * @param edit  gets the text with LF alone and without a mark
 * @returns     `text` itself when the edit changes nothing
 */
export function editKeepingLineEnds(text: string, edit: (plain: string) => string): string {
  const mark = text.startsWith(BOM) ? BOM : '';
  const body = text.slice(mark.length);
  const plain = body.replaceAll('\r\n', '\n');
  const edited = edit(plain);
  if (edited === plain) return text;
  return mark + (plain === body ? edited : withEnds(body, edited));
}

function withEnds(before: string, edited: string): string {
  const old = linesOf(before);
  const fresh = edited.split('\n');
  const isSame = (oldAt: number, freshAt: number): boolean =>
    old[oldAt]?.text === fresh[freshAt] && old[oldAt] !== undefined;
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && isSame(head, head)) head++;
  let tail = 0;
  while (tail < most - head && isSame(old.length - 1 - tail, fresh.length - 1 - tail)) tail++;
  const crlfs = old.filter(({ end }) => end === '\r\n').length;
  const usual = crlfs * 2 >= old.length - 1 ? '\r\n' : '\n';
  return fresh
    .map((text, index) => {
      if (index === fresh.length - 1) return text;
      const fromEnd = fresh.length - index;
      const known = index < head ? old[index] : fromEnd <= tail ? old[old.length - fromEnd] : null;
      return text + (known && known.end !== '' ? known.end : usual);
    })
    .join('');
}

interface Line {
  readonly text: string;
  /** '' for the last line. */
  readonly end: '\r\n' | '\n' | '';
}

function linesOf(text: string): Line[] {
  const lines = text.split('\n');
  return lines.map((line, index): Line => {
    if (index === lines.length - 1) return { text: line, end: '' };
    return line.endsWith('\r')
      ? { text: line.slice(0, -1), end: '\r\n' }
      : { text: line, end: '\n' };
  });
}
