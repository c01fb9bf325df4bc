// A histogram of latencies.

import type { JSX } from "preact";
import { duration, number } from "../text/units";
import { type Bucket, bucketWords, histogramWords, roundUp, usedBuckets } from "./scale";

const HEIGHT = 120;
const BAR = 34;
const LEFT = 34;
const BOTTOM = 20;
const TOP = 16;

type HistogramProps = { boundsUs: readonly number[]; counts: readonly number[]; label: string };

export function Histogram({ boundsUs, counts, label }: HistogramProps): JSX.Element {
  const buckets = usedBuckets(boundsUs, counts);
  const max = roundUp(Math.max(1, ...counts));
  const width = LEFT + buckets.length * BAR + 40;
  if (buckets.length === 0) return <p class="dim">No latencies: no call got a response.</p>;
  return (
    <figure class="histogram">
      <svg width={width} height={HEIGHT + TOP + BOTTOM} role="img" aria-label={`${label}: ${histogramWords(buckets)}`}>
        <line class="axis" x1={LEFT} y1={TOP} x2={width - 40} y2={TOP} />
        <text class="axis-text" x={LEFT - 5} y={TOP + 4} text-anchor="end">
          {number(max)}
        </text>
        <line class="axis" x1={LEFT} y1={TOP + HEIGHT} x2={width - 40} y2={TOP + HEIGHT} />
        <text class="axis-text" x={LEFT - 5} y={TOP + HEIGHT + 4} text-anchor="end">
          0
        </text>
        {buckets.map((bucket, index) => (
          <Column key={index} bucket={bucket} x={LEFT + index * BAR} max={max} isLabeled={isLabeled(index, buckets.length)} />
        ))}
      </svg>
    </figure>
  );
}

function isLabeled(index: number, length: number): boolean {
  const step = length > 12 ? 3 : 2;
  return index % step === 0;
}

type ColumnProps = { bucket: Bucket; x: number; max: number; isLabeled: boolean };

function Column({ bucket, x, max, isLabeled }: ColumnProps): JSX.Element {
  const height = bucket.count === 0 ? 0 : Math.max(2, (bucket.count / max) * HEIGHT);
  return (
    <g class="column">
      <rect x={x + 1} y={TOP + HEIGHT - height} width={BAR - 2} height={height} rx="2">
        <title>{`${bucketWords(bucket)}: ${number(bucket.count)}`}</title>
      </rect>
      {bucket.count > 0 && (
        <text class="column-count" x={x + BAR / 2} y={TOP + HEIGHT - height - 3} text-anchor="middle">
          {number(bucket.count)}
        </text>
      )}
      {isLabeled && bucket.toUs !== null && (
        <text class="axis-text" x={x + BAR} y={TOP + HEIGHT + 14} text-anchor="middle">
          {duration(bucket.toUs).replace(".00", "").replace(".0", "")}
        </text>
      )}
    </g>
  );
}
