// The list of messages, in order: in the Messages view and below the timeline.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MessageRow } from "../../api/types";
import { factsOf } from "../../list/facts";
import { type Reveal, RowTable } from "../../list/row-table";
import { useRows } from "../../list/use-rows";
import { filterText, go, route } from "../../router";
import { EmptyState, LoadingState, ProblemState } from "../../shell/problem";
import { backend } from "../../state/backend";
import { noteNames } from "../../state/names";
import { isLive, isMerged, keys, traceSet, version } from "../../state/set";

import { messageColumns } from "./message-columns";

export type Window = { fromUs: number; toUs: number };

type MessageListProps = {
  onOpen(row: MessageRow): void;
  /** Scrolls to the first message of this time range when it changes. */
  window?: Window | null;
  /** Reports the time range of the visible rows. */
  onSeen?(span: Window): void;
};

export function MessageList({ onOpen, window, onSeen }: MessageListProps): JSX.Element {
  const filter = filterText.value;
  const { line, at, call } = route.value;
  const rows = useRows(
    async (from, limit, signal) => {
      const page = await backend.messages(keys.value, { filter, from, limit }, signal);
      noteNames(page.rows);
      return page;
    },
    [keys.value, filter],
    [version.value],
  );
  const [active, setActive] = useState<number | null>(null);
  const [reveal, setReveal] = useState<Reveal | null>(null);
  useEffect(() => setActive(null), [rows]);

  const show = (index: number, place: Reveal["place"]): void => {
    setReveal((old) => ({ index, place, wish: (old?.wish ?? 0) + 1 }));
  };
  useEffect(() => {
    if (line === null || !rows.isKnown) return;
    const controller = new AbortController();
    backend.position(keys.value, { at, line, filter }, controller.signal).then(
      (index) => {
        if (controller.signal.aborted) return;
        setActive(index);
        show(index, "middle");
      },
      () => undefined,
    );
    return () => controller.abort();
  }, [line, at, rows, rows.isKnown]);
  useEffect(() => {
    if (window == null || rows.total === 0) return;
    let isStale = false;
    void firstSince(rows.total, window.fromUs, async (index) => (await rows.load(index))?.atUs).then((index) => {
      if (!isStale) show(index, "top");
    });
    return () => {
      isStale = true;
    };
  }, [rows, window?.fromUs, window?.toUs, rows.total > 0]);

  const fromUs = traceSet.value?.fromUs ?? 0;
  const columns = useMemo(() => messageColumns(isMerged.value, fromUs), [isMerged.value, fromUs]);
  if (rows.error !== undefined && !rows.isKnown) return <ProblemState error={rows.error} retry={() => rows.refresh()} />;
  return (
    <section class="split-main" aria-label="Messages">
      <p class="list-facts" role="status">
        {factsOf(rows, "message")}
      </p>
      {!rows.isKnown ? (
        <LoadingState what="Loading messages" />
      ) : rows.total === 0 ? (
        <NoMessages all={rows.all} />
      ) : (
        <RowTable
          id="message"
          label="Messages"
          columns={columns}
          rows={rows}
          active={active}
          onActive={setActive}
          onOpen={onOpen}
          classOf={(row) => `${row.kind} ${classOf(row, window ?? null, call, at)}`}
          isError={(row) => row.isError}
          follows={isLive.value && window == null}
          reveal={reveal}
          onSeen={(first, last) => {
            const [begin, end] = [rows.get(first), rows.get(last - 1)];
            if (begin !== undefined && end !== undefined) onSeen?.({ fromUs: begin.atUs, toUs: end.atUs });
          }}
        />
      )}
    </section>
  );
}

function classOf(row: MessageRow, window: Window | null, call: number | null, at: number): string {
  const isInside = window !== null && row.atUs >= window.fromUs && row.atUs <= window.toUs;
  const isOpen = call !== null && row.call === call && row.trace === at;
  return `${isInside ? "in-window" : ""} ${isOpen ? "open" : ""}`;
}

/** The index of the first row at or after a time. A binary search over rows in time order, so that few pages are fetched. */
export async function firstSince(
  total: number,
  us: number,
  timeOf: (index: number) => Promise<number | undefined>,
): Promise<number> {
  let low = 0;
  let high = total;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const time = await timeOf(middle);
    if (time === undefined) return low;
    if (time < us) low = middle + 1;
    else high = middle;
  }
  return Math.min(low, Math.max(0, total - 1));
}

function NoMessages({ all }: { all: number }): JSX.Element {
  if (all === 0) return <EmptyState title="Nothing recorded yet." />;
  return (
    <EmptyState title="No messages match this filter.">
      <button type="button" onClick={() => go({ filter: "" })}>
        Clear filter
      </button>
    </EmptyState>
  );
}
