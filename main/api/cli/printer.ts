/** How commands call the running instance and print what it gives; built by cli.ts. */
import type { MethodName, MethodOutput } from '../../contract/methods/methods.ts';
import type { CliClient } from './client.ts';

export interface Printer {
  /** Calls a method and prints what it returns. */
  print<Name extends MethodName>(
    name: Name,
    input: unknown,
    text: (value: MethodOutput<Name>) => string,
  ): Promise<void>;
  /** The same for several calls: `work` makes them, and returns what is printed. */
  show<Value>(
    work: (client: CliClient) => Promise<Value>,
    text: (value: Value) => string,
  ): Promise<void>;
  /** Writes a text that is for programs as it is: JSON. */
  pass(work: (client: CliClient) => Promise<string>): Promise<void>;
}
