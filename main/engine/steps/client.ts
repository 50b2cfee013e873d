/** Finds out who asks, for the steps that filter. */
import { NO_PROFILE } from '../filter/client-profile.ts';
import { fillContext, takeProfile } from '../filter/match-context.ts';
import type { Policy } from '../filter/policy.ts';
import type { Turn } from '../query/turn.ts';

const ADDRESS_BYTES = 16;

/** Takes the client's profile into the context that rules are compared with. */
export function knowClient(turn: Turn, policy: Policy): void {
  const { context, address, query } = turn;
  fillContext(context, query.type, address);
  const { clients } = policy;
  const isKnown = clients && address.length === ADDRESS_BYTES;
  takeProfile(context, isKnown ? clients.find(address) : (policy.everybody ?? NO_PROFILE));
}
