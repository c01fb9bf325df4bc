// The columns of the list of calls.

import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CallRow } from "../../api/types";
import type { Column } from "../../list/row-table";
import { timeOfDay } from "../../list/time";
import { labelOf } from "../../state/set";
import { SafeText } from "../../text/safe-text";
import { bytes, duration, local } from "../../text/units";
import { statusMeaning } from "../../text/words";
import { type TimeSpan, WaterfallBar } from "./waterfall";

export function callColumns(isMerged: boolean, span: ReadonlySignal<TimeSpan | null>): Column<CallRow>[] {
  const columns: (Column<CallRow> | false)[] = [
    { name: "call", title: "Call", width: "58px", isNumber: true, cell: (row) => row.call },
    {
      name: "time",
      title: "Time",
      width: "104px",
      sort: "time",
      from: 620,
      cell: (row) => <span class="num dim" title={local(row.atUs / 1000)}>{timeOfDay(row.atUs)}</span>,
    },
    isMerged && {
      name: "server",
      title: "Server",
      width: "minmax(70px, 110px)",
      from: 540,
      cell: (row) => (
        <>
          <span class={`lane-dot lane-${row.trace % 6}`} aria-hidden="true" />
          <SafeText text={labelOf(row.trace)} />
        </>
      ),
    },
    { name: "name", title: "Tool or method", width: "minmax(160px, 3fr)", sort: "name", cell: (row) => <CallName row={row} /> },
    { name: "status", title: "Status", width: "minmax(104px, 0.9fr)", sort: "status", cell: (row) => <Status row={row} /> },
    {
      name: "duration",
      title: "Duration",
      width: "74px",
      sort: "latency",
      isNumber: true,
      cell: (row) => (row.latencyUs === null ? <span class="dim">{row.isOpen ? "…" : "–"}</span> : duration(row.latencyUs)),
    },
    {
      name: "waterfall",
      title: "Waterfall",
      width: "minmax(110px, 2fr)",
      from: 760,
      cell: (row) => <WaterfallBar row={row} span={span} />,
    },
    {
      name: "request",
      title: "Request",
      width: "78px",
      sort: "request",
      isNumber: true,
      from: 900,
      cell: (row) => bytes(row.requestBytes),
    },
    {
      name: "response",
      title: "Response",
      width: "84px",
      sort: "response",
      isNumber: true,
      from: 820,
      cell: (row) => (row.responseBytes === null ? <span class="dim">–</span> : bytes(row.responseBytes)),
    },
  ];
  return columns.filter((column) => column !== false);
}

function CallName({ row }: { row: CallRow }): JSX.Element {
  return (
    <>
      {row.parent !== null && <span class="nested-mark" aria-label={`during call ${row.parent}`} />}
      {row.direction === "out" && (
        <span class="dir-out" title="Sent by the server">
          ←{" "}
        </span>
      )}
      <strong class="call-name">
        <SafeText text={row.tool ?? row.method} />
      </strong>{" "}
      <span class="dim">
        <SafeText text={row.about} />
      </span>
    </>
  );
}

function Status({ row }: { row: CallRow }): JSX.Element {
  if (row.isOpen) return <span class="outcome open" title={statusMeaning("pending")}>pending…</span>;
  const kind = row.isError ? "error" : row.status === "ok" ? "ok" : "warn";
  return (
    <span class={`outcome ${kind}`} title={statusMeaning(row.status)}>
      {row.status}
      {row.code !== null && ` ${row.code}`}
    </span>
  );
}
