/** English: the language that gives the keys. */
import { activity } from './activity.ts';
import { format } from './format.ts';
import { network } from './network.ts';
import { shell } from './shell.ts';

export const en = { activity, format, network, shell };
