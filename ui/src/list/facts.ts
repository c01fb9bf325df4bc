// How many rows there are, in words.

import { count } from "../text/units";
import type { PagedRows } from "./pages";

/** `3 calls of 10 calls`; nothing until it is known. */
export function factsOf<Row>(rows: PagedRows<Row>, thing: string): string {
  if (!rows.isKnown) return "";
  return rows.total === rows.all ? count(rows.total, thing) : `${count(rows.total, thing)} of ${count(rows.all, thing)}`;
}
