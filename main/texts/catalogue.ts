/**
 * Every sentence that Sluice says, by language. English (en/) gives the keys and their parameters;
 * another language that lacks one of them, or takes other parameters, does not compile.
 */
import { de } from './de/index.ts';
import { en, type Texts } from './en/index.ts';

import type { Language } from './language/language.ts';

export const CATALOGUE: Readonly<Record<Language, Texts>> = { en, de };
