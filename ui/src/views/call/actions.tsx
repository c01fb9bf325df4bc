// The actions of a call: copy it, show its JSON, compare it.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CallDetail, CallRow, TraceCard } from "../../api/types";
import { extract } from "../../json/extract";
import { go, href } from "../../router";
import { ProblemState } from "../../shell/problem";
import { backend } from "../../state/backend";
import { useResource } from "../../state/resource";
import { keys } from "../../state/set";
import { CopyButton } from "../../text/copy";
import { SafeText } from "../../text/safe-text";
import { clock, duration, when } from "../../text/units";
import { Skeleton } from "../parts/states";
import { Status } from "../parts/status";
import { wholeText } from "./payload";

export function CallActions({ detail, isRaw }: { detail: CallDetail; isRaw: boolean }): JSX.Element {
  const { row, request, response, curl } = detail;
  return (
    <div class="call-actions" role="toolbar" aria-label="Call actions">
      <div class="switch" role="group" aria-label="Format">
        <button type="button" aria-pressed={!isRaw} onClick={() => go({ show: "" }, "replace")}>
          Readable
        </button>
        <button type="button" aria-pressed={isRaw} title="Raw JSON (r)" onClick={() => go({ show: "raw" }, "replace")}>
          Raw JSON
        </button>
      </div>
      <CopyButton text={() => wholeText(request, row)}>Copy as JSON-RPC</CopyButton>
      {curl !== null && <CopyButton text={() => curl}>Copy as curl</CopyButton>}
      {response !== null && (
        <CopyButton text={async () => resultOf(await wholeText(response, row))}>
          {row.status === "protocol-error" ? "Copy error" : "Copy result"}
        </CopyButton>
      )}
      <CompareMenu row={row} />
    </div>
  );
}

function resultOf(response: string): string {
  return extract(response, "result") ?? extract(response, "error") ?? response;
}

/** Selects the call or trace to compare with. */
function CompareMenu({ row }: { row: CallRow }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const open = (): void => {
    setOpen(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="button" onClick={open}>
        Compare with…
      </button>
      <dialog
        ref={dialog}
        class="compare-dialog"
        aria-label="Compare this call"
        onClose={() => setOpen(false)}
        onClick={(event) => event.target instanceof HTMLAnchorElement && dialog.current?.close()}
      >
        {isOpen && <Choices row={row} />}
        <form method="dialog">
          <button type="submit" class="button">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
}

type ComparisonChoices = { calls: CallRow[]; traces: TraceCard[] };

function Choices({ row }: { row: CallRow }): JSX.Element {
  const choices = useResource<ComparisonChoices>((signal) => findChoices(row, signal), [row.trace, row.call]);
  if (choices.error !== undefined) return <ProblemState error={choices.error} />;
  if (choices.data === undefined) return <Skeleton label="Loading calls and traces" />;
  const { calls, traces } = choices.data;
  return (
    <>
      <h2>{row.tool === null ? "Another call of this method" : "Another call of this tool"}</h2>
      {calls.length === 0 && <p class="dim">There are no other calls in this trace.</p>}
      <ul class="choices">
        {calls.map((other) => (
          <li key={other.call}>
            <a href={href({ open: `with-${other.call}` })}>{`call ${other.call}`}</a>
            <Status status={other.status} isError={other.isError} isOpen={other.isOpen} code={other.code} />
            <span class="num">{other.latencyUs === null ? "-" : duration(other.latencyUs)}</span>
            <span class="dim">{clock(other.atUs / 1000, Date.now())}</span>
            <span class="dim clip">
              <SafeText text={other.about} />
            </span>
          </li>
        ))}
      </ul>
      {!backend.isReport && <TraceChoices row={row} traces={traces} />}
    </>
  );
}

function TraceChoices({ row, traces }: { row: CallRow; traces: TraceCard[] }): JSX.Element {
  const own = keys.value[row.trace] ?? "";
  return (
    <>
      <h2>Another trace</h2>
      {traces.length === 0 && <p class="dim">There are no other traces on this machine.</p>}
      <ul class="choices">
        {traces.map((trace) => (
          <li key={trace.key}>
            <a href={href({ diff: [trace.key, own], open: `b-${row.call}` })}>
              <SafeText text={trace.label} />
            </a>
            <span class="dim">{trace.startedUs === null ? "" : when(trace.startedUs / 1000, Date.now())}</span>
            <span class="dim clip">
              <SafeText text={trace.file} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

async function findChoices(row: CallRow, signal: AbortSignal): Promise<ComparisonChoices> {
  const filter = row.tool === null ? `method:"${row.method}"` : `tool:"${row.tool}"`;
  const [page, home] = await Promise.all([
    backend.calls(keys.value, { filter, sort: "-time", from: 0, limit: 30 }, signal),
    backend.isReport ? null : backend.home("", signal),
  ]);
  const own = keys.value[row.trace];
  return {
    calls: page.rows.filter((other) => other.trace === row.trace && other.call !== row.call).slice(0, 12),
    traces: (home?.traces ?? []).filter((trace) => trace.key !== own).slice(0, 12),
  };
}
