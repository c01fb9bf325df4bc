// Paged rows in a component.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type FetchPage, PagedRows } from "./pages";

/** New `deps` mean another list; a new `refresh` means the same list with new content. */
export function useRows<Row>(
  fetchPage: FetchPage<Row>,
  deps: readonly unknown[],
  refresh: readonly unknown[] = [],
): PagedRows<Row> {
  const [, redraw] = useState(0);
  const rows = useMemo(() => new PagedRows(fetchPage, () => redraw((n) => n + 1)), deps);
  useEffect(() => {
    rows.want(0, 1);
    return () => rows.close();
  }, [rows]);
  useEffect(() => {
    if (rows.isKnown) rows.refresh();
  }, [rows, ...refresh]);
  return rows;
}

/** Paged rows of a list in memory. */
export function useListRows<Row>(list: readonly Row[], all: number): PagedRows<Row> {
  const [, redraw] = useState(0);
  return useMemo(() => PagedRows.of(list, all, () => redraw((n) => n + 1)), [list, all]);
}
