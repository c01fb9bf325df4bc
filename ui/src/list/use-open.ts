// Rows are opened by their place in the list, and a place may be chosen before its row has come.

import { useEffect, useRef } from "preact/hooks";
import type { PagedRows } from "./pages";

/** Opens the row at an index; one that is still on its way opens when it comes, unless another is chosen until then. */
export function useOpen<Row>(
  rows: PagedRows<Row>,
  active: number | null,
  onOpen: (row: Row, index: number) => void,
): (index: number) => void {
  const awaited = useRef<{ rows: PagedRows<Row>; index: number } | null>(null);
  useEffect(() => {
    if (awaited.current === null) return;
    const { rows: asked, index } = awaited.current;
    const row = rows.get(index);
    if (asked === rows && row === undefined) return;
    awaited.current = null;
    if (asked === rows && row !== undefined && index === active) onOpen(row, index);
  });
  return (index) => {
    const row = rows.get(index);
    awaited.current = row === undefined ? { rows, index } : null;
    if (row !== undefined) onOpen(row, index);
  };
}
