// The rows of a diff, with the gaps between them.

import type { DiffReport, DiffRow } from "../../api/types";

/** A row, or a gap of rows that are hidden. */
export type DiffItem = { kind: "row"; row: DiffRow } | { kind: "gap"; from: number; count: number };

/** The total number of rows, of any status. */
export function allRows(report: DiffReport): number {
  return report.same + report.changed + report.removed + report.added;
}

/** The rows in order, with gaps where rows are hidden; `isLast` means that no row follows. */
export function withGaps(rows: readonly DiffRow[], all: number, isLast: boolean): DiffItem[] {
  const items: DiffItem[] = [];
  let next = 0;
  for (const row of rows) {
    if (row.row > next) items.push({ kind: "gap", from: next, count: row.row - next });
    items.push({ kind: "row", row });
    next = row.row + 1;
  }
  if (isLast && all > next) items.push({ kind: "gap", from: next, count: all - next });
  return items;
}

export const STATUSES = ["changed", "added", "removed", "same"] as const;
export type DiffStatus = (typeof STATUSES)[number];

const DEFAULT: readonly DiffStatus[] = ["changed", "added", "removed"];

/** The statuses in a URL; by default all that differ. */
export function statusesOf(text: string): DiffStatus[] {
  const names = text.split(",");
  const known = STATUSES.filter((status) => names.includes(status));
  return known.length > 0 ? known : [...DEFAULT];
}

/** The statuses as text for the URL: empty for the default. */
export function statusText(statuses: readonly DiffStatus[]): string {
  const isDefault = statuses.length === DEFAULT.length && DEFAULT.every((status) => statuses.includes(status));
  return isDefault ? "" : STATUSES.filter((status) => statuses.includes(status)).join(",");
}

/** Adds or removes a status; the default if none is left. */
export function toggled(statuses: readonly DiffStatus[], status: DiffStatus): DiffStatus[] {
  const next = statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status];
  return next.length > 0 ? next : [...DEFAULT];
}
