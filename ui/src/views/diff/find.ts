// Finds a row of the diff that may not be loaded.

import type { DiffRow } from "../../api/types";
import { go } from "../../router";
import { backend } from "../../state/backend";
import { STATUSES } from "./gaps";

const PAGE = 1000;

export type RowTest = (row: DiffRow) => boolean;

/** The first row that matches, or null. */
export async function findRow(a: string, b: string, isWanted: RowTest, signal?: AbortSignal): Promise<DiffRow | null> {
  for (let from = 0; ; from += PAGE) {
    const { rows, total } = await backend.diff(a, b, { status: "", from, limit: PAGE }, signal);
    const found = rows.find(isWanted);
    if (found) return found;
    if (from + PAGE >= total || rows.length === 0) return null;
  }
}

/** Opens a row, and shows the rows of its status if they are hidden. */
export function showRow(row: DiffRow): void {
  go({ open: String(row.row), status: row.status === "same" ? STATUSES.join(",") : "" }, "replace");
  setTimeout(() => document.getElementById(`diff-${row.row}`)?.scrollIntoView({ block: "center" }), 300);
}
