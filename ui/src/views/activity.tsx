// The activity of all recorded servers, from the store: live rates, slow calls, clients and schema changes.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { StoreReport } from "../api/types";
import { perSecond, RateChart } from "../chart/rates";
import { go, route } from "../router";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { useTick } from "../state/tick";
import { number, share } from "../text/units";
import { Section } from "./parts/section";
import { ResourceView } from "./parts/states";
import { CallTable, ChangeTable, ClientTable, KindTable } from "./activity/tables";

const SPANS: readonly [minutes: number, words: string][] = [
  [5, "5 min"],
  [15, "15 min"],
  [60, "1 h"],
  [1440, "1 day"],
];

export function ActivityView(): JSX.Element {
  const minutes = route.value.minutes ?? 15;
  const [hasStore, setHasStore] = useState(true);
  // Without a store, polling every second would only repeat the error.
  const tick = useTick(hasStore);
  const resource = useResource((signal) => backend.store(minutes, signal), [minutes], [tick]);
  useEffect(() => setHasStore(resource.error === undefined), [resource.error]);
  return (
    <ResourceView resource={resource} label="Loading activity">
      {(report) => <Activity report={report} minutes={minutes} />}
    </ResourceView>
  );
}

function Activity({ report, minutes }: { report: StoreReport; minutes: number }): JSX.Element {
  return (
    <div class="sheet activity-page">
      <header class="activity-head">
        <Figures report={report} />
        <div class="switch" role="group" aria-label="Time range">
          {SPANS.map(([span, words]) => (
            <button type="button" key={span} aria-pressed={span === minutes} onClick={() => go({ view: "activity", minutes: span }, "replace")}>
              {words}
            </button>
          ))}
        </div>
      </header>
      <RateChart rates={report.rates} minutes={minutes} />
      <div class="activity-columns">
        <Section title="Newest calls">
          <CallTable calls={report.newest} empty="No calls in this time range." />
        </Section>
        <Section title="Slowest calls">
          <CallTable calls={report.slow} empty="No calls in this time range." />
        </Section>
      </div>
      <Section title="By server and tool">
        <KindTable rows={report.rows} />
      </Section>
      <div class="activity-columns">
        <Section title="Clients">
          <ClientTable clients={report.clients} />
        </Section>
        <Section title="Server changes">
          <ChangeTable changes={report.changes} />
        </Section>
      </div>
    </div>
  );
}

function Figures({ report }: { report: StoreReport }): JSX.Element {
  const { calls, errors } = perSecond(report.rates);
  // The newest interval is still filling up, so the rate is that of the one before it.
  const at = Math.max(0, calls.length - 2);
  return (
    <dl class="figures">
      <Figure name="Calls per second" value={rate(calls[at] ?? 0)} />
      <Figure name="Failures per second" value={rate(errors[at] ?? 0)} isBad={(errors[at] ?? 0) > 0} />
      <Figure name="Calls" value={number(report.calls)} />
      <Figure name="Failed" value={report.calls > 0 ? share(report.errors / report.calls) : "-"} isBad={report.errors > 0} />
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
