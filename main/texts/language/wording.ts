/** What the sentences of one language are made with: numbers, and the right form of a noun. */
import type { Language } from './language.ts';

export interface Wording {
  /** "12,345" or "12.345". */
  readonly number: (value: number) => string;
  /** With one digit after the point: "12.0" or "12,0". */
  readonly decimal: (value: number) => string;
  /** "1 row", "12,345 rows": the plural form by the rules of the language (CLDR). */
  readonly counted: (count: number, one: string, other: string) => string;
}

const made = new Map<Language, Wording>();

export function wordingOf(language: Language): Wording {
  const known = made.get(language);
  if (known !== undefined) return known;
  const wording = makeWording(language);
  made.set(language, wording);
  return wording;
}

function makeWording(language: Language): Wording {
  const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
  const oneDigit = new Intl.NumberFormat(language, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const plural = new Intl.PluralRules(language);
  const number = (value: number): string => whole.format(value);
  return {
    number,
    decimal: (value) => oneDigit.format(value),
    counted: (count, one, other) =>
      `${number(count)} ${plural.select(count) === 'one' ? one : other}`,
  };
}
