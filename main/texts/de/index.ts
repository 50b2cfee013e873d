/** Deutsch. */
import type { Texts } from '../en/index.ts';
import { activity } from './activity.ts';
import { backup } from './backup.ts';
import { cli } from './cli.ts';
import { clients } from './clients.ts';
import { errors } from './errors.ts';
import { format } from './format.ts';
import { health } from './health.ts';
import { lists } from './lists.ts';
import { log } from './log.ts';
import { network } from './network.ts';
import { policies } from './policies.ts';
import { queries } from './queries.ts';
import { rules } from './rules.ts';
import { services } from './services.ts';
import { shell } from './shell.ts';
import { tray } from './tray.ts';

export const de: Texts = {
  activity,
  backup,
  cli,
  clients,
  errors,
  format,
  health,
  lists,
  log,
  network,
  policies,
  queries,
  rules,
  services,
  shell,
  tray,
};
