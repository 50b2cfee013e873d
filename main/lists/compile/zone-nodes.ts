/**
 * Finds the names of a zone at which its wildcards end. RFC 4592 §3.3.1: a wildcard speaks of a name
 * only when nothing closer exists, and a name exists when it or anything below it has records.
 * Used by table-builder.ts for response policy zones.
 */
import { hashName } from '../../dns/name.ts';

/** Wire labels without root, and their hash. */
type Node = readonly [name: Uint8Array, hash: number];

export class ZoneNodes {
  readonly #isWildcard: (name: Uint8Array, hash: number) => boolean;
  readonly #hasRoot: boolean;

  /**
   * @param isWildcard  whether the zone has a wildcard directly below a name, or a node there
   * @param hasRoot     whether there is one below the root
   */
  constructor(isWildcard: (name: Uint8Array, hash: number) => boolean, hasRoot: boolean) {
    this.#isWildcard = isWildcard;
    this.#hasRoot = hasRoot;
  }

  /** The name at an offset and those above it, up to the closest wildcard; [] without one. */
  nodesOf(names: Uint8Array, offset: number): readonly Node[] {
    const starts: number[] = [];
    let end = offset;
    for (; names[end] !== 0; end += (names[end] as number) + 1) starts.push(end);
    const nodes: Node[] = [];
    for (const start of starts) {
      const name = names.slice(start, end);
      const node: Node = [name, hashName(name, 0, name.length)];
      // The name's own wildcard does not reach the name; one above it would.
      if (start !== offset && this.#isWildcard(...node)) return nodes;
      nodes.push(node);
    }
    return this.#hasRoot ? nodes : [];
  }
}
