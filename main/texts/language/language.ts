/**
 * The languages that Sluice speaks, and which of them a person gets. Used by the window, the tray
 * and the command line; a further language is one more folder beside en/ and a row here.
 */
export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The `language` key of the settings; "auto" follows the system or the browser. */
export const LANGUAGE_CHOICES = ['auto', ...LANGUAGES] as const;
export type LanguageChoice = (typeof LANGUAGE_CHOICES)[number];

/**
 * The language of the choice or, with "auto", the first of the system's that Sluice speaks.
 *
 * @param system  BCP 47 tags or POSIX locales in order of preference: "de-AT", "de_AT.UTF-8"
 */
export function chooseLanguage(choice: LanguageChoice, system: readonly string[]): Language {
  if (choice !== 'auto') return choice;
  for (const tag of system) {
    const primary = /^[a-z]+/i.exec(tag)?.[0].toLowerCase();
    const spoken = LANGUAGES.find((language) => language === primary);
    if (spoken !== undefined) return spoken;
  }
  return 'en';
}
