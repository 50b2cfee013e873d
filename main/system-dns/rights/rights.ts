/**
 * Installs a right of the ladder, or takes it away, once a person has read its commands and agreed:
 * the very lines that were shown, run as root after polkit has asked for a password (pkexec). Used
 * by system-dns.ts; nothing else of Sluice runs anything as root.
 */
import { AppError } from '../../contract/errors.ts';
import { CommandError, type RunCommand } from '../../system/command.ts';
import type { RightChange, Rung } from './port-ladder.ts';

/** A person types a password meanwhile. */
const PROMPT_MS = 120_000;
/** The prompt was closed. pkexec(1), "Return value". */
const DISMISSED = '126';
/** Not allowed, or there is nobody to ask. */
const REFUSED = '127';

/** The command that does what the rung shows: its lines without "sudo", in one shell, as root. */
export function rightCommand(rung: Rung, change: RightChange): readonly string[] {
  const shown = change === 'install' ? rung.installs : rung.undo;
  return ['pkexec', '/bin/sh', '-ec', shown.replaceAll('sudo ', '')];
}

/**
 * @throws AppError RIGHT_REFUSED: not possible here, no pkexec, or the person said no; nothing is
 *         changed then, or as far as the command's own words say
 */
export async function changeRight(rung: Rung, change: RightChange, run: RunCommand): Promise<void> {
  if (rung.offers !== change) {
    throw new AppError('RIGHT_REFUSED', `"${rung.title}" cannot be changed from here`);
  }
  const [file = '', ...args] = rightCommand(rung, change);
  try {
    await run(file, args, { timeoutMs: PROMPT_MS });
  } catch (error) {
    throw new AppError('RIGHT_REFUSED', whyRefused(error));
  }
}

function whyRefused(error: unknown): string {
  if (!(error instanceof CommandError)) return String(error);
  if (error.code === DISMISSED) return 'the question for a password was closed';
  if (error.code === REFUSED) return 'the system did not give the right to change this';
  if (error.code === 'ENOENT') return 'pkexec is not installed; run the commands in a terminal';
  return error.message;
}
