// The columns of the list of traces.

import type { JSX } from "preact";
import type { TraceCard } from "../../api/types";
import type { Column } from "../../list/row-table";
import { SafeText } from "../../text/safe-text";
import { bytes, duration, local, number, when } from "../../text/units";
import { visible } from "../../text/visible";

export function traceColumns(selected: readonly string[], toggle: (key: string) => void): Column<TraceCard>[] {
  return [
    {
      name: "mark",
      title: "Select",
      isMute: true,
      width: "34px",
      cell: (trace) => (
        <input
          type="checkbox"
          aria-label={`Select ${trace.label}`}
          checked={selected.includes(trace.key)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => toggle(trace.key)}
        />
      ),
    },
    { name: "label", title: "Trace", width: "minmax(150px, 2fr)", cell: (trace) => <Name trace={trace} /> },
    { name: "server", title: "Server", width: "minmax(110px, 1.4fr)", from: 760, cell: (trace) => <NameOrUnknown text={trace.server} /> },
    { name: "client", title: "Client", width: "minmax(110px, 1.2fr)", from: 980, cell: (trace) => <NameOrUnknown text={trace.client} /> },
    {
      name: "started",
      title: "Started",
      width: "110px",
      from: 420,
      cell: (trace) =>
        trace.startedUs === null ? (
          <span class="dim">unknown</span>
        ) : (
          <time title={local(trace.startedUs / 1000)}>{when(trace.startedUs / 1000, Date.now())}</time>
        ),
    },
    {
      name: "duration",
      title: "Duration",
      width: "84px",
      isNumber: true,
      from: 680,
      cell: (trace) => (trace.durationUs === null ? <span class="dim">–</span> : duration(trace.durationUs)),
    },
    { name: "calls", title: "Calls", width: "80px", isNumber: true, cell: (trace) => amount(trace.calls) },
    {
      name: "errors",
      title: "Errors",
      width: "72px",
      isNumber: true,
      cell: (trace) => <span class={trace.errors ? "error-text" : "dim"}>{amount(trace.errors)}</span>,
    },
    { name: "bytes", title: "Size", width: "80px", isNumber: true, from: 860, cell: (trace) => bytes(trace.bytes) },
  ];
}

function Name({ trace }: { trace: TraceCard }): JSX.Element {
  return (
    <>
      <strong>
        <SafeText text={trace.label} />
      </strong>{" "}
      <TraceBadge trace={trace} />
      <Detail trace={trace} />
    </>
  );
}

/** The file's name; of a server that failed, its last words. */
function Detail({ trace }: { trace: TraceCard }): JSX.Element {
  const words = trace.failure?.lastStderr ?? [];
  const last = words.at(-1);
  if (last === undefined) {
    return (
      <span class="trace-file dim">
        <SafeText text={trace.file} />
      </span>
    );
  }
  return (
    <span class="trace-file error-text" title={words.map((line) => visible(line)).join("\n")}>
      <SafeText text={last} />
    </span>
  );
}

function TraceBadge({ trace }: { trace: TraceCard }): JSX.Element | null {
  if (trace.state === "running") return <span class="badge live">live</span>;
  if (trace.state === "no-end") return <span class="badge warn">cut off</span>;
  if (trace.state === "rotated") return <span class="badge info">continues</span>;
  if (trace.stateText === "" || trace.stateText === "exit 0") return null;
  return (
    <span class={trace.failure === null ? "badge" : "badge error"}>
      <SafeText text={trace.stateText} />
    </span>
  );
}

function NameOrUnknown({ text }: { text: string | null }): JSX.Element {
  return text === null ? <span class="dim">unknown</span> : <SafeText text={text} />;
}

function amount(value: number | null): string {
  return value === null ? "–" : number(value);
}
