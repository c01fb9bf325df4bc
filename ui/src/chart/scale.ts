// The arithmetic of charts.

import { count, duration, number } from "../text/units";

/** The next round number up: 1, 2, 5, 10, 20 … */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

/** A bar of a histogram. */
export interface Bucket {
  /** The bounds, in microseconds; the last bucket has no upper bound. */
  fromUs: number;
  toUs: number | null;
  count: number;
}

/** The buckets from the first with calls to the last, plus an empty one on each side. */
export function usedBuckets(boundsUs: readonly number[], counts: readonly number[]): Bucket[] {
  const all = counts.map((n, index) => ({
    fromUs: index === 0 ? 0 : (boundsUs[index - 1] ?? 0),
    toUs: boundsUs[index] ?? null,
    count: n,
  }));
  const first = counts.findIndex((n) => n > 0);
  if (first < 0) return [];
  const last = counts.findLastIndex((n) => n > 0);
  return all.slice(Math.max(0, first - 1), last + 2);
}

/** The bounds of a bucket in words. */
export function bucketWords({ fromUs, toUs }: Bucket): string {
  if (toUs === null) return `over ${duration(fromUs)}`;
  return fromUs === 0 ? `up to ${duration(toUs)}` : `${duration(fromUs)} to ${duration(toUs)}`;
}

/** A histogram in a sentence, for screen readers. */
export function histogramWords(buckets: readonly Bucket[]): string {
  const all = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (all === 0) return "No latencies.";
  const most = buckets.reduce((best, bucket) => (bucket.count > best.count ? bucket : best));
  return `${count(all, "call")}; the largest bucket is ${bucketWords(most)} (${number(most.count)}).`;
}

/** The points of a line through values, from 0 to `width` and from `height` up to 0. */
export function linePoints(values: readonly number[], width: number, height: number, max: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const y = (value: number): number => height - (Math.min(value, max) / max) * height;
  return values.map((value, index) => `${round(index * step)},${round(y(value))}`).join(" ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
