/** Deutsch. */
import type { Texts } from '../en/index.ts';
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

export const de: Texts = {
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
