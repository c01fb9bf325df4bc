// A virtual table: only the visible rows are in the DOM.

import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { memo } from "./memo";
import type { PagedRows } from "./pages";
import { Scroller } from "./scroller";
import { useTableKeys } from "./table-keys";
import { useOpen } from "./use-open";

export type Column<Row> = {
  name: string;
  /** The column heading. */
  title: string;
  /** A track of a CSS grid. */
  width: string;
  /** The sort key that the server knows. */
  sort?: string;
  /** The minimum width of the table, in pixels, at which the column is shown. */
  from?: number;
  /** Whether the cells are numbers, aligned right. */
  isNumber?: boolean;
  /** Whether the heading is for screen readers only. */
  isMute?: boolean;
  cell(row: Row, index: number): ComponentChildren;
};

export type RowTableProps<Row> = {
  id: string;
  label: string;
  columns: Column<Row>[];
  rows: PagedRows<Row>;
  rowHeight?: number;
  /** The active row of the keyboard. */
  active: number | null;
  onActive(index: number): void;
  onOpen(row: Row, index: number): void;
  classOf?(row: Row, index: number): string;
  isError?(row: Row): boolean;
  /** The sort key; a leading `-` means descending. */
  sort?: string;
  onSort?(sort: string): void;
  /** Whether the list stays at its end when it grows. */
  follows?: boolean;
  reveal?: Reveal | null;
  /** Reports the visible rows. */
  onSeen?(first: number, last: number): void;
};

/** A row to scroll to, once; a new `wish` number is a new request. */
export type Reveal = { index: number; place: "top" | "middle"; wish: number };

const HEADER_PX = 26;
const OVERSCAN = 10;

