/** Deutsch. */
import type { Texts } from '../catalogue.ts';
import { activity } from './activity.ts';
import { format } from './format.ts';
import { network } from './network.ts';
import { services } from './services.ts';
import { shell } from './shell.ts';

export const de: Texts = { activity, format, network, services, shell };
