// One call whole.

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
import { Fetched, Waiting } from "./parts/states";
import { Status } from "./parts/status";

export function CallView(): JSX.Element {
  const { at, call } = route.value;
  const traces = keys.value;
  const trace = change.value?.traces[at];
  // An answered call changes no more, but for what a check finds on it.
  const settled = useRef<string | null>(null);
  const isSettled = settled.current === `${at}-${call}`;
  const resource = useResource<CallDetail | null>(
    async (signal) => (call === null || (traces.length === 0 && !backend.isReport) ? null : backend.call(traces, at, call, signal)),
    [traces, at, call],
    [isSettled ? 0 : (trace?.version ?? 0) + (trace?.calls ?? 0), trace?.lint?.isComplete ?? false],
  );
  const detail = resource.data;
  if (detail && detail.response !== null && detail.next !== null) settled.current = `${at}-${call}`;
  // A call that the reading has not come to yet is no mistake.
  const isReading = traceSet.value?.traces[at]?.progress.isComplete === false;
  if (call !== null && resource.error !== undefined && isReading) return <Waiting label="The trace is being read" />;
  if (call === null) return <EmptyState title="No call is chosen">{<a href={href({ view: "calls" })}>All calls</a>}</EmptyState>;
  return (
    <div class="sheet call-page">
      <Fetched resource={resource} label="Reading the call">
        {(detail) => (detail === null ? <></> : <CallPage key={`${detail.row.trace}-${detail.row.call}`} detail={detail} />)}
      </Fetched>
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
  // Beside a list, the list has these keys.
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
            <NoAnswer detail={detail} />
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

function NoAnswer({ detail: { row } }: { detail: CallDetail }): JSX.Element {
  if (row.isOpen) return <p class="notice" role="status">Not answered yet. The answer appears here when it comes.</p>;
  return <p class="notice warn">There is no answer in this trace.</p>;
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
        {row.latencyUs !== null && <span class="call-took">{duration(row.latencyUs)}</span>}
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
