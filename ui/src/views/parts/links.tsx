// Links to calls and lines.

import type { ComponentChildren, JSX } from "preact";
import type { CallRow } from "../../api/types";
import { href, route } from "../../router";
import { SafeText } from "../../text/safe-text";
import { duration } from "../../text/units";
import { arrow } from "../../text/words";
import { Status } from "./status";

/** The name of a call: its tool, or its method. */
export function callName(row: { method: string; tool: string | null }): string {
  return row.tool ?? row.method;
}

/** The address of a call: beside the list in views that have a panel, else on a page of its own. */
export function callHref(at: number, call: number): string {
  const { view } = route.value;
  const staysHere = view === "calls" || view === "timeline" || view === "messages";
  return href({ view: staysHere ? view : "call", at, call, open: "" });
}

type CallLinkProps = { at: number; call: number; children: ComponentChildren };

export function CallLink({ at, call, children }: CallLinkProps): JSX.Element {
  return <a href={callHref(at, call)}>{children}</a>;
}

export function LineLink({ at, line, children }: { at: number; line: number; children?: ComponentChildren }): JSX.Element {
  return <a href={href({ view: "messages", at, line, call: null, filter: "" })}>{children ?? `line ${line}`}</a>;
}

/** A list of calls, one per line. */
export function CallLines({ rows, current }: { rows: readonly CallRow[]; current?: number }): JSX.Element {
  return (
    <ul class="call-lines">
      {rows.map((row) => (
        <li key={row.call} aria-current={row.call === current ? "true" : undefined}>
          <span class="dim num">{row.call}</span>
          <span class={`dir-${row.direction}`} aria-hidden="true">
            {arrow(row.direction)}
          </span>
          <CallLink at={row.trace} call={row.call}>
            <SafeText text={callName(row)} />
          </CallLink>
          <Status status={row.status} isError={row.isError} isOpen={row.isOpen} code={row.code} />
          <span class="num">{row.latencyUs === null ? "-" : duration(row.latencyUs)}</span>
          <span class="dim clip call-about">
            <SafeText text={row.about} />
          </span>
        </li>
      ))}
    </ul>
  );
}
