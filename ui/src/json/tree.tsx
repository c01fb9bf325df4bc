// The tree of a JSON document: lines that open and close, one of which is selected.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { SafeText } from "../text/safe-text";
import { count } from "../text/units";
import { Kind } from "./columns";
import type { JsonDocument } from "./document";
import { preview } from "./format";
import type { TreeRow } from "./tree-rows";

const KIND_NAMES = ["object", "array", "string", "number", "bool", "bool", "null"];
const MAX_INDENT = 40;

type TreeProps = {
  doc: JsonDocument;
  label: string;
  rows: readonly TreeRow[];
  selected: string | null;
  hits: ReadonlySet<number>;
  /** How many characters of a long string are shown. */
  shown: ReadonlyMap<number, number>;
  onSelect(key: string): void;
  onToggle(row: TreeRow, isOpen: boolean): void;
  onShowMore(row: number): void;
};

export function Tree(props: TreeProps): JSX.Element {
  const { rows, selected, label } = props;
  const place = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const at = Math.max(0, rows.findIndex((row) => row.key === selected));

  useLayoutEffect(() => {
    const line = place.current?.children[at];
    if (!(line instanceof HTMLElement) || selected === null) return;
    if (wantsFocus.current) line.focus({ preventScroll: true });
    wantsFocus.current = false;
    line.scrollIntoView({ block: "nearest" });
  }, [selected, rows]);

  const move = (event: KeyboardEvent): void => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!step(event.key, row, at, props)) return;
    wantsFocus.current = true;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="json-tree" role="tree" aria-label={label} ref={place} onKeyDown={move}>
      {rows.map((row, index) => (
        <Line key={row.key} {...props} row={row} isCurrent={index === at} />
      ))}
    </div>
  );
}

/** Handles a key; false if it has no effect here. */
function step(key: string, row: TreeRow, at: number, { rows, doc, onSelect, onToggle }: TreeProps): boolean {
  const select = (index: number): boolean => {
    const wanted = rows[index];
    if (wanted) onSelect(wanted.key);
    return wanted !== undefined;
  };
  const canOpen = row.slice !== null || doc.count(row.row) > 0;
  switch (key) {
    case "ArrowDown":
      return select(at + 1);
    case "ArrowUp":
      return select(at - 1);
    case "Home":
      return select(0);
    case "End":
      return select(rows.length - 1);
    case "ArrowRight":
      if (canOpen && !row.isOpen) onToggle(row, true);
      else if (row.isOpen) select(at + 1);
      return true;
    case "ArrowLeft":
      if (row.isOpen) onToggle(row, false);
      else select(parentIndex(rows, at));
      return true;
    case "Enter":
    case " ":
      if (canOpen) onToggle(row, !row.isOpen);
      return canOpen;
    default:
      return false;
  }
}

function parentIndex(rows: readonly TreeRow[], at: number): number {
  const depth = rows[at]?.depth ?? 0;
  for (let index = at - 1; index >= 0; index -= 1) if ((rows[index]?.depth ?? 0) < depth) return index;
  return at;
}

type LineProps = Omit<TreeProps, "rows"> & { row: TreeRow; isCurrent: boolean };

function Line({ doc, row, isCurrent, selected, hits, shown, onSelect, onToggle, onShowMore }: LineProps): JSX.Element {
  const canOpen = row.slice !== null || doc.count(row.row) > 0;
  const isHit = row.slice === null && hits.has(row.row);
  const click = (): void => {
    onSelect(row.key);
    // Selecting text in a line must not toggle it.
    if (canOpen && document.getSelection()?.isCollapsed !== false) onToggle(row, !row.isOpen);
  };
  const names = ["json-line", row.key === selected && "selected", isHit && "hit", canOpen && "opens"];
  return (
    <div
      class={names.filter(Boolean).join(" ")}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={canOpen ? row.isOpen : undefined}
      aria-selected={row.key === selected}
      tabIndex={isCurrent ? 0 : -1}
      style={{ paddingInlineStart: `${Math.min(row.depth, MAX_INDENT) * 14 + 18}px` }}
      onClick={click}
    >
      {canOpen && (
        <span class="twisty" aria-hidden="true">
          {row.isOpen ? "▾" : "▸"}
        </span>
      )}
      {row.slice !== null ? (
        <span class="json-slice">{`[${row.slice.from} … ${row.slice.to - 1}]`}</span>
      ) : (
        <Value doc={doc} row={row} shown={shown.get(row.row) ?? FIRST_CHARACTERS} onShowMore={onShowMore} />
      )}
    </div>
  );
}

export const FIRST_CHARACTERS = 400;

type ValueProps = { doc: JsonDocument; row: TreeRow; shown: number; onShowMore(row: number): void };

function Value({ doc, row: { row, isOpen, depth }, shown, onShowMore }: ValueProps): JSX.Element {
  const name = depth === 0 ? null : (doc.key(row) ?? doc.indexOf(row));
  return (
    <>
      {name !== null && (
        <span class={typeof name === "string" ? "json-key" : "json-index"}>
          <SafeText text={cut(String(name))} />
          {typeof name === "string" && isRepeated(doc, row, name) && (
            <span class="json-repeated" title="This object contains the name more than once">
              duplicate
            </span>
          )}
          <span class="json-colon">: </span>
        </span>
      )}
      {doc.isContainer(row) ? (
        <Container doc={doc} row={row} isOpen={isOpen} />
      ) : (
        <Scalar doc={doc} row={row} shown={shown} onShowMore={onShowMore} />
      )}
    </>
  );
}

// For objects with many members the check would cost too much on every line.
function isRepeated(doc: JsonDocument, row: number, name: string): boolean {
  const parent = doc.parent(row);
  return doc.count(parent) <= 200 && doc.repeatedKeys(parent).has(name);
}

function Container({ doc, row, isOpen }: { doc: JsonDocument; row: number; isOpen: boolean }): JSX.Element {
  const length = doc.count(row);
  const isObject = doc.kind(row) === Kind.Object;
  if (length === 0) return <span class="json-empty">{isObject ? "{}" : "[]"}</span>;
  const size = isObject ? count(length, "member") : count(length, "element");
  return (
    <>
      {!isOpen && (
        <span class="json-preview">
          <SafeText text={preview(doc, row, 120)} />
        </span>
      )}
      <span class="json-count">{size}</span>
    </>
  );
}

type ScalarProps = { doc: JsonDocument; row: number; shown: number; onShowMore(row: number): void };

function Scalar({ doc, row, shown, onShowMore }: ScalarProps): JSX.Element {
  const [from, to] = doc.span(row);
  const rest = to - from - shown;
  const more = (event: Event): void => {
    event.stopPropagation();
    onShowMore(row);
  };
  return (
    <>
      <span class={`json-value json-${KIND_NAMES[doc.kind(row)]}`}>
        <SafeText text={doc.text.slice(from, rest > 0 ? from + shown : to)} />
      </span>
      {rest > 0 && (
        <button type="button" class="json-more" onClick={more}>
          {`… ${count(rest, "more character")}`}
        </button>
      )}
    </>
  );
}

function cut(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}
