// The columns of the list of messages.

import type { JSX } from "preact";
import type { LineKind, MessageRow } from "../../api/types";
import type { Column } from "../../list/row-table";
import { timeOfDay } from "../../list/time";
import { labelOf } from "../../state/set";
import { SafeText } from "../../text/safe-text";
import { bytes, local } from "../../text/units";

const KIND_LABELS: Record<LineKind, string> = {
  meta: "start",
  request: "request",
  response: "response",
  notification: "notification",
  batch: "batch",
  odd: "not JSON-RPC",
  text: "not JSON",
  stderr: "stderr",
  http: "HTTP",
  gap: "lost",
  rotated: "continues",
  end: "end",
  unknown: "unknown",
  damaged: "damaged",
  stream: "stream event",
};

export function messageColumns(isMerged: boolean, fromUs: number): Column<MessageRow>[] {
  const columns: (Column<MessageRow> | false)[] = [
    { name: "line", title: "Line", width: "74px", isNumber: true, cell: (row) => <span class="dim">{row.line}</span> },
    {
      name: "time",
      title: "Time",
      width: "104px",
      from: 700,
      cell: (row) => <span class="num dim" title={local(row.atUs / 1000)}>{timeOfDay(row.atUs)}</span>,
    },
    {
      name: "offset",
      title: "Offset",
      width: "84px",
      isNumber: true,
      from: 480,
      cell: (row) => <span class="dim">+{((row.atUs - fromUs) / 1e6).toFixed(3)}s</span>,
    },
    isMerged && {
      name: "server",
      title: "Server",
      width: "minmax(70px, 110px)",
      from: 560,
      cell: (row) => (
        <>
          <span class={`lane-dot lane-${row.trace % 6}`} aria-hidden="true" />
          <SafeText text={labelOf(row.trace)} />
        </>
      ),
    },
    { name: "dir", title: "Direction", isMute: true, width: "24px", cell: (row) => <Arrow row={row} /> },
    {
      name: "kind",
      title: "Kind",
      width: "92px",
      from: 640,
      cell: (row) => <span class={`kind kind-${row.kind}`}>{KIND_LABELS[row.kind]}</span>,
    },
    { name: "what", title: "Message", width: "minmax(150px, 1fr)", cell: (row) => <MessageSummary row={row} /> },
    { name: "bytes", title: "Size", width: "74px", isNumber: true, from: 560, cell: (row) => bytes(row.bytes) },
  ];
  return columns.filter((column) => column !== false);
}

function Arrow({ row }: { row: MessageRow }): JSX.Element | null {
  if (row.direction === "in") {
    return (
      <span class="dir-in" title="Client to server">
        →
      </span>
    );
  }
  if (row.direction === "out") {
    return (
      <span class="dir-out" title="Server to client">
        ←
      </span>
    );
  }
  return null;
}

function MessageSummary({ row }: { row: MessageRow }): JSX.Element {
  const isCall = row.kind === "request" || row.kind === "response";
  const name = isCall ? (row.tool ?? row.method) : row.method;
  return (
    <>
      {name !== null && (
        <strong class="call-name">
          <SafeText text={name} />
        </strong>
      )}
      {row.id !== null && (
        <span class="dim">
          {" "}
          #<SafeText text={row.id} />
        </span>
      )}{" "}
      {row.status !== null && row.status !== "ok" && (
        <span class={`outcome ${row.isError ? "error" : "warn"}`}>{row.status} </span>
      )}
      <span class={row.kind === "stderr" ? "stderr-text" : "dim"}>
        {!isCall && row.tool !== null && (
          <>
            <SafeText text={row.tool} />{" "}
          </>
        )}
        <SafeText text={row.about} />
      </span>
    </>
  );
}
