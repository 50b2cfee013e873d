/**
 * Step 2 of the pipeline: names with a meaning of their own are answered here and never leave the
 * machine. RFC 6761, RFC 6303, RFC 7686, RFC 8375, RFC 9462, RFC 9476.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Policy } from '../filter/policy.ts';
import { writeNegative, writeOne, writeSoa } from '../answer/reply.ts';
import {
  findSpecialZone,
  isForParent,
  ZONE_ABSENT,
  ZONE_CANARY,
  ZONE_EMPTY,
  ZONE_LOOPBACK,
  zoneKind,
  zoneLabels,
} from '../../dns/special-zones.ts';
import type { Turn } from '../query/turn.ts';
import { CLASS, EDE, HEADER_BYTES, RCODE, TYPE } from '../../dns/wire.ts';

/** As RFC 6303 §3 suggests for its zones: they do not change. */
const SPECIAL_TTL_SECONDS = 10_800;

const LOOPBACK_V4 = Uint8Array.of(127, 0, 0, 1);
const LOOPBACK_V6 = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
/** NS of an empty zone, as RFC 6303 §3 has it: a pointer to the question. */
const ZONE_ITSELF = Uint8Array.of(0xc0, HEADER_BYTES);

/** Answers a special name; 0 lets the query pass. */
export function answerSpecialName(turn: Turn, policy: Policy): number {
  const { query } = turn;
  if (query.qclass !== CLASS.internet) return 0;
  const found = findSpecialZone(query);
  if (found === 0) return 0;
  const kind = zoneKind(found);
  if (kind === ZONE_ABSENT && isProbe(turn, policy)) return answerProbe(turn);
  if (!isOurs(turn, kind, policy) || isForParent(found, query, query.type)) return 0;
  turn.outcome = OUTCOME.local;
  turn.reason = REASON.specialName;
  if (kind === ZONE_LOOPBACK) {
    if (query.type === TYPE.a) return writeOwn(turn, LOOPBACK_V4);
    if (query.type === TYPE.aaaa) return writeOwn(turn, LOOPBACK_V6);
  }
  const label = query.labelCount - zoneLabels(found);
  if (kind === ZONE_EMPTY && label === 0) {
    if (query.type === TYPE.soa) return writeSoa(turn, SPECIAL_TTL_SECONDS);
    if (query.type === TYPE.ns) return writeOwn(turn, ZONE_ITSELF);
  }
  const rcode = isAbsent(kind, label === 0) ? RCODE.nxDomain : RCODE.noError;
  const zoneStart = query.labelStarts[label] as number;
  return writeNegative(turn, rcode, zoneStart, SPECIAL_TTL_SECONDS, true, EDE.none);
}

/** Whether the name is this instance's probe name or lies one label below it. */
export function isProbe({ query }: Turn, { probe }: Policy): boolean {
  if (probe === undefined || probe.length === 0) return false;
  const { name, nameLength, labelCount, labelStarts } = query;
  const start = nameLength - probe.length;
  if (start !== 0 && (labelCount < 2 || start !== labelStarts[1])) return false;
  for (let index = 0; index < probe.length; index++) {
    if (name[start + index] !== probe[index]) return false;
  }
  return true;
}

/** Says that the question came through to this instance; also while filtering is off. */
function answerProbe(turn: Turn): number {
  turn.isProbe = true;
  turn.outcome = OUTCOME.local;
  turn.reason = REASON.specialName;
  const { query } = turn;
  if (query.type === TYPE.a) return writeOne(turn, TYPE.a, 0, LOOPBACK_V4, true, EDE.none);
  if (query.type === TYPE.aaaa) return writeOne(turn, TYPE.aaaa, 0, LOOPBACK_V6, true, EDE.none);
  const zoneStart = query.labelStarts[query.labelCount - 1] as number;
  return writeNegative(turn, RCODE.noError, zoneStart, 0, true, EDE.none);
}

/** False when somebody was named who knows these names, such as the router for its reverse zone. */
function isOurs(turn: Turn, kind: number, policy: Policy): boolean {
  if (kind === ZONE_CANARY && !policy.filtering) return false;
  return policy.suffixes === undefined || policy.suffixes.match(turn.query) === 0;
}

function isAbsent(kind: number, isApex: boolean): boolean {
  return kind === ZONE_ABSENT || kind === ZONE_CANARY || (kind === ZONE_EMPTY && !isApex);
}

function writeOwn(turn: Turn, data: Uint8Array): number {
  return writeOne(turn, turn.query.type, SPECIAL_TTL_SECONDS, data, true, EDE.none);
}
