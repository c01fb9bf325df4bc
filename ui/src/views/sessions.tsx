// The sessions: client, server, time and outcome.

import type { JSX } from "preact";
import type { SessionRow } from "../api/types";
import { go, href } from "../router";
import { EmptyState } from "../shell/problem";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { isMerged, keys, labelOf, version } from "../state/set";
import { SafeText } from "../text/safe-text";
import { clock, count, duration, number } from "../text/units";
import { Section } from "./parts/section";
import { ResourceView } from "./parts/states";

export function SessionsView(): JSX.Element {
  const resource = useResource((signal) => backend.sessions(keys.value, signal), [keys.value], [version.value]);
  return (
    <ResourceView resource={resource} label="Loading sessions">
      {(rows) =>
        rows.length === 0 ? (
          <EmptyState title="No sessions yet.">
            <p>A session starts with the first call.</p>
          </EmptyState>
        ) : (
          <div class="sheet sessions-page">
            <Section title={count(rows.length, "session")}>
              <SessionTable rows={rows} />
            </Section>
          </div>
        )
      }
    </ResourceView>
  );
}

function SessionTable({ rows }: { rows: readonly SessionRow[] }): JSX.Element {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Sessions">
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col" class="wide">
              Client
            </th>
            <th scope="col">Server</th>
            <th scope="col" class="wide">
              Revision
            </th>
            <th scope="col">Started</th>
            <th scope="col" class="num">
              Duration
            </th>
            <th scope="col" class="num">
              Calls
            </th>
            <th scope="col" class="num">
              Errors
            </th>
            <th scope="col" class="num">
              Unanswered
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <Row key={index} row={row} number={index + 1} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The filter for the calls of a session. */
function filterOf(row: SessionRow): string {
  const words: string[] = [];
  if (row.session !== null) words.push(`session:${quoted(row.session)}`);
  if (isMerged.value) words.push(`server:${quoted(labelOf(row.trace))}`);
  return words.join(" ");
}

function quoted(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `"${text.replaceAll('"', "?")}"`;
}

function Row({ row, number: position }: { row: SessionRow; number: number }): JSX.Element {
  const filter = filterOf(row);
  const open = (): void => {
    if (window.getSelection()?.isCollapsed !== false) go({ view: "calls", filter });
  };
  return (
    <tr onClick={open}>
      <th scope="row">
        <a href={href({ view: "calls", filter })} onClick={(event) => event.stopPropagation()}>
          <SafeText text={row.session ?? `Session ${position}`} />
        </a>
        {isMerged.value && (
          <span class="dim">
            {" "}
            <SafeText text={labelOf(row.trace)} />
          </span>
        )}
      </th>
      <td class="wide">
        <SafeText text={row.client ?? "unknown"} />
      </td>
      <td>
        <SafeText text={row.server ?? "unknown"} />
      </td>
      <td class="wide">{row.revision === null ? <span class="dim">-</span> : <SafeText text={row.revision} />}</td>
      <td>{clock(row.fromUs / 1000, Date.now())}</td>
      <td class="num">{duration(Math.max(0, row.toUs - row.fromUs))}</td>
      <td class="num">{number(row.calls)}</td>
      <td class={row.errors > 0 ? "num error-text" : "num dim"}>{number(row.errors)}</td>
      <td class={row.unanswered > 0 ? "num warn-text" : "num dim"}>{number(row.unanswered)}</td>
    </tr>
  );
}