export function RowTable<Row>(props: RowTableProps<Row>): JSX.Element {
  const { rows, rowHeight = 24, active } = props;
  const box = useRef<HTMLDivElement>(null);
  const scroller = useMemo(() => new Scroller(rowHeight), [rows, rowHeight]);
  const [, redraw] = useState(0);
  const [width, setWidth] = useState(1000);
  const wasAtEnd = useRef(true);
  const shown = useRef({ scroller, total: rows.total });

  scroller.total = rows.total;

  const moved = (): void => {
    const element = box.current;
    if (element === null) return;
    const top = scroller.settle();
    if (Math.abs(element.scrollTop - top) > 0.5) element.scrollTop = top;
    redraw((n) => n + 1);
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => {
      scroller.viewport = Math.max(0, element.clientHeight - HEADER_PX);
      setWidth(element.clientWidth);
      redraw((n) => n + 1);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller]);

  useLayoutEffect(() => {
    // The browser reports a scroll with the next frame; a row that arrives before must not undo it. Another list starts at the top.
    const top = box.current?.scrollTop ?? 0;
    if (shown.current.scroller === scroller && scroller.isBehind(top)) {
      scroller.total = shown.current.total;
      scroller.scrolled(top);
      wasAtEnd.current = scroller.isAtEnd;
      scroller.total = rows.total;
    }
    shown.current = { scroller, total: rows.total };
    if (props.follows && wasAtEnd.current && rows.total > 0) scroller.toEnd();
    moved();
  }, [rows.total, scroller]);

  useLayoutEffect(() => {
    if (props.reveal == null || rows.total === 0) return;
    scroller.show(props.reveal.index, props.reveal.place);
    moved();
  }, [props.reveal?.wish, rows.total > 0]);

  useEffect(() => {
    if (active === null) return;
    scroller.reveal(active);
    moved();
  }, [active]);

  // A scaled list drifts from its scroll bar while the wheel moves it; at rest they meet again.
  const rest = useRef(0);
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    scroller.scrolled(element.scrollTop);
    wasAtEnd.current = scroller.isAtEnd;
    redraw((n) => n + 1);
    window.clearTimeout(rest.current);
    if (scroller.isScaled) rest.current = window.setTimeout(moved, 150);
  };

  const { first, last, shift } = scroller.range(OVERSCAN);
  useEffect(() => {
    // While scrolling fast, pages that leave the view again at once are not fetched.
    const timer = window.setTimeout(() => rows.want(first, Math.max(last, first + 1)), rows.get(first) === undefined && rows.isKnown ? 40 : 0);
    return () => window.clearTimeout(timer);
  }, [rows, first, last]);
  // An aborted request can leave visible rows missing: they are requested again until they arrive.
  const isMissing = rows.isKnown && rows.error === undefined && first < rows.total && rows.get(first) === undefined;
  useEffect(() => {
    if (!isMissing) return undefined;
    const timer = window.setInterval(() => rows.want(first, Math.max(last, first + 1)), 250);
    return () => window.clearInterval(timer);
  }, [rows, first, last, isMissing]);
  const seenFirst = Math.floor(scroller.position / rowHeight);
  const seenLast = Math.min(rows.total, Math.ceil((scroller.position + scroller.viewport) / rowHeight));
  useEffect(() => props.onSeen?.(seenFirst, seenLast), [seenFirst, seenLast, rows]);

  const open = useOpen(rows, active, props.onOpen);
  useTableKeys(props, scroller, open);

  const columns = useMemo(() => props.columns.filter((column) => width >= (column.from ?? 0)), [props.columns, width]);
  const template = columns.map((column) => column.width).join(" ");
  const latest = useRef({ onActive: props.onActive, open });
  latest.current = { onActive: props.onActive, open };
  const press = useCallback((index: number): void => {
    latest.current.onActive(index);
    latest.current.open(index);
  }, []);
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n);

  return (
    <div
      ref={box}
      class="table"
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={rows.total + 1}
      aria-colcount={columns.length}
      aria-activedescendant={active === null ? undefined : `${props.id}-${active}`}
      onScroll={onScroll}
    >
      <div class="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {columns.map((column) => (
          <HeadCell key={column.name} column={column} sort={props.sort} onSort={props.onSort} />
        ))}
      </div>
      <div class="table-body" role="presentation" style={{ height: `${scroller.contentHeight}px` }}>
        <div role="rowgroup" style={{ transform: `translateY(${shift}px)` }}>
          {drawn.map((index) => (
            <BodyRow
              key={index}
              id={`${props.id}-${index}`}
              index={index}
              row={rows.get(index)}
              columns={columns as Column<never>[]}
              template={template}
              height={rowHeight}
              names={namesOf(props, index)}
              isActive={index === active}
              onPress={press}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

type BodyRowProps = {
  id: string;
  index: number;
  row: unknown;
  columns: Column<never>[];
  template: string;
  height: number;
  names: string;
  isActive: boolean;
  onPress(index: number): void;
};

const BodyRow = memo(({ id, index, row, columns, template, height, names, isActive, onPress }: BodyRowProps) => {
  const style = { gridTemplateColumns: template, height: `${height}px` };
  const onClick = (): void => {
    // A click that ends a text selection must not open the row.
    if (window.getSelection()?.isCollapsed !== false) onPress(index);
  };
  if (row === undefined) {
    return (
      <div class="table-row loading" role="row" aria-rowindex={index + 2} style={style} onClick={onClick}>
        <div role="gridcell" class="clip">
          <span class="skeleton">loading</span>
        </div>
      </div>
    );
  }
  return (
    <div
      id={id}
      class={`table-row ${index % 2 === 1 ? "odd" : ""} ${isActive ? "active" : ""} ${names}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      style={style}
      onClick={onClick}
    >
      {columns.map((column) => (
        <div key={column.name} role="gridcell" class={column.isNumber ? "clip num" : "clip"} data-column={column.name}>
          {column.cell(row as never, index)}
        </div>
      ))}
    </div>
  );
});

function namesOf<Row>({ rows, isError, classOf }: RowTableProps<Row>, index: number): string {
  const row = rows.get(index);
  if (row === undefined) return "";
  return `${isError?.(row) ? "is-error" : ""} ${classOf?.(row, index) ?? ""}`;
}

type HeadCellProps<Row> = { column: Column<Row>; sort: string | undefined; onSort: ((sort: string) => void) | undefined };

function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>): JSX.Element {
  const by = column.sort;
  const cellClass = column.isNumber ? "clip num" : "clip";
  if (by === undefined || onSort === undefined) {
    return (
      <div role="columnheader" class={cellClass}>
        {column.isMute ? <span class="sr-only">{column.title}</span> : column.title}
      </div>
    );
  }
  const isUp = sort === by;
  const isDown = sort === `-${by}`;
  // Large and slow things first, names and times from the beginning.
  const first = column.isNumber && by !== "time" ? `-${by}` : by;
  const second = first === by ? `-${by}` : by;
  return (
    <div role="columnheader" class={cellClass} aria-sort={isUp ? "ascending" : isDown ? "descending" : "none"}>
      <button type="button" class="sort" onClick={() => onSort(sort === first ? second : first)}>
        {column.title}
        <span aria-hidden="true" class="sort-mark">
          {isUp ? "▲" : isDown ? "▼" : ""}
        </span>
      </button>
    </div>
  );
}
