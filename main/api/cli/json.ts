/** Reads JSON that was typed on the command line. */
import { InvalidArgumentError } from 'commander';

/** @throws InvalidArgumentError */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidArgumentError(`the input is not JSON: ${text.slice(0, 80)}`);
  }
}
