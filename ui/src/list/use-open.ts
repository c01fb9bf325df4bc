// Rows are opened by index, possibly before the row has loaded.

import { useEffect, useRef } from "preact/hooks";
import type { PagedRows } from "./pages";

/** Opens the row at an index; a row that is still loading opens on arrival, unless another became active meanwhile. */
export function useOpen<Row>(
  rows: PagedRows<Row>,
  active: number | null,
  onOpen: (row: Row, index: number) => void,
): (index: number) => void {
  const awaited = useRef<{ rows: PagedRows<Row>; index: number } | null>(null);
  useEffect(() => {
    if (awaited.current === null) return;
    const { rows: requested, index } = awaited.current;
    const row = rows.get(index);
    if (requested === rows && row === undefined) return;
    awaited.current = null;
    if (requested === rows && row !== undefined && index === active) onOpen(row, index);
  });
  return (index) => {
    const row = rows.get(index);
    awaited.current = row === undefined ? { rows, index } : null;
    if (row !== undefined) onOpen(row, index);
  };
}
