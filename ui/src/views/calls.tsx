// The list of calls, like the network panel of a browser, with the open call beside it.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CallRow } from "../api/types";
import type { PagedRows } from "../list/pages";
import { factsOf } from "../list/facts";
import { RowTable } from "../list/row-table";
import { useOpen } from "../list/use-open";
import { useRows } from "../list/use-rows";
import { useKeys } from "../keys";
import { filterText, go, route } from "../router";
import { EmptyState, LoadingState, ProblemState } from "../shell/problem";
import { backend } from "../state/backend";
import { noteNames } from "../state/names";
import { isLive, isMerged, keys, version } from "../state/set";
import { CallPanel } from "./parts/call-panel";
import { callColumns } from "./parts/call-columns";
import { spanOf, type TimeSpan } from "./parts/waterfall";

export function CallsView(): JSX.Element {
  const { sort, call, at } = route.value;
  const filter = filterText.value;
  const rows = useRows(
    async (from, limit, signal) => {
      const page = await backend.calls(keys.value, { filter, sort, from, limit }, signal);
      noteNames(page.rows);
      return page;
    },
    [keys.value, filter, sort],
    [version.value],
  );
  const [active, setActive] = useState<number | null>(null);
  const seen = useRef<[number, number]>([0, 0]);

  useEffect(() => setActive(null), [rows]);
  // A call opened by its address or by another view becomes the active row of the keyboard.
  useEffect(() => {
    if (call === null || isRow(rows.get(active ?? -1), call, at)) return;
    const found = rows.find((row) => isRow(row, call, at));
    if (found !== null) setActive(found);
  }, [call, at, rows, rows.total]);

  // The waterfall spans the visible rows. A signal, so that scrolling redraws the bars only.
  const span = useSignal<TimeSpan | null>(null);
  const measure = (): void => {
    const next = spanOf(rowsBetween(rows, ...seen.current));
    if (next?.fromUs !== span.peek()?.fromUs || next?.toUs !== span.peek()?.toUs) span.value = next;
  };
  useEffect(measure);
  const columns = useMemo(() => callColumns(isMerged.value, span), [isMerged.value]);

  const open = (row: CallRow): void => go({ call: row.call, at: row.trace }, call === null ? "push" : "replace");
  // With the panel closed, moving by keys opens nothing, not even a row that was still loading.
  const openAt = useOpen(rows, call === null ? null : active, open);
  const moveTo = (index: number): void => {
    setActive(index);
    if (call !== null) openAt(index);
  };
  useKeys({
    "]": () => moveTo(Math.min(rows.total - 1, (active ?? -1) + 1)),
    "[": () => moveTo(Math.max(0, (active ?? 1) - 1)),
  });

  if (rows.error !== undefined && !rows.isKnown) return <ProblemState error={rows.error} retry={() => rows.refresh()} />;
  return (
    <div class={call === null ? "split" : "split has-panel"}>
      <section class="split-main" aria-label="Calls">
        <p class="list-facts" role="status">
          {factsOf(rows, "call")}
        </p>
        {!rows.isKnown ? (
          <LoadingState what="Loading calls" />
        ) : rows.total === 0 ? (
          <NoCalls all={rows.all} />
        ) : (
          <RowTable
            id="call"
            label="Calls"
            columns={columns}
            rows={rows}
            active={active}
            onActive={moveTo}
            onOpen={open}
            classOf={(row) => (isRow(row, call, at) ? "open" : "")}
            isError={(row) => row.isError}
            sort={sort === "" ? "time" : sort}
            onSort={(next) => go({ sort: next === "time" ? "" : next })}
            follows={isLive.value && (sort === "" || sort === "time")}
            onSeen={(first, last) => {
              seen.current = [first, last];
              measure();
            }}
          />
        )}
      </section>
      {call !== null && <CallPanel />}
    </div>
  );
}

function rowsBetween(rows: PagedRows<CallRow>, first: number, last: number): CallRow[] {
  const found: CallRow[] = [];
  for (let index = first; index < last; index++) {
    const row = rows.get(index);
    if (row !== undefined) found.push(row);
  }
  return found;
}

function isRow(row: CallRow | undefined, call: number | null, at: number): boolean {
  return row !== undefined && row.call === call && row.trace === at;
}

function NoCalls({ all }: { all: number }): JSX.Element {
  if (all > 0) {
    return (
      <EmptyState title="No calls match this filter.">
        <button type="button" onClick={() => go({ filter: "" })}>
          Clear filter
        </button>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={isLive.value ? "No calls yet." : "There are no calls in this trace."}>
      <p>{isLive.value ? "Calls appear here as they happen." : "Messages and Raw show everything that was recorded."}</p>
    </EmptyState>
  );
}
