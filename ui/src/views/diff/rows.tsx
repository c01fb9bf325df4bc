// Calls of two traces side by side.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DiffRow, DiffSide } from "../../api/types";
import { go, href, route } from "../../router";
import { backend } from "../../state/backend";
import { useResource } from "../../state/resource";
import { SafeText } from "../../text/safe-text";
import { count, duration } from "../../text/units";
import { arrow } from "../../text/words";
import { ResourceView } from "../parts/states";
import { Status } from "../parts/status";
import { Differences } from "./difference";

const SIGNS: Record<string, string> = { same: "=", changed: "~", removed: "−", added: "+" };

export type Pair = { a: string; b: string };

export function Row({ row, pair }: { row: DiffRow; pair: Pair }): JSX.Element {
  const isOpen = route.value.open === String(row.row);
  const toggle = (): void => go({ open: isOpen ? "" : String(row.row) }, "replace");
  return (
    <li class={`diff-row is-${row.status}`} id={`diff-${row.row}`}>
      <button type="button" class="diff-head" aria-expanded={isOpen} onClick={toggle}>
        <span class="diff-mark" title={row.status}>
          {SIGNS[row.status] ?? "?"}
          <span class="sr-only">{row.status}</span>
        </span>
        <span class="diff-name">
          <span class={`dir-${row.direction}`} aria-hidden="true">
            {`${arrow(row.direction)} `}
          </span>
          <SafeText text={row.name ?? row.method} />
          {row.pace !== null && <span class={row.pace === "slower" ? "badge warn" : "badge"}>{row.pace}</span>}
        </span>
        <SideCell side={row.a} />
        <SideCell side={row.b} />
      </button>
      {isOpen && <Detail row={row} pair={pair} />}
    </li>
  );
}

function SideCell({ side }: { side: DiffSide | null }): JSX.Element {
  if (side === null) return <span class="diff-side is-empty" aria-label="absent" />;
  return (
    <span class="diff-side">
      <span class="num dim">{side.call}</span>
      <Status status={side.status} isError={side.isError} />
      <span class="num">{side.tookUs === null ? "-" : duration(side.tookUs)}</span>
      <span class="dim clip">
        <SafeText text={side.about} />
      </span>
    </span>
  );
}

function Detail({ row, pair }: { row: DiffRow; pair: Pair }): JSX.Element {
  return (
    <div class="diff-detail">
      <p class="diff-links">
        {row.a !== null && <a href={href({ trace: [pair.a], view: "call", call: row.a.call })}>{`A: call ${row.a.call}, line ${row.a.line}`}</a>}
        {row.b !== null && <a href={href({ trace: [pair.b], view: "call", call: row.b.call })}>{`B: call ${row.b.call}, line ${row.b.line}`}</a>}
        {row.pace !== null && row.a?.tookUs != null && row.b?.tookUs != null && (
          <span>{`${row.pace}: ${duration(row.a.tookUs)} before, ${duration(row.b.tookUs)} after`}</span>
        )}
      </p>
      {row.status === "changed" && <ChangeDetail row={row.row} pair={pair} />}
      {row.status === "same" && <p class="dim">Request and response are identical.</p>}
      {row.status === "added" && <p class="dim">Only in B.</p>}
      {row.status === "removed" && <p class="dim">Only in A.</p>}
    </div>
  );
}

function ChangeDetail({ row, pair }: { row: number; pair: Pair }): JSX.Element {
  const resource = useResource((signal) => backend.diffRow(pair.a, pair.b, row, signal), [pair.a, pair.b, row]);
  return (
    <ResourceView resource={resource} label="Comparing the calls">
      {({ differences, hasMore }) => (
        <>
          {differences.length === 0 && <p class="dim">Only the outcome differs.</p>}
          <Differences of={differences} />
          {hasMore && <p class="dim">More differences are not shown.</p>}
        </>
      )}
    </ResourceView>
  );
}

const STEP = 100;

/** Hidden rows, with a button that shows them. */
export function Gap({ from, count: length, pair, isSame }: { from: number; count: number; pair: Pair; isSame: boolean }): JSX.Element {
  const [wanted, setWanted] = useState(0);
  const resource = useResource(
    async (signal) => (wanted === 0 ? null : backend.diff(pair.a, pair.b, { status: "", from, limit: Math.min(wanted, length) }, signal)),
    [pair.a, pair.b, from],
    [wanted, length],
  );
  const rows = resource.data?.rows ?? [];
  const rest = length - rows.length;
  const words = count(rest, isSame ? "identical call" : "other call");
  return (
    <>
      {rows.map((row) => (
        <Row key={row.row} row={row} pair={pair} />
      ))}
      {rest > 0 && (
        <li class="diff-gap">
          <button type="button" class="quiet" onClick={() => setWanted(rows.length + STEP)}>
            {`⋯ ${words}`}
          </button>
        </li>
      )}
    </>
  );
}
