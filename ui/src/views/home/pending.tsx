// The calls in flight in all running recordings, with their age.

import type { JSX } from "preact";
import type { PendingRow } from "../../api/types";
import { href } from "../../router";
import { backend } from "../../state/backend";
import { useResource } from "../../state/resource";
import { change } from "../../state/set";
import { useTick } from "../../state/tick";
import { SafeText } from "../../text/safe-text";
import { count, duration, number } from "../../text/units";
import { arrow } from "../../text/words";
import { callName } from "../parts/links";
import { Section } from "../parts/section";

/** The rows that are shown: the section must not push the list of traces off the page. */
const SHOWN = 8;

/** A response, with the time at which it arrived: ages are counted from there, because the clocks may differ. */
type Arrived = { rows: PendingRow[]; atMs: number };

export function PendingCalls(): JSX.Element | null {
  const { data } = useResource<Arrived>(
    async (signal) => ({ rows: await backend.pending(signal), atMs: performance.now() }),
    [],
    [change.value?.home],
  );
  useTick(data !== undefined && data.rows.length > 0);
  if (data === undefined || data.rows.length === 0) return null;
  const sinceUs = (performance.now() - data.atMs) * 1000;
  const more = data.rows.length - SHOWN;
  return (
    <Section title="In flight" class="pending" aside={<span class="dim">{count(data.rows.length, "call")}</span>}>
      <ul class="call-lines" aria-label="Calls in flight">
        {data.rows.slice(0, SHOWN).map((row) => (
          <PendingLine key={`${row.trace}-${row.call}`} row={row} sinceUs={sinceUs} />
        ))}
      </ul>
      {more > 0 && <p class="dim">{`and ${number(more)} more`}</p>}
    </Section>
  );
}

function PendingLine({ row, sinceUs }: { row: PendingRow; sinceUs: number }): JSX.Element {
  return (
    <li>
      <span class="num">{row.ageUs === null ? "-" : duration(seconds(row.ageUs + sinceUs))}</span>
      <span class={`dir-${row.direction}`} aria-hidden="true">
        {arrow(row.direction)}
      </span>
      <a href={href({ view: "call", trace: [row.trace], call: row.call, filter: "" })}>
        <SafeText text={callName(row)} />
      </a>
      <span class="dim clip">
        <SafeText text={row.label} />
      </span>
      {row.progress > 0 && <span class="dim">{`${number(row.progress)} progress`}</span>}
    </li>
  );
}

/** An age that ticks once a second has no use for milliseconds. */
function seconds(us: number): number {
  return us < 1e6 ? us : Math.floor(us / 1e6) * 1e6;
}
