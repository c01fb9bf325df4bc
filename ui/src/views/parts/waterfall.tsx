// The bar of a call in the waterfall of the visible calls.

import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CallRow } from "../../api/types";
import { duration } from "../../text/units";
import { isUnanswered } from "../../text/words";

export type TimeSpan = { fromUs: number; toUs: number };

/** The time span that the calls cover together. */
export function spanOf(rows: readonly CallRow[]): TimeSpan | null {
  let fromUs = Infinity;
  let toUs = -Infinity;
  for (const row of rows) {
    fromUs = Math.min(fromUs, row.atUs);
    toUs = Math.max(toUs, row.atUs + (row.latencyUs ?? 0));
  }
  return fromUs <= toUs ? { fromUs, toUs } : null;
}

type WaterfallBarProps = { row: CallRow; span: ReadonlySignal<TimeSpan | null> };

export function WaterfallBar({ row, span: seen }: WaterfallBarProps): JSX.Element | null {
  const span = seen.value;
  if (span === null) return null;
  const whole = Math.max(1, span.toUs - span.fromUs);
  const left = clamp(((row.atUs - span.fromUs) / whole) * 100);
  const right = clamp(((row.atUs + (row.latencyUs ?? 0) - span.fromUs) / whole) * 100);
  const kind = row.isError ? "error" : isUnanswered(row.status) ? "open" : row.direction === "out" ? "nested" : "";
  const label = row.latencyUs === null ? "no response" : duration(row.latencyUs);
  return (
    <span class="waterfall" title={label}>
      <span class={`bar ${kind}`} style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }} />
    </span>
  );
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent));
}
