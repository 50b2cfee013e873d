/**
 * What the tray shows, as plain data computed from plain data. Drawn by tray.ts; tests and the
 * desktop test read it and act on it without a tray.
 */
import type { Protection } from '../contract/methods/methods.ts';
import type { TakeoverStatus } from '../contract/takeover-schema.ts';
import type { Texts } from '../texts/en/index.ts';
import type { LanguageChoice } from '../texts/language/language.ts';

/** What the tray needs to know; taken from the service's status. */
export interface TrayState {
  readonly protection: Protection;
  readonly takeover: Pick<TakeoverStatus, 'state' | 'reason'>;
  readonly health: 'ok' | 'degraded';
  /** One sentence each. */
  readonly degradedReasons: readonly string[];
  /** Totals since start. */
  readonly queries: number;
  readonly blocked: number;
  /** The setting. */
  readonly language: LanguageChoice;
}

/** What a click asks for. */
export type TrayAction =
  | { readonly kind: 'resume' }
  /** Without minutes: off until switched on. */
  | { readonly kind: 'pause'; readonly minutes?: number }
  | { readonly kind: 'takeover' }
  /** Gives the system's resolver back. */
  | { readonly kind: 'restore' }
  | { readonly kind: 'open' }
  | { readonly kind: 'quit' };

export type TrayIcon = 'on' | 'paused' | 'off' | 'degraded';

export interface TrayItem {
  /** Stable name for tests. */
  readonly id: string;
  readonly label: string;
  /** Null for a line that only tells something. */
  readonly action: TrayAction | null;
  /** Null for items without a tick. */
  readonly isChecked: boolean | null;
}

export interface TrayView {
  readonly icon: TrayIcon;
  readonly tooltip: string;
  /** Groups of items; a line is drawn between groups. */
  readonly groups: readonly (readonly TrayItem[])[];
}

/** Pauses offered, in minutes. */
export const PAUSE_MINUTES = [5, 15, 60] as const;

/** A menu is no place for a story; the window has the whole text. */
const REASON_CHARACTERS_MAX = 80;

/** @param formatTime  a time in milliseconds since 1970 as hours and minutes of the local day */
export function trayView(
  state: TrayState,
  formatTime: (timeMs: number) => string,
  texts: Texts,
): TrayView {
  const { tray } = texts;
  const line = statusLine(state.protection, formatTime, texts);
  return {
    icon: iconOf(state),
    tooltip: `Sluice: ${line}\n${tray.blocked(state.blocked, state.queries)}`,
    groups: [
      [told('status', line), ...state.degradedReasons.map(toldReason)],
      [
        {
          id: 'filtering',
          label: texts.activity.protection,
          action: state.protection.state === 'on' ? { kind: 'pause' } : { kind: 'resume' },
          isChecked: state.protection.state === 'on',
        },
        ...pauseItems(state.protection, texts),
      ],
      takeoverItems(state.takeover, texts),
      [does('open', tray.open, { kind: 'open' }), does('quit', tray.quit, { kind: 'quit' })],
    ],
  };
}

/** The item of that id. Throws when there is none: ids are fixed. */
export function trayItem(view: TrayView, id: string): TrayItem {
  const item = view.groups.flat().find((candidate) => candidate.id === id);
  if (item === undefined) throw new Error(`the tray has no item ${id}`);
  return item;
}

/** Name of the icon's file below resources/icons; Electron finds its @2x variant by itself. */
export function trayFile(icon: TrayIcon, platform: NodeJS.Platform): string {
  if (platform === 'win32') return `tray-${icon}.ico`;
  return platform === 'darwin' ? `tray-${icon}Template.png` : `tray-${icon}.png`;
}

function statusLine(
  { state, resumesAtMs }: Protection,
  formatTime: (timeMs: number) => string,
  { activity, shell }: Texts,
): string {
  if (state === 'on') return activity.isOn;
  if (state === 'off') return activity.isOff;
  return resumesAtMs === null ? shell.mark.paused : activity.pausedUntil(formatTime(resumesAtMs));
}

/** Being off is the person's wish and shows first; a fault matters while filtering is wanted. */
function iconOf(state: TrayState): TrayIcon {
  if (state.protection.state !== 'on') return state.protection.state;
  return state.health === 'degraded' ? 'degraded' : 'on';
}

function pauseItems(protection: Protection, { activity, tray }: Texts): TrayItem[] {
  if (protection.state === 'off') return [];
  const pauses = PAUSE_MINUTES.map((minutes) =>
    does(`pause-${String(minutes)}`, tray.pauseFor(minutes), {
      kind: 'pause',
      minutes,
    }),
  );
  if (protection.state === 'on') return pauses;
  return [does('resume', activity.resume, { kind: 'resume' }), ...pauses];
}

/** The switch for the whole machine, and a line on where it stands when there is more to say. */
function takeoverItems({ state, reason }: TrayState['takeover'], { network }: Texts): TrayItem[] {
  const isOn = state !== 'off' && state !== 'restoring';
  const isMoving = state === 'applying' || state === 'restoring';
  const line = state === 'off' ? reason : network.takeover.titles[state];
  return [
    {
      id: 'takeover',
      label: network.takeover.switch,
      action: isMoving ? null : { kind: isOn ? 'restore' : 'takeover' },
      isChecked: isOn,
    },
    ...(line === '' ? [] : [{ ...toldReason(line, 0), id: 'takeover-state' }]),
  ];
}

function told(id: string, label: string): TrayItem {
  return { id, label, action: null, isChecked: null };
}

function toldReason(reason: string, index: number): TrayItem {
  const line = reason.split('\n', 1)[0] ?? '';
  const isLong = line.length > REASON_CHARACTERS_MAX;
  const label = isLong ? `${line.slice(0, REASON_CHARACTERS_MAX - 1)}…` : line;
  return told(`reason-${String(index)}`, label);
}

function does(id: string, label: string, action: TrayAction): TrayItem {
  return { id, label, action, isChecked: null };
}
