/** Result files of `npm run bench:cost`, and what two of them say about each other. */

/** One kind of answer: nanoseconds an operation over all runs, bytes of garbage an operation. */
export interface CostFigure {
  readonly title: string;
  readonly nanoseconds: { readonly median: number; readonly low: number; readonly high: number };
  readonly bytes: number;
}

export interface CostResult {
  readonly kinds: readonly CostFigure[];
}

export interface Comparison {
  readonly title: string;
  /** New median over old one; and as far as both spreads reach. */
  readonly ratio: { readonly median: number; readonly low: number; readonly high: number };
  /** The spreads of both overlap: the difference says nothing. */
  readonly isNoise: boolean;
  /** New bytes less old ones. */
  readonly bytes: number;
}

/** Median, smallest and largest. @param values  at least one */
export function spreadOf(values: readonly number[]): CostFigure['nanoseconds'] {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (index: number): number => Math.round((sorted[index] ?? NaN) * 10) / 10;
  return { median: at(sorted.length >> 1), low: at(0), high: at(sorted.length - 1) };
}

/** Compares kinds that both have, in the order of the first. */
export function compareCosts(before: CostResult, after: CostResult): Comparison[] {
  const known = new Map(after.kinds.map((kind) => [kind.title, kind]));
  return before.kinds.flatMap((old) => {
    const now = known.get(old.title);
    if (now === undefined) return [];
    const { nanoseconds: was } = old;
    const { nanoseconds: is } = now;
    const ratio = {
      median: is.median / was.median,
      low: is.low / was.high,
      high: is.high / was.low,
    };
    const isNoise = ratio.low <= 1 && ratio.high >= 1;
    return [{ title: old.title, ratio, isNoise, bytes: now.bytes - old.bytes }];
  });
}
