/**
 * The system's resolver on the command line: `takeover`, `restore`, `network`. Used by cli.ts.
 *
 * `restore` works without a running instance too, and when the one that runs does not answer: then
 * it does the work itself, from the journal.
 */
import { AppError } from '../../contract/errors.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type {
  NetworkStatus,
  RestoreResult,
  TakeoverStatus,
} from '../../contract/takeover-schema.ts';
import { CATALOGUE } from '../../texts/catalogue.ts';
import type { CliClient } from './client.ts';
import { t } from './language.ts';
import { timeText } from './text.ts';

/** An instance that takes longer is not waited for. */
const INSTANCE_MS = 4_000;

export interface RestoreChoice {
  /** Leaves a takeover alone whose instance lives: for boot and for the unit's start. */
  readonly onlyLeftovers?: boolean;
}

/**
 * Gives the resolver back: through the instance, so that its switch follows, else without it.
 *
 * @throws AppError RESTORE_FAILED when something is still not as it was
 */
export async function giveBack(
  connect: () => Promise<CliClient>,
  { onlyLeftovers = false }: RestoreChoice,
): Promise<RestoreResult> {
  const told = onlyLeftovers ? null : await askInstance(connect);
  const report = told ?? (await restoreHere(onlyLeftovers));
  if (report.outcome === 'partly') {
    // Errors are in English, for programs too.
    throw new AppError('RESTORE_FAILED', restoreText(report, CATALOGUE.en.cli));
  }
  return report;
}

/** Null when nobody runs, or the one that runs is of no help: then it has to go without it. */
async function askInstance(connect: () => Promise<CliClient>): Promise<RestoreResult | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, INSTANCE_MS, null);
  });
  try {
    const client = await connect();
    const asked = client.call('restore', {}).catch(() => null);
    const report = (await Promise.race([asked, late])) as MethodOutput<'restore'> | null;
    return report?.outcome === 'restored' ? report : null;
  } catch {
    // Nobody runs, or nobody who answers; what counts is what restoreHere says.
    return null;
  } finally {
    clearTimeout(timer);
  }
}

async function restoreHere(onlyLeftovers: boolean): Promise<RestoreResult> {
  const { restoreNow } = await import('../../system-dns/takeover/restore-now.ts');
  const { rootFilesWarning } = await import('../../system-dns/rights/root-files.ts');
  const { outcome, detail, items } = await restoreNow({ onlyLeftovers });
  // By the unit that runs at boot.
  const warning = onlyLeftovers ? rootFilesWarning(process.argv[1] ?? '') : '';
  const said = [detail, warning].filter((text) => text !== '').join('; ');
  return { outcome, detail: said, items: [...items] };
}

export function takeoverText({ state, reason, owner, covered }: TakeoverStatus): string {
  const said = t().cli.takeover;
  const through = covered.length > 0 ? said.through(covered.join(', '), owner) : '';
  return `${said.states[state]}${through}${reason === '' ? '' : `\n${reason}`}`;
}

export function restoreText({ detail, items }: RestoreResult, { takeover } = t().cli): string {
  const lines = items.map(({ label, outcome, reason }) => {
    return `  ${label}: ${takeover.outcomes[outcome]}${reason === '' ? '' : ` (${reason})`}`;
  });
  return [detail, ...lines].join('\n');
}

export function networkText(network: NetworkStatus): string {
  const { takeover, owners, links, journal, lastRescue, bypasses, ladder } = network;
  const owner = owners.find(({ isInCharge }) => isInCharge);
  const said = t().cli.takeover;
  return [
    takeoverText(takeover),
    owner ? said.manager(owner.name, owner.detail) : said.noManager,
    ...links.map(({ label, isCovered, reason, servers }) => {
      const now = said.servers(servers.join(', ') || t().cli.none);
      return `  ${label}: ${isCovered ? said.covered : reason}; ${now}`;
    }),
    `${said.journal(journal.directory)}${journal.writtenAtMs === null ? said.noJournal : ''}`,
    ...(lastRescue ? [said.lastRestore(timeText(lastRescue.atMs), lastRescue.detail)] : []),
    ...bypasses.map(({ what, state, detail }) => `${what} ${t().network.bypass[state]}: ${detail}`),
    said.permissions,
    ...ladder.flatMap(({ state, title, installs, undo }) => [
      `  ${t().network.permissionState[state]}: ${title}`,
      ...(state === 'possible' ? indented(installs) : []),
      ...(state === 'possible' && undo !== '' ? [`    ${said.toUndo}`, ...indented(undo)] : []),
    ]),
  ].join('\n');
}

function indented(text: string): string[] {
  return text.split('\n').map((line) => `    ${line}`);
}
