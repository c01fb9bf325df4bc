// The number of rows, in words.

import { count, number } from "../text/units";
import type { PagedRows } from "./pages";

/** `3 of 10 calls`; empty until the total is known. */
export function factsOf<Row>(rows: PagedRows<Row>, thing: string): string {
  if (!rows.isKnown) return "";
  return rows.total === rows.all ? count(rows.total, thing) : `${number(rows.total)} of ${count(rows.all, thing)}`;
}
