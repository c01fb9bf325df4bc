// What all servers do: live rates, slow calls, clients, and what servers have changed.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { StoreReport } from "../api/types";
import { perSecond, RateChart } from "../chart/rates";
import { go, route } from "../router";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { number, share } from "../text/units";
import { Section } from "./parts/section";
import { Fetched } from "./parts/states";
import { CallTable, ChangeTable, ClientTable, KindTable } from "./store/tables";

const SPANS: readonly [minutes: number, words: string][] = [
  [5, "5 min"],
  [15, "15 min"],
  [60, "1 h"],
  [1440, "1 day"],
];

export function StoreView(): JSX.Element {
  const minutes = route.value.minutes ?? 15;
  const [tick, setTick] = useState(0);
  const resource = useResource((signal) => backend.store(minutes, signal), [minutes], [tick]);
  // Where there is no store, asking each second makes none.
  useTick(resource.error === undefined, setTick);
  return (
    <Fetched resource={resource} label="Asking the store">
      {(report) => <Store report={report} minutes={minutes} />}
    </Fetched>
  );
}

/** Counts the seconds while the page is seen and somebody answers. */
function useTick(isAnswered: boolean, setTick: (count: (n: number) => number) => void): void {
  useEffect(() => {
    if (!isAnswered) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTick((n) => n + 1);
    }, 1000);
    return () => clearInterval(timer);
  }, [isAnswered, setTick]);
}

function Store({ report, minutes }: { report: StoreReport; minutes: number }): JSX.Element {
  return (
    <div class="sheet store-page">
      <header class="store-head">
        <Figures report={report} />
        <div class="switch" role="group" aria-label="How much time is shown">
          {SPANS.map(([span, words]) => (
            <button type="button" key={span} aria-pressed={span === minutes} onClick={() => go({ view: "store", minutes: span }, "replace")}>
              {words}
            </button>
          ))}
        </div>
      </header>
      <RateChart rates={report.rates} minutes={minutes} />
      <div class="store-columns">
        <Section title="Newest calls">
          <CallTable calls={report.newest} empty="No call in this time." />
        </Section>
        <Section title="Slowest calls">
          <CallTable calls={report.slow} empty="No call in this time." />
        </Section>
      </div>
      <Section title="By server and tool">
        <KindTable rows={report.rows} />
      </Section>
      <div class="store-columns">
        <Section title="Clients">
          <ClientTable clients={report.clients} />
        </Section>
        <Section title="What servers have changed">
          <ChangeTable changes={report.changes} />
        </Section>
      </div>
    </div>
  );
}

function Figures({ report }: { report: StoreReport }): JSX.Element {
  const { calls, errors } = perSecond(report.rates);
  // The newest piece of time is not over, so the one before it is told.
  const at = Math.max(0, calls.length - 2);
  return (
    <dl class="figures">
      <Figure name="calls per second" value={rate(calls[at] ?? 0)} />
      <Figure name="failed per second" value={rate(errors[at] ?? 0)} isBad={(errors[at] ?? 0) > 0} />
      <Figure name="calls" value={number(report.calls)} />
      <Figure name="failed" value={report.calls > 0 ? share(report.errors / report.calls) : "-"} isBad={report.errors > 0} />
    </dl>
  );
}

function rate(value: number): string {
  if (value === 0) return "0";
  if (value < 0.05) return "< 0.1";
  return value < 9.95 ? value.toFixed(1) : number(Math.round(value));
}

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd class={isBad ? "error-text" : undefined}>{value}</dd>
    </div>
  );
}
