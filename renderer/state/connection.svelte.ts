/**
 * Whether the service answers. Fed by the transport, shown by the shell.
 */
import type { ConnectionSink } from '../client/client.ts';

export class Connection implements ConnectionSink {
  /** The last attempt got no answer; attempts go on by themselves. */
  isLost = $state(false);
  /** The service wants a token. */
  needsToken = $state(false);

  answered(): void {
    this.isLost = false;
  }

  failed(): void {
    this.isLost = true;
  }

  refused(): void {
    this.needsToken = true;
  }
}
