// The lines of the trace file, exactly as recorded.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RawLine } from "../api/types";
import { type Column, RowTable } from "../list/row-table";
import { useRows } from "../list/use-rows";
import { useKeys } from "../keys";
import { go, href, route } from "../router";
import { EmptyState, LoadingState, ProblemState } from "../shell/problem";
import { backend } from "../state/backend";
import { isLive, keys, traceSet, version } from "../state/set";
import { SafeText } from "../text/safe-text";
import { bytes, count } from "../text/units";
import { RawPanel } from "./parts/raw-panel";

/** How many characters of a line the list shows. */
const SHOWN_CHARS = 2000;

const COLUMNS: Column<RawLine>[] = [
  { name: "line", title: "Line", width: "74px", isNumber: true, cell: (row) => <span class="dim">{row.line}</span> },
  {
    name: "text",
    title: "Text",
    width: "minmax(200px, 1fr)",
    cell: (row) => (
      <code class="raw-line">
        <SafeText text={row.text.slice(0, SHOWN_CHARS)} />
      </code>
    ),
  },
  { name: "bytes", title: "Size", width: "74px", isNumber: true, from: 560, cell: (row) => bytes(row.bytes) },
];

export function RawView(): JSX.Element {
  const { at, line } = route.value;
  const rows = useRows(
    async (from, limit, signal) => {
      const page = await backend.raw(keys.value, at, { from, limit }, signal);
      return { total: page.total, rows: page.lines };
    },
    [keys.value, at],
    [version.value],
  );
  const [active, setActive] = useState<number | null>(null);
  const reveal = useMemo(() => (line === null ? null : ({ index: line - 1, wish: line, place: "middle" } as const)), [line]);
  useEffect(() => {
    if (line !== null) setActive(line - 1);
  }, [line]);
  const moveTo = (index: number): void => {
    setActive(index);
    if (line !== null) go({ line: index + 1 }, "replace");
  };
  useKeys({
    ...(line === null ? {} : { Escape: () => go({ line: null }) }),
  });
  if (rows.error !== undefined && !rows.isKnown) return <ProblemState error={rows.error} retry={() => rows.refresh()} />;
  return (
    <div class={line === null ? "split" : "split has-panel"}>
      <section class="split-main" aria-label="Lines">
        <div class="list-facts">
          <FilePicker />
          <span role="status">{count(rows.total, "line")}</span>
        </div>
        {!rows.isKnown ? (
          <LoadingState what="Loading lines" />
        ) : rows.total === 0 ? (
          <EmptyState title="Nothing recorded yet." />
        ) : (
          <RowTable
            id="line"
            label="Lines"
            columns={COLUMNS}
            rows={rows}
            active={active}
            onActive={moveTo}
            onOpen={(row) => go({ line: row.line }, line === null ? "push" : "replace")}
            follows={isLive.value && line === null}
            reveal={reveal}
          />
        )}
      </section>
      {line !== null && <RawPanel at={at} line={line} />}
    </div>
  );
}

/** Selects one of several files. */
function FilePicker(): JSX.Element | null {
  const traces = traceSet.value?.traces ?? [];
  const { at } = route.value;
  if (traces.length < 2) return <span class="dim">{traces[0] && <SafeText text={traces[0].file} />}</span>;
  return (
    <nav class="file-picker" aria-label="Files">
      {traces.map((trace, index) => (
        <a key={trace.key} href={href({ at: index, line: null })} aria-current={index === at ? "true" : undefined}>
          <SafeText text={trace.file} />
        </a>
      ))}
    </nav>
  );
}
