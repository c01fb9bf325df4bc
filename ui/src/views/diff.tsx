// Two traces side by side.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DiffReport } from "../api/types";
import { useKeys } from "../keys";
import { go, href, route } from "../router";
import { EmptyState } from "../shell/problem";
import { usePolling } from "../state/polling";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { keys, traceSet, version } from "../state/set";
import { SafeText } from "../text/safe-text";
import { number, when } from "../text/units";
import { Definitions } from "./diff/definitions";
import { allRows, type DiffStatus, STATUSES, statusesOf, statusText, toggled, withGaps } from "./diff/gaps";
import { findRow, showRow } from "./diff/find";
import { Gap, type Pair, Row } from "./diff/rows";
import { Section } from "./parts/section";
import { ResourceView, ProgressLine } from "./parts/states";

const STEP = 300;

export function DiffView(): JSX.Element {
  const [a = "", b = ""] = keys.value;
  const statuses = statusesOf(route.value.status);
  const status = STATUSES.filter((one) => statuses.includes(one)).join(",");
  const [limit, setLimit] = useState(STEP);
  useEffect(() => setLimit(STEP), [a, b, status]);
  const resource = useResource(
    (signal) => backend.diff(a, b, { status, from: 0, limit }, signal),
    [a, b],
    [status, limit, version.value],
  );
  usePolling(resource, (report) => report.progress.isComplete);
  useCallRow(a, b, resource.data?.progress.isComplete ?? false);
  return (
    <div class="sheet diff-page">
      <Heads />
      <ResourceView resource={resource} label="Comparing the traces">
        {(report) => <Report report={report} pair={{ a, b }} statuses={statuses} onMore={() => setLimit(limit + STEP)} />}
      </ResourceView>
    </div>
  );
}

/** Scrolls to the row of a call of B (`open=b-12`), where a link from that call points. */
function useCallRow(a: string, b: string, isReady: boolean): void {
  const wanted = /^b-(\d+)$/.exec(route.value.open)?.[1];
  useEffect(() => {
    if (wanted === undefined || !isReady) return undefined;
    const controller = new AbortController();
    const call = Number(wanted);
    findRow(a, b, (row) => row.b?.call === call, controller.signal).then(
      (row) => (row === null ? go({ open: "" }, "replace") : showRow(row)),
      () => undefined,
    );
    return () => controller.abort();
  }, [a, b, wanted, isReady]);
}

function Heads(): JSX.Element {
  const traces = traceSet.value?.traces ?? [];
  const [a, b] = route.value.diff ?? ["", ""];
  return (
    <header class="diff-heads">
      {traces.slice(0, 2).map((trace, index) => (
        <p key={index} class="diff-trace">
          <span class={index === 0 ? "diff-letter diff-removed" : "diff-letter diff-added"}>{index === 0 ? "A" : "B"}</span>
          <a href={href({ trace: [index === 0 ? a : b] })}>
            <SafeText text={trace.label} />
          </a>
          <span class="dim clip">
            <SafeText text={`${when(trace.startedUs / 1000, Date.now())} · ${trace.file}`} />
          </span>
        </p>
      ))}
      <a class="button" href={href({ diff: [b, a] })}>
        Swap
      </a>
    </header>
  );
}

type ReportProps = { report: DiffReport; pair: Pair; statuses: DiffStatus[]; onMore(): void };

function Report({ report, pair, statuses, onMore }: ReportProps): JSX.Element {
  const { rows, total, progress } = report;
  const isWhole = rows.length >= total;
  const hidesSame = !statuses.includes("same") && statuses.length === 3;
  const move = (by: number): void => {
    const at = rows.findIndex((row) => String(row.row) === route.peek().open);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    if (next === undefined) return;
    go({ open: String(next.row) }, "replace");
    requestAnimationFrame(() => document.getElementById(`diff-${next.row}`)?.scrollIntoView({ block: "nearest" }));
  };
  useKeys({ j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), Escape: () => go({ open: "" }, "replace") });
  if (!progress.isComplete) return <ProgressLine progress={progress} words="Reading both traces" />;
  return (
    <>
      <Summary report={report} pair={pair} statuses={statuses} />
      <Definitions changes={report.definitions} />
      <Section title="Calls" aside={<span class="dim">before · after</span>}>
        {total === 0 && hidesSame && <AllSame report={report} />}
        <ol class="diff-rows">
          {withGaps(rows, allRows(report), isWhole).map((item) =>
            item.kind === "row" ? (
              <Row key={`row-${item.row.row}`} row={item.row} pair={pair} />
            ) : (
              <Gap key={`gap-${item.from}`} {...item} pair={pair} isSame={hidesSame} />
            ),
          )}
        </ol>
        {!isWhole && (
          <button type="button" class="button" onClick={onMore}>
            {`Show more (${number(total - rows.length)})`}
          </button>
        )}
      </Section>
    </>
  );
}

function AllSame({ report }: { report: DiffReport }): JSX.Element {
  if (report.same === 0) return <EmptyState title="There are no calls in either trace." />;
  return (
    <EmptyState title="All calls are the same.">
      <p>Requests and responses are identical, apart from values that differ on every run.</p>
    </EmptyState>
  );
}

function Summary({ report, pair, statuses }: Omit<ReportProps, "onMore">): JSX.Element {
  const toggle = (status: DiffStatus): void => go({ status: statusText(toggled(statuses, status)) }, "replace");
  return (
    <div class="diff-summary">
      <div class="diff-filter" role="group" aria-label="Filter calls">
        {STATUSES.map((status) => (
          <button type="button" key={status} class={`chip is-${status}`} aria-pressed={statuses.includes(status)} onClick={() => toggle(status)}>
            <strong class="num">{number(report[status])}</strong>
            {status}
          </button>
        ))}
      </div>
      <PaceButton pair={pair} pace="slower" calls={report.slower} />
      <PaceButton pair={pair} pace="faster" calls={report.faster} />
    </div>
  );
}

/** Goes to the next slower or faster call. */
function PaceButton({ pair, pace, calls }: { pair: Pair; pace: "slower" | "faster"; calls: number }): JSX.Element | null {
  if (calls === 0) return null;
  const next = async (): Promise<void> => {
    const at = Number(route.peek().open || -1);
    const found =
      (await findRow(pair.a, pair.b, (row) => row.pace === pace && row.row > at)) ??
      (await findRow(pair.a, pair.b, (row) => row.pace === pace));
    if (found) showRow(found);
  };
  return (
    <button type="button" class="chip" title={`Go to the next ${pace} call`} onClick={() => void next().catch(() => undefined)}>
      <strong class="num">{number(calls)}</strong>
      {`${pace} ↓`}
    </button>
  );
}
