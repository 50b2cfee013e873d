/**
 * Picks the way to the service: the preload's bridge inside Electron, otherwise HTTP.
 */
import type { ServiceClient } from '../../main/contract/methods/methods.ts';
import { createBridgeClient, type Bridge } from './bridge-client.ts';
import { createHttpClient } from './http-client.ts';
import { takeToken } from './token.ts';

/** What a transport tells about itself; implemented by state/connection.svelte.ts. */
export interface ConnectionSink {
  /** An answer came, of whatever kind. */
  answered(): void;
  /** No answer came. */
  failed(): void;
  /** The service wants a token that this window does not have. */
  refused(): void;
}

/** The service as a window has it. */
export interface WindowClient extends ServiceClient {
  /** Sends a file. @returns the id for a method's `upload` */
  upload(file: File): Promise<string>;
}

declare global {
  interface Window {
    /** Exposed by the preload script; absent in a browser. */
    readonly sluice?: Bridge;
  }
}

/** Builds the client of this window. Called once. */
export function createClient(page: Window, connection: ConnectionSink): WindowClient {
  if (page.sluice !== undefined) return createBridgeClient(page.sluice, connection);
  return createHttpClient(takeToken(page), connection);
}
