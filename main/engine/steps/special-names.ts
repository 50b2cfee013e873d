/**
 * Step 2 of the pipeline: names with a meaning of their own are answered here and never leave the
 * machine. RFC 6761, RFC 6303, RFC 7686, RFC 8375, RFC 9462, RFC 9476.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
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
import type { QueryContext } from '../query/query-context.ts';
import { CLASS, EDE, HEADER_BYTES, RCODE, TYPE } from '../../dns/wire.ts';

/** As RFC 6303 §3 suggests for its zones: they do not change. */
const SPECIAL_TTL_SECONDS = 10_800;

const LOOPBACK_V4 = Uint8Array.of(127, 0, 0, 1);
const LOOPBACK_V6 = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
/** NS of an empty zone, as RFC 6303 §3 has it: a pointer to the question. */
const ZONE_ITSELF = Uint8Array.of(0xc0, HEADER_BYTES);

/** Answers a special name; 0 lets the query pass. */
export function answerSpecialName(context: QueryContext, config: EngineConfig): number {
  const { query } = context;
  if (query.qclass !== CLASS.internet) return 0;
  const found = findSpecialZone(query);
  if (found === 0) return 0;
  const kind = zoneKind(found);
  if (kind === ZONE_ABSENT && isProbe(context, config)) return answerProbe(context);
  if (!isOurs(context, kind, config) || isForParent(found, query, query.type)) return 0;
  context.outcome = OUTCOME.local;
  context.reason = REASON.specialName;
  if (kind === ZONE_LOOPBACK) {
    if (query.type === TYPE.a) return writeOwn(context, LOOPBACK_V4);
    if (query.type === TYPE.aaaa) return writeOwn(context, LOOPBACK_V6);
  }
  const label = query.labelCount - zoneLabels(found);
  if (kind === ZONE_EMPTY && label === 0) {
    if (query.type === TYPE.soa) return writeSoa(context, SPECIAL_TTL_SECONDS);
    if (query.type === TYPE.ns) return writeOwn(context, ZONE_ITSELF);
  }
  const rcode = isAbsent(kind, label === 0) ? RCODE.nxDomain : RCODE.noError;
  const zoneStart = query.labelStarts[label] as number;
  return writeNegative(context, rcode, zoneStart, SPECIAL_TTL_SECONDS, true, EDE.none);
}

/** Whether the name is this instance's probe name or lies one label below it. */
export function isProbe({ query }: QueryContext, { probe }: EngineConfig): boolean {
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
function answerProbe(context: QueryContext): number {
  context.isProbe = true;
  context.outcome = OUTCOME.local;
  context.reason = REASON.specialName;
  const { query } = context;
  if (query.type === TYPE.a) return writeOne(context, TYPE.a, 0, LOOPBACK_V4, true, EDE.none);
  if (query.type === TYPE.aaaa) return writeOne(context, TYPE.aaaa, 0, LOOPBACK_V6, true, EDE.none);
  const zoneStart = query.labelStarts[query.labelCount - 1] as number;
  return writeNegative(context, RCODE.noError, zoneStart, 0, true, EDE.none);
}

/** False when somebody was named who knows these names, such as the router for its reverse zone. */
function isOurs(context: QueryContext, kind: number, config: EngineConfig): boolean {
  if (kind === ZONE_CANARY && !config.filtering) return false;
  return config.suffixes === undefined || config.suffixes.match(context.query) === 0;
}

function isAbsent(kind: number, isApex: boolean): boolean {
  return kind === ZONE_ABSENT || kind === ZONE_CANARY || (kind === ZONE_EMPTY && !isApex);
}

function writeOwn(context: QueryContext, data: Uint8Array): number {
  return writeOne(context, context.query.type, SPECIAL_TTL_SECONDS, data, true, EDE.none);
}
