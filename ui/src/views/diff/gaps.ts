// The rows of a diff with what lies between them.

import type { DiffReport, DiffRow } from "../../api/types";

/** A row, or a number of rows that are left out before the next one. */
export type DiffItem = { kind: "row"; row: DiffRow } | { kind: "gap"; from: number; count: number };

/** All rows that there are, of any status. */
export function allRows(report: DiffReport): number {
  return report.same + report.changed + report.removed + report.added;
}

/** The rows in order with gaps where rows are left out; `isLast` says that no row follows. */
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

/** The statuses that a URL asks for; what differs, if it asks for none. */
export function statusesOf(text: string): DiffStatus[] {
  const asked = text.split(",");
  const known = STATUSES.filter((status) => asked.includes(status));
  return known.length > 0 ? known : [...DEFAULT];
}

/** The text of the URL for some statuses: empty for those that are shown anyway. */
export function statusText(statuses: readonly DiffStatus[]): string {
  const isDefault = statuses.length === DEFAULT.length && DEFAULT.every((status) => statuses.includes(status));
  return isDefault ? "" : STATUSES.filter((status) => statuses.includes(status)).join(",");
}

/** The statuses with one more or one less; never none. */
export function toggled(statuses: readonly DiffStatus[], status: DiffStatus): DiffStatus[] {
  const next = statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status];
  return next.length > 0 ? next : [...DEFAULT];
}
