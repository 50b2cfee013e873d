/**
 * What the list tests share: parsing text, looking names up the way the engine does, a slow oracle.
 */
import { FLAG_ALLOW } from '../../main/engine/filter/domain-table.ts';
import type { NameView } from '../../main/dns/name.ts';
import { HASH_SEED, hashByte, hashMix, writeName } from '../../main/dns/name.ts';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import type { ListFormat } from '../../main/lists/formats/detect.ts';
import type { ListText } from '../../main/lists/compile/list-text.ts';
import { parseList, type ListReport } from '../../main/lists/compile/parse-list.ts';
import type { ReadOptions } from '../../main/lists/formats/line.ts';
import { RuleSetBuilder } from '../../main/lists/compile/rule-set-builder.ts';

/** A view of a name in presentation form, any case; made as engine/query/query.ts makes it. */
export function viewOf(text: string): NameView {
  const name = new Uint8Array(256);
  const nameLength = writeName(text, name, 0);
  if (nameLength < 0) throw new Error(`${text} is no name`);
  const labelStarts = new Uint8Array(128);
  const suffixHashes = new Int32Array(128);
  let labelCount = 0;
  for (let at = 0; at < nameLength; at += (name[at] as number) + 1) labelStarts[labelCount++] = at;
  let running = HASH_SEED;
  let label = labelCount - 1;
  for (let at = nameLength - 1; at >= 0; at--) {
    running = hashByte(running, name[at] as number);
    if (at === labelStarts[label]) suffixHashes[label--] = hashMix(running);
  }
  return { name, nameLength, labelCount, labelStarts, suffixHashes };
}

const context = createMatchContext();

/** What rules say of a name asked for with type A by a client of which nothing is known. */
export function rankOf(rules: RuleSet, name: string): number {
  return rules.match(viewOf(name), context);
}

export interface ParsedList {
  readonly report: ListReport;
  readonly rules: RuleSet;
  /** Names in the order found; allowed ones with @@ in front, those with terms with these. */
  readonly names: readonly string[];
}

/** Parses a list and compiles it alone, with list id 1. */
export function parse(
  content: string | Uint8Array,
  format: ListFormat | 'auto' = 'auto',
  options: ReadOptions = {},
): ParsedList {
  const builder = new RuleSetBuilder();
  builder.beginList(1);
  const names: string[] = [];
  const bytes = typeof content === 'string' ? new Uint8Array(Buffer.from(content)) : content;
  const report = parseList(
    bytes,
    { format, ...options },
    {
      addName: (name, flags, line, terms) => {
        const text = terms === null ? name.text : `${name.text} ${JSON.stringify(terms)}`;
        names.push(((flags & FLAG_ALLOW) > 0 ? '@@' : '') + text);
        return builder.addName(name, flags, line, terms);
      },
      addWildcard: (...rule) => builder.addWildcard(...rule),
      addRegex: (...rule) => builder.addRegex(...rule),
      addNetwork: (...rule) => builder.addNetwork(...rule),
    },
  );
  return { report, names, rules: RuleSet.open(builder.finish()) };
}

/** A text in memory that is read as a file is. @param most  bytes that one read gives */
export function textOf(bytes: Uint8Array, most = Infinity): ListText {
  return {
    size: bytes.length,
    read: (into, position) => {
      const part = bytes.subarray(position, position + Math.min(into.length, most));
      into.set(part);
      return part.length;
    },
    close: () => undefined,
  };
}

/** Ignored lines by reason, shortened to the reason's first words up to a colon or bracket. */
export function ignored(report: ListReport): Record<string, number> {
  return Object.fromEntries(
    report.ignored.map(({ reason, lines }) => [reason.split(/[:(]/, 1)[0]?.trim() ?? '', lines]),
  );
}

/** Every suffix of two labels or more, most specific first. */
export function suffixesOf(name: string): string[] {
  const labels = name.toLowerCase().split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
}
