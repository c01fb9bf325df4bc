// The keys of a table: move between rows, and to the next error.

import { useRef } from "preact/hooks";
import { useKeys } from "../keys";
import type { RowTableProps } from "./row-table";
import type { Scroller } from "./scroller";

export function useTableKeys<Row>(props: RowTableProps<Row>, scroller: Scroller, open: (index: number) => void): void {
  const { rows } = props;
  // Keys may come faster than renders, so each continues from the row of the previous key.
  const place = useRef(props.active);
  place.current = props.active;
  const goTo = (index: number): void => {
    place.current = index;
    props.onActive(index);
  };
  const move = (by: number): void => {
    if (rows.total === 0) return;
    const from = place.current ?? (by > 0 ? Math.floor(scroller.position / scroller.rowHeight) - 1 : rows.total);
    goTo(Math.min(rows.total - 1, Math.max(0, from + by)));
  };
  const page = Math.max(1, Math.floor(scroller.viewport / scroller.rowHeight) - 1);
  useKeys({
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    PageDown: () => move(page),
    PageUp: () => move(-page),
    Home: () => goTo(0),
    End: () => goTo(Math.max(0, rows.total - 1)),
    Enter: () => {
      if (place.current !== null) open(place.current);
    },
    e: () => void nextError(props, place.current, goTo),
  });
}

/** How many rows are searched for the next error before giving up. */
const FARTHEST = 20_000;

async function nextError<Row>(
  { rows, isError }: RowTableProps<Row>,
  active: number | null,
  goTo: (index: number) => void,
): Promise<void> {
  if (isError === undefined) return;
  const from = (active ?? -1) + 1;
  for (let index = from; index < Math.min(rows.total, from + FARTHEST); index++) {
    const row = rows.get(index) ?? (await rows.load(index));
    if (row !== undefined && isError(row)) {
      goTo(index);
      return;
    }
  }
}
