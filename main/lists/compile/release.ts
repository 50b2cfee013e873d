/**
 * Gives large memory back at once, instead of when the garbage collector gets to it: a compilation
 * would else hold all that it has used. Used by the compile thread.
 */

interface Movable {
  transfer?(length: number): ArrayBuffer;
}

/** Frees the memory of an array, which must not be used any more. Node 20 leaves it to the collector. */
export function release({ buffer }: Int32Array | Uint8Array): void {
  if (buffer instanceof ArrayBuffer) (buffer as Movable).transfer?.(0);
}
