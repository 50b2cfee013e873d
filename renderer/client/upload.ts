/** Sends a file in pieces over the preload's bridge, each when the one before has arrived. */
import { CallError, isWireError } from './call-error.ts';
import { t } from '../text.ts';
import type { Bridge } from './bridge-client.ts';

/** A quarter of what the service takes at once. */
const pieceBytes = 1024 * 1024;

/** @returns the id for a method's `upload` */
export async function uploadInPieces(bridge: Pick<Bridge, 'upload'>, file: Blob): Promise<string> {
  let id: string | null = null;
  let at = 0;
  do {
    const piece = new Uint8Array(await file.slice(at, at + pieceBytes).arrayBuffer());
    id = idOf(await bridge.upload(id, piece));
    at += pieceBytes;
  } while (at < file.size);
  return id;
}

function idOf(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null) {
    if ('error' in answer && isWireError(answer.error)) {
      throw new CallError(answer.error.code, answer.error.message);
    }
    if ('value' in answer && isReceipt(answer.value)) return answer.value.id;
  }
  throw new CallError('INTERNAL', t().errors.noUploadId);
}

/** Whether a value is what a door answers to a file. */
export function isReceipt(value: unknown): value is { readonly id: string } {
  return (
    typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
  );
}
