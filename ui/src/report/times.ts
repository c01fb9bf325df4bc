// The timeline of a report.

import type { TimelineQuery } from "../api/backend";
import type { Bar, CallRow, Density, MessageRow, Timeline } from "../api/types";

/** The calls that were open at some time of a part; of too many those that failed or took longest. */
export function timelineOf(calls: readonly CallRow[], { fromUs, toUs, limit }: TimelineQuery): Timeline {
  const inside = calls.filter((row) => row.atUs <= toUs && row.atUs + (row.latencyUs ?? 0) >= fromUs);
  const weight = (row: CallRow): number => (row.isError ? 1e15 : 0) + (row.latencyUs ?? 0);
  const kept = inside.length > limit ? inside.toSorted((a, b) => weight(b) - weight(a)).slice(0, limit) : inside;
  return { bars: kept.toSorted((a, b) => a.atUs - b.atUs).map(barOf), total: inside.length };
}

function barOf(row: CallRow): Bar {
  const { trace, call, atUs, latencyUs, status, isError, direction, parent, progress } = row;
  return { trace, call, atUs, latencyUs, status, isError, direction, parent, progress, name: row.tool ?? row.method };
}

export function densityOf(
  calls: readonly CallRow[],
  messages: readonly MessageRow[],
  fromUs: number,
  lastUs: number,
  buckets: number,
): Density {
  const toUs = Math.max(lastUs, fromUs + 1);
  const empty = (): number[] => new Array<number>(buckets).fill(0);
  const density: Density = { fromUs, toUs, calls: empty(), errors: empty(), stderr: empty() };
  const add = (counts: number[], atUs: number): void => {
    const at = Math.min(buckets - 1, Math.max(0, Math.floor(((atUs - fromUs) * buckets) / (toUs - fromUs))));
    counts[at] = (counts[at] ?? 0) + 1;
  };
  for (const call of calls) {
    add(density.calls, call.atUs);
    if (call.isError) add(density.errors, call.atUs);
  }
  for (const row of messages) if (row.kind === "stderr") add(density.stderr, row.atUs);
  return density;
}
