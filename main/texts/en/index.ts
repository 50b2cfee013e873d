/** English: the language that gives the keys. */
import { activity } from './activity.ts';
import { format } from './format.ts';
import { network } from './network.ts';
import { services } from './services.ts';
import { shell } from './shell.ts';

export const en = { activity, format, network, services, shell };
