/** English: the language that gives the keys. */
import { activity } from './activity.ts';
import { clients } from './clients.ts';
import { format } from './format.ts';
import { health } from './health.ts';
import { lists } from './lists.ts';
import { network } from './network.ts';
import { policies } from './policies.ts';
import { rules } from './rules.ts';
import { services } from './services.ts';
import { shell } from './shell.ts';

export const en = {
  activity,
  clients,
  format,
  health,
  lists,
  network,
  policies,
  rules,
  services,
  shell,
};

/** The keys and parameters of every language. */
export type Texts = typeof en;
