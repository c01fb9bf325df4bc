// One call: request, response, timing, and everything that belongs to it.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { CallDetail } from "../api/types";
import { useKeys } from "../keys";
import { go, href, route } from "../router";
import { EmptyState } from "../shell/problem";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { change, isMerged, keys, labelOf, traceSet } from "../state/set";
import { SafeText } from "../text/safe-text";
import { duration } from "../text/units";
import { arrow, directionWords } from "../text/words";
import { CallActions } from "./call/actions";
import { CompareCalls } from "./call/compare";
import { Findings } from "./call/findings";
import { HttpExchange } from "./call/http";
import { MeanwhileList, Nested, Operation } from "./call/meanwhile";
import { PayloadSection } from "./call/payload";
import { Timing } from "./call/timing";
import { callHref, callName } from "./parts/links";
import { ResourceView, Skeleton } from "./parts/states";
import { Status } from "./parts/status";
import { StderrTail } from "./parts/stderr-tail";

export function CallView(): JSX.Element {
  const { at, call } = route.value;
  const traces = keys.value;
  const trace = change.value?.traces[at];
  // A finished call no longer changes, except for lint findings.
  const settled = useRef<string | null>(null);
  const isSettled = settled.current === `${at}-${call}`;
  const resource = useResource<CallDetail | null>(
    async (signal) => (call === null || (traces.length === 0 && !backend.isReport) ? null : backend.call(traces, at, call, signal)),
    [traces, at, call],
    [isSettled ? 0 : (trace?.version ?? 0) + (trace?.calls ?? 0), trace?.lint?.isComplete ?? false],
  );
  const detail = resource.data;
  if (detail && detail.response !== null && detail.next !== null) settled.current = `${at}-${call}`;
  // While the trace is still being read, a missing call is not an error.
  const isReading = traceSet.value?.traces[at]?.progress.isComplete === false;
  if (call !== null && resource.error !== undefined && isReading) return <Skeleton label="Reading the trace" />;
  if (call === null) return <EmptyState title="No call selected.">{<a href={href({ view: "calls" })}>All calls</a>}</EmptyState>;
  return (
    <div class="sheet call-page">
      <ResourceView resource={resource} label="Loading the call">
        {(detail) => (detail === null ? <></> : <CallPage key={`${detail.row.trace}-${detail.row.call}`} detail={detail} />)}
      </ResourceView>
    </div>
  );
}

function CallPage({ detail }: { detail: CallDetail }): JSX.Element {
  const isRaw = route.value.show === "raw";
  const other = /^with-(\d+)$/.exec(route.value.open)?.[1];
  const { row, previous, next } = detail;
  const move = (call: number | null): void => {
    if (call !== null) go({ at: row.trace, call, open: "" });
  };
  const raw = { r: () => go({ show: isRaw ? "" : "raw" }, "replace") };
  // Beside a list, these keys belong to the list.
  const alone = {
    "[": () => move(previous),
    "]": () => move(next),
    k: () => move(previous),
    j: () => move(next),
    Escape: () => (other === undefined ? go({ view: "calls" }) : go({ open: "" })),
  };
  useKeys(route.value.view === "call" ? { ...raw, ...alone } : raw);
  return (
    <>
      <CallHead detail={detail} isRaw={isRaw} />
      {other !== undefined && <CompareCalls detail={detail} other={Number(other)} />}
      <div class="call-columns">
        <div class="call-main">
          <PayloadSection payload={detail.request} row={row} side="request" isRaw={isRaw} />
          {detail.response !== null ? (
            <PayloadSection payload={detail.response} row={row} side="response" isRaw={isRaw} />
          ) : (
            <NoResponse detail={detail} />
          )}
        </div>
        <div class="call-side">
          <Timing detail={detail} />
          <MeanwhileList detail={detail} />
          <Nested detail={detail} />
          <Operation detail={detail} />
          <Findings detail={detail} />
          <HttpExchange http={detail.http} />
        </div>
      </div>
    </>
  );
}

function NoResponse({ detail: { row } }: { detail: CallDetail }): JSX.Element {
  if (row.isOpen) return <p class="notice" role="status">No response yet. It appears here when it arrives.</p>;
  if (row.status === "crashed") return <CrashNotice at={row.trace} />;
  return <p class="notice warn">This trace has no response to this call.</p>;
}

/** The server died while the call was in flight. */
function CrashNotice({ at }: { at: number }): JSX.Element {
  const trace = traceSet.value?.traces[at];
  const lines = trace?.failure?.lastStderr ?? [];
  const how = trace?.failure == null ? "crashed" : trace.stateText;
  return (
    <div class="notice error" role="status">
      <p>
        <SafeText text={`The server ${how} before it responded.`} />
        {lines.length > 0 && " Its last lines on standard error:"}
      </p>
      {lines.length > 0 && <StderrTail lines={lines} />}
    </div>
  );
}

function CallHead({ detail, isRaw }: { detail: CallDetail; isRaw: boolean }): JSX.Element {
  const { row, previous, next } = detail;
  const facts = useMemo(
    () =>
      [row.tool === null ? null : row.method, directionWords(row.direction), row.id === null ? null : `id ${row.id}`, row.session === null ? null : `session ${row.session}`].filter(
        (fact) => fact !== null,
      ),
    [row],
  );
  return (
    <header class="call-head">
      <div class="call-title">
        <Step to={previous} words="Previous call" sign="‹" at={row.trace} />
        <Step to={next} words="Next call" sign="›" at={row.trace} />
        <span class="call-number dim">{`call ${row.call}`}</span>
        <h2>
          <span class={`dir-${row.direction}`} aria-hidden="true">{`${arrow(row.direction)} `}</span>
          <SafeText text={callName(row)} />
        </h2>
        <Status status={row.status} isError={row.isError} isOpen={row.isOpen} code={row.code} />
        {row.latencyUs !== null && <span class="call-duration">{duration(row.latencyUs)}</span>}
      </div>
      <p class="call-facts dim">
        {isMerged.value && <SafeText text={`${labelOf(row.trace)} · `} />}
        <SafeText text={facts.join(" · ")} />
      </p>
      <CallActions detail={detail} isRaw={isRaw} />
    </header>
  );
}

type StepProps = { to: number | null; words: string; sign: string; at: number };

function Step({ to, words, sign, at }: StepProps): JSX.Element {
  if (to === null) {
    return (
      <span class="button icon is-disabled" aria-hidden="true">
        {sign}
      </span>
    );
  }
  return (
    <a class="button icon" href={callHref(at, to)} aria-label={words} title={words}>
      {sign}
    </a>
  );
}
