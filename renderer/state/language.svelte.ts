/**
 * The language of this window: the one chosen here, else that of the settings, else the browser's.
 * One for the whole window; text.ts and format/ follow it.
 */
import { CATALOGUE } from '../../main/texts/catalogue.ts';
import type { Texts } from '../../main/texts/en/index.ts';
import {
  chooseLanguage,
  LANGUAGE_CHOICES,
  type Language,
  type LanguageChoice,
} from '../../main/texts/language/language.ts';
import { followLanguage } from '../text.ts';

const storageKey = 'sluice-language';

class WindowLanguage {
  #chosen = $state<LanguageChoice>(stored());
  #byDefault = $state<LanguageChoice>('auto');
  readonly #code = $derived(
    chooseLanguage(this.#chosen === 'auto' ? this.#byDefault : this.#chosen, browserLanguages()),
  );

  get code(): Language {
    return this.#code;
  }

  get texts(): Texts {
    return CATALOGUE[this.#code];
  }

  /** For numbers and times: the browser's regional form of the language, if it has one. */
  get locale(): string {
    return browserLanguages().find((tag) => tag.startsWith(this.#code)) ?? this.#code;
  }

  get chosen(): LanguageChoice {
    return this.#chosen;
  }

  /** Chosen by a person, for this browser. */
  choose(choice: LanguageChoice): void {
    this.#chosen = choice;
    if (choice === 'auto') globalThis.localStorage.removeItem(storageKey);
    else globalThis.localStorage.setItem(storageKey, choice);
  }

  /** What the settings say, for windows in which nobody chose. */
  setDefault(choice: LanguageChoice): void {
    this.#byDefault = choice;
  }
}

function stored(): LanguageChoice {
  const text = (globalThis.localStorage as Storage | undefined)?.getItem(storageKey) ?? 'auto';
  return LANGUAGE_CHOICES.find((choice) => choice === text) ?? 'auto';
}

function browserLanguages(): readonly string[] {
  return (globalThis.navigator as Navigator | undefined)?.languages ?? [];
}

export const language = new WindowLanguage();
followLanguage(language);
