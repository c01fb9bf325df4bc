// The duration of a call as a bar, split by who took the time, with a tick for each message during the call.

import type { JSX } from "preact";
import type { CallDetail } from "../../api/types";
import { visible } from "../../text/visible";
import { clock, duration, share } from "../../text/units";
import { meanwhileWords } from "../../text/words";
import { Section } from "../parts/section";
import { ticks, timeParts } from "./time-parts";

export function Timing({ detail }: { detail: CallDetail }): JSX.Element {
  const { row, meanwhile } = detail;
  const parts = timeParts(row);
  return (
    <Section title="Timing" aside={<span class="dim">{clock(row.atUs / 1000, Date.now())}</span>}>
      {parts.length === 0 && <p class="dim">{row.isOpen ? "Waiting for a response." : "No response."}</p>}
      <div class="time-bar" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.who} class={`time-${part.who}`} style={{ flexGrow: Math.max(part.share, 0.004) }} />
        ))}
        {ticks(row, meanwhile).map(({ at, item }) => (
          <span
            key={item.line}
            class={`time-tick tick-${item.kind}`}
            style={{ insetInlineStart: `${at * 100}%` }}
            title={`+${duration(item.afterUs ?? 0)} ${meanwhileWords(item.kind)}: ${visible(item.about.slice(0, 200))}`}
          />
        ))}
      </div>
      <ul class="time-legend">
        {parts.map((part) => (
          <li key={part.who}>
            <span class={`swatch time-${part.who}`} aria-hidden="true" />
            <span>{part.words}</span>
            <span class="num">{duration(part.us)}</span>
            <span class="num dim">{share(part.share)}</span>
          </li>
        ))}
        {parts.length > 1 && row.latencyUs !== null && (
          <li class="time-sum">
            <span />
            <span>total</span>
            <span class="num">{duration(row.latencyUs)}</span>
            <span />
          </li>
        )}
      </ul>
    </Section>
  );
}
