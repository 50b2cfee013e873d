/** Finds out who asks, for the steps that filter. */
import { NO_PROFILE } from '../filter/client-profile.ts';
import { fillContext, takeProfile } from '../filter/match-context.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import type { QueryContext } from '../query/query-context.ts';

const ADDRESS_BYTES = 16;

/** Takes the client's profile into the context that rules are compared with. */
export function identifyClient(context: QueryContext, config: EngineConfig): void {
  const { matchContext, address, query } = context;
  fillContext(matchContext, query.type, address);
  const { clients } = config;
  const isKnown = clients && address.length === ADDRESS_BYTES;
  takeProfile(matchContext, isKnown ? clients.find(address) : (config.everybody ?? NO_PROFILE));
}
