// A JSON viewer: search, expand and collapse, and copy a value or its path.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../text/copy";
import { SafeText } from "../text/safe-text";
import { number } from "../text/units";
import type { JsonDocument } from "./document";
import { indented } from "./format";
import { jqOf, pointerOf, steps } from "./path";
import { HIT_LIMIT } from "./search";
import { FIRST_CHARACTERS, Tree } from "./tree";
import { keysTo, keysToDepth, treeRows } from "./tree-rows";
import { useSearch } from "./use-search";

const LINES = 1000;
const OPEN_ALL_LIMIT = 2000;
const CHARACTERS = 10_000;
/** A tree with at most this many values has no toolbar. */
const SMALL = 12;

type JsonPanelProps = {
  doc: JsonDocument;
  /** The value to show; the root by default. */
  row?: number;
  label: string;
  /** How many levels are open initially. */
  depth?: number;
  /** Whether the text is known to be truncated, so that its abrupt end is not reported. */
  isCut?: boolean;
};

export function JsonPanel({ doc, row: root = 0, label, depth = 2, isCut = false }: JsonPanelProps): JSX.Element {
  const first = useMemo(() => keysToDepth(doc, root, depth, 200), [doc, root, depth]);
  const [open, setOpen] = useState<ReadonlySet<string>>(first);
  const [selected, setSelected] = useState<string | null>(null);
  const [shown, setShown] = useState<ReadonlyMap<number, number>>(new Map());
  const [limit, setLimit] = useState(LINES);
  const { rows, hasMore } = useMemo(() => treeRows(doc, root, open, limit), [doc, root, open, limit]);
  const search = useSearch(doc, root, (row) => {
    setOpen((old) => new Set([...old, ...keysTo(doc, row)]));
    setSelected(String(row));
  });
  const hits = useMemo(() => new Set(search.hits), [search.hits]);

  const toggle = (key: string, isOpen: boolean): void => {
    const next = new Set(open);
    if (isOpen) next.add(key);
    else next.delete(key);
    setOpen(next);
  };
  const showMore = (row: number): void =>
    setShown((old) => new Map(old).set(row, (old.get(row) ?? FIRST_CHARACTERS) + CHARACTERS));

  const isSmall = doc.after(root) - root <= SMALL;
  return (
    <div class={isSmall ? "json-panel small" : "json-panel"}>
      {!isSmall && (
        <div class="json-tools">
          <SearchBox search={search} label={label} />
          <button type="button" class="button" onClick={() => setOpen(keysToDepth(doc, root, 100, OPEN_ALL_LIMIT))}>
            Expand all
          </button>
          <button type="button" class="button" onClick={() => setOpen(new Set())}>
            Collapse all
          </button>
          <CopyButton text={() => indented(doc, root)}>Copy</CopyButton>
        </div>
      )}
      <PlaceBar doc={doc} selected={selected} />
      {doc.problem !== null && !isCut && (
        <p class="json-problem" role="note">
          {`Not valid JSON: ${doc.problem.message} at character ${number(doc.problem.at + 1)}.`}
        </p>
      )}
      <Tree
        doc={doc}
        label={label}
        rows={rows}
        selected={selected}
        hits={hits}
        shown={shown}
        onSelect={setSelected}
        onToggle={(row, isOpen) => toggle(row.key, isOpen)}
        onShowMore={showMore}
      />
      {hasMore && (
        <button type="button" class="button json-lines-more" onClick={() => setLimit(limit + LINES)}>
          {`Show ${number(LINES)} more lines`}
        </button>
      )}
    </div>
  );
}

/** The path of the selected value, with copy buttons. */
function PlaceBar({ doc, selected }: { doc: JsonDocument; selected: string | null }): JSX.Element | null {
  if (selected === null || selected.includes(":")) return null;
  const row = Number(selected);
  const path = steps(doc, row);
  return (
    <div class="json-place">
      <code class="json-path">
        <SafeText text={pointerOf(path) || "(root)"} />
      </code>
      <CopyButton text={() => indented(doc, row)}>Copy value</CopyButton>
      <CopyButton text={() => pointerOf(path)} title="JSON pointer, as printed by wiretape diff and wiretape lint">
        Copy pointer
      </CopyButton>
      <CopyButton text={() => jqOf(path)} title="Path for jq">
        Copy jq path
      </CopyButton>
    </div>
  );
}

function SearchBox({ search, label }: { search: ReturnType<typeof useSearch>; label: string }): JSX.Element {
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") search.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && search.query !== "") search.ask("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="json-search">
      <input
        type="search"
        class="input"
        placeholder="Search"
        aria-label={`Search in ${label}`}
        value={search.query}
        onInput={(event) => search.ask(event.currentTarget.value)}
        onKeyDown={press}
      />
      <span class="json-hits" aria-live="polite">
        {hitWords(search)}
      </span>
      {search.hits.length > 1 && (
        <>
          <button type="button" class="button icon" aria-label="Previous match" onClick={() => search.step(-1)}>
            ↑
          </button>
          <button type="button" class="button icon" aria-label="Next match" onClick={() => search.step(1)}>
            ↓
          </button>
        </>
      )}
    </div>
  );
}

function hitWords({ query, hits, at, isDone }: ReturnType<typeof useSearch>): string {
  if (query === "") return "";
  if (hits.length === 0) return isDone ? "No matches" : "…";
  return `${number(at + 1)} of ${number(hits.length)}${hits.length >= HIT_LIMIT ? "+" : ""}`;
}
