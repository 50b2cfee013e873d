/**
 * The service over Electron's preload bridge, window.sluice.
 */
import type { WireError } from '../../main/contract/errors.ts';
import type {
  LiveUpdate,
  MethodInput,
  MethodName,
  MethodOutput,
} from '../../main/contract/methods/methods.ts';
import { t } from '../text.ts';
import { CallError, isWireError } from './call-error.ts';
import type { ConnectionSink, WindowClient } from './client.ts';
import { uploadInPieces } from './upload.ts';

/** What the preload exposes. Errors arrive as values: a thrown one would lose its code. */
export interface Bridge {
  call(name: string, input: unknown): Promise<unknown>;
  subscribe(onUpdate: (update: LiveUpdate) => void): () => void;
  /** Adds a piece to a file; null begins one. Resolves like `call`, with id and bytes. */
  upload(id: string | null, piece: Uint8Array): Promise<unknown>;
}

type Envelope = { ok: true; value: unknown } | { ok: false; error: WireError };

export function createBridgeClient(bridge: Bridge, connection: ConnectionSink): WindowClient {
  async function call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
  ): Promise<MethodOutput<Name>> {
    let result: unknown;
    try {
      result = await bridge.call(name, input);
    } catch (error) {
      if (isWireError(error)) throw new CallError(error.code, error.message);
      connection.failed();
      throw new CallError('DISCONNECTED', t().errors.noAnswer);
    }
    connection.answered();
    return unwrap(result) as MethodOutput<Name>;
  }

  return {
    call,
    subscribe: (onUpdate) => bridge.subscribe(onUpdate),
    upload: (file) => uploadInPieces(bridge, file),
  };
}

/** The value of an answer; a bare value, as of a bridge that unwraps by itself, passes. */
function unwrap(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('ok' in result)) return result;
  const envelope = result as Envelope;
  if (envelope.ok) return envelope.value;
  throw new CallError(envelope.error.code, envelope.error.message);
}
