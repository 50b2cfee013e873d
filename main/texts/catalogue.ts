/**
 * Every sentence that Sluice says, by language. English (en/) gives the keys and their parameters;
 * another language that lacks one of them, or takes other parameters, does not compile.
 */
import { de } from './de/index.ts';
import { en } from './en/index.ts';
import type { Language } from './language.ts';

export type Texts = typeof en;

export const CATALOGUE: Readonly<Record<Language, Texts>> = { en, de };
