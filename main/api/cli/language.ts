/** The language of the command line: the one that the terminal's locale names. */
import { CATALOGUE } from '../../texts/catalogue.ts';
import type { Texts } from '../../texts/en/index.ts';
import { chooseLanguage, type Language } from '../../texts/language/language.ts';
import { wordingOf, type Wording } from '../../texts/language/wording.ts';

/** By the first of LC_ALL, LC_MESSAGES and LANG that is set (POSIX); English for C and unknown ones. */
export function terminalLanguage(environment: NodeJS.ProcessEnv = process.env): Language {
  const { LC_ALL, LC_MESSAGES, LANG } = environment;
  const locale = [LC_ALL, LC_MESSAGES, LANG].find((one) => one !== undefined && one !== '');
  return chooseLanguage('auto', locale === undefined ? [] : [locale]);
}

/** Every sentence, in the terminal's language. */
export function t(): Texts {
  return CATALOGUE[terminalLanguage()];
}

export function wording(): Wording {
  return wordingOf(terminalLanguage());
}
