// Calls and failures per second over the last minutes.

import type { JSX } from "preact";
import type { StoreRate } from "../api/types";
import { count, number } from "../text/units";
import { linePoints, roundUp } from "./scale";

const WIDTH = 600;
const HEIGHT = 110;

/** Converts counts per interval to rates per second. */
export function perSecond(rates: readonly StoreRate[]): { calls: number[]; errors: number[] } {
  const [first, second] = rates;
  const seconds = first && second ? Math.max(0.001, (second.atMs - first.atMs) / 1000) : 1;
  return { calls: rates.map((rate) => rate.calls / seconds), errors: rates.map((rate) => rate.errors / seconds) };
}

export function RateChart({ rates, minutes }: { rates: readonly StoreRate[]; minutes: number }): JSX.Element {
  const { calls, errors } = perSecond(rates);
  const max = roundUp(Math.max(1, ...calls));
  const all = rates.reduce((sum, rate) => sum + rate.calls, 0);
  const failed = rates.reduce((sum, rate) => sum + rate.errors, 0);
  const line = linePoints(calls, WIDTH, HEIGHT, max);
  const label = `${count(all, "call")} in ${count(minutes, "minute")}, ${number(failed)} failed`;
  return (
    <figure class="rates">
      <div class="rates-plot">
        <span class="rates-max" aria-hidden="true">{`${number(max)}/s`}</span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
          <line class="axis" x1="0" y1="0.5" x2={WIDTH} y2="0.5" />
          <line class="axis" x1="0" y1={HEIGHT / 2} x2={WIDTH} y2={HEIGHT / 2} />
          {calls.length > 1 && <polygon class="rates-calls" points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />}
          {calls.length > 1 && <polyline class="rates-line" points={line} />}
          {failed > 0 && <polyline class="rates-errors" points={linePoints(errors, WIDTH, HEIGHT, max)} />}
        </svg>
      </div>
      <figcaption aria-hidden="true">
        <span>{`${spanText(minutes)} ago`}</span>
        <span class="rates-legend">
          <span class="legend-calls">calls</span>
          <span class="legend-errors">failed</span>
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function spanText(minutes: number): string {
  if (minutes % 1440 === 0) return count(minutes / 1440, "day");
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${number(minutes)} min`;
}
