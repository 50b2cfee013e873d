/**
 * The drawing of queries over time with uPlot: bars of all queries, and over them the blocked part.
 *
 * uPlot draws on a canvas, so colours are read from the tokens as resolved values.
 */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { byLocale } from '../format/by-locale.ts';
import { formatCount } from '../format/number.ts';
import { formatMinute } from '../format/time.ts';

const barWidth = 0.72;
const barWidthMaxPx = 26;
const secondMs = 1_000;
const dayMs = 86_400_000;

const weekday = byLocale(
  (locale) => new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric' }),
);

/** Times in seconds since 1970, queries, blocked; of equal length. */
export type PlotData = [number[], number[], number[]];

export interface PlotOptions {
  readonly width: number;
  readonly height: number;
  /** Told the index of the step under the pointer; null when there is none. */
  onpoint(index: number | null): void;
}

/**
 * Draws an empty plot into an element. The caller sizes, feeds and destroys it.
 *
 * @param scheme  what the colours are read for; a plot of the other scheme must be drawn anew
 */
export function drawPlot(
  element: HTMLElement,
  scheme: 'light' | 'dark',
  options: PlotOptions,
): uPlot {
  const color = colorsOf(element);
  const bars = uPlot.paths.bars?.({ size: [barWidth, barWidthMaxPx], align: 1, radius: 0.15 });
  if (bars === undefined) throw new Error('uPlot was built without bars');
  const series = (fill: string): uPlot.Series => ({
    paths: bars,
    points: { show: false },
    fill,
    width: 0,
  });
  const axis = { stroke: color('--chart-axis'), font: fontOf(element), ticks: { show: false } };
  return new uPlot(
    {
      class: scheme,
      width: options.width,
      height: options.height,
      legend: { show: false },
      padding: [8, 18, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      // A bar stands to the right of its time, so the newest one needs a step of room.
      scales: {
        x: { range: (plot, low, high) => [low, high + stepOf(plot.data[0])] },
        y: { range: (_plot, _low, high) => [0, Math.max(4, high * 1.06)] },
      },
      series: [{}, series(color('--chart-queries')), series(color('--chart-blocked'))],
      axes: [
        { ...axis, grid: { show: false }, values: timeLabels, space: 64, size: 22, gap: 4 },
        {
          ...axis,
          grid: { stroke: color('--chart-grid'), width: 1 },
          values: (_plot, splits) => splits.map((value) => formatCount(value)),
          incrs: [
            1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6,
            2e6, 5e6, 1e7,
          ],
          space: 36,
          size: (_plot, values: readonly string[] | null) =>
            14 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
          gap: 6,
        },
      ],
      hooks: {
        setCursor: [
          (plot) => {
            options.onpoint(plot.cursor.idx ?? null);
          },
        ],
      },
    },
    [[], [], []],
    element,
  );
}

/** Distance between the times; 0 for fewer than two. */
function stepOf(times: ArrayLike<number>): number {
  const { length } = times;
  return length < 2 ? 0 : (times[length - 1] ?? 0) - (times[length - 2] ?? 0);
}

/** Hours within a day or two, days beyond. */
function timeLabels(_plot: uPlot, splits: number[]): string[] {
  const spanMs = ((splits.at(-1) ?? 0) - (splits[0] ?? 0)) * secondMs;
  return splits.map((seconds) =>
    spanMs > 2 * dayMs ? weekday().format(seconds * secondMs) : formatMinute(seconds * secondMs),
  );
}

function colorsOf(element: HTMLElement): (token: string) => string {
  const style = getComputedStyle(element);
  return (token) => style.getPropertyValue(token);
}

function fontOf(element: HTMLElement): string {
  return `12px ${getComputedStyle(element).fontFamily}`;
}
