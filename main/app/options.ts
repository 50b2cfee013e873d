/** What a caller of program.ts may choose. */

export interface ComposeOptions {
  /** Made when missing, for this user only. */
  readonly dataDirectory: string;
  /** Default: sluice.yaml in the data folder, made from the template when missing. */
  readonly configFile?: string;
  /** In place of dns.listen. */
  readonly listen?: readonly string[];
  /** Listen on another port when 53 is taken or forbidden. */
  readonly portFallback?: boolean;
  /** Gets one line for each step worth telling a person. */
  readonly onProgress?: (line: string) => void;
  /** Lists were compiled anew. */
  readonly onTable?: () => void;
  /** Keeps the position of the takeover's switch over a restart, beside the settings' own word. */
  readonly remembersTakeover?: boolean;
}

export interface HttpChoice {
  readonly listen?: string;
  readonly portFallback?: boolean;
}
