// Paged rows in a component.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type FetchPage, PagedRows } from "./pages";

/** Other `deps` are another list; another `refresh` is the same list with something new in it. */
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

/** Rows of a list that is here. */
export function useListRows<Row>(list: readonly Row[], all: number): PagedRows<Row> {
  const [, redraw] = useState(0);
  return useMemo(() => PagedRows.of(list, all, () => redraw((n) => n + 1)), [list, all]);
}
