/**
 * The sentences and the locale in use. Reading them in a component follows a change of language,
 * because their source is state (state/language.svelte.ts); outside of the window they are English.
 */
import { CATALOGUE } from '../main/texts/catalogue.ts';
import type { Texts } from '../main/texts/en/index.ts';

interface Source {
  readonly texts: Texts;
  readonly locale: string | undefined;
}

let source: Source = { texts: CATALOGUE.en, locale: undefined };

export function followLanguage(language: Source): void {
  source = language;
}

/** Every sentence, by the part of the window that says it: `t().activity.isOn`. */
export function t(): Texts {
  return source.texts;
}

/** For numbers and times; undefined is the system's own. */
export function locale(): string | undefined {
  return source.locale;
}
