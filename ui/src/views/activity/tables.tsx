// The tables of the activity view.

import type { ComponentChildren, JSX } from "preact";
import type { StoreCall, StoreChange, StoreClient, StoreStat } from "../../api/types";
import { href } from "../../router";
import { SafeText } from "../../text/safe-text";
import { clock, duration, number, when } from "../../text/units";
import { visible } from "../../text/visible";
import { Status } from "../parts/status";

type TableProps = { label: string; heads: readonly [name: string, isNumber: boolean][]; children: ComponentChildren };

function Table({ label, heads, children }: TableProps): JSX.Element {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label={label}>
      <table class="facts">
        <thead>
          <tr>
            {heads.map(([name, isNumber]) => (
              <th scope="col" key={name} class={isNumber ? "num" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function Empty({ text }: { text: string }): JSX.Element {
  return <p class="dim">{text}</p>;
}

export function CallTable({ calls, empty }: { calls: readonly StoreCall[]; empty: string }): JSX.Element {
  if (calls.length === 0) return <Empty text={empty} />;
  return (
    <Table label="Calls" heads={[["Time", false], ["Server", false], ["Tool or method", false], ["Status", false], ["Duration", true]]}>
      {calls.map((call) => (
        <tr key={`${call.atMs}-${call.server}-${call.id}`} title={call.error === null ? undefined : visible(call.error.slice(0, 500))}>
          <td>{clock(call.atMs, Date.now())}</td>
          <td>
            <SafeText text={call.server} />
          </td>
          <th scope="row">
            <CallLink call={call} />
          </th>
          <td>
            <Status status={call.status.replaceAll("_", "-")} isError={call.isError} />
          </td>
          <td class="num">{call.latencyUs === null ? <span class="dim">-</span> : duration(call.latencyUs)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The call's name, with a link to its trace if that still exists. */
function CallLink({ call }: { call: StoreCall }): JSX.Element {
  const name = <SafeText text={call.tool ?? call.method} />;
  if (call.trace === null) return name;
  const words = [`id:${quoted(call.id)}`, `method:${quoted(call.method)}`];
  if (call.session !== null) words.push(`session:${quoted(call.session)}`);
  return <a href={href({ trace: [call.trace], view: "calls", filter: words.join(" ") })}>{name}</a>;
}

function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `"${text.replaceAll('"', "?")}"`;
}

export function KindTable({ rows }: { rows: readonly StoreStat[] }): JSX.Element {
  if (rows.length === 0) return <Empty text="No calls in this time range." />;
  return (
    <Table
      label="By server and tool"
      heads={[["Server", false], ["Tool or method", false], ["Calls", true], ["Errors", true], ["p50", true], ["p95", true], ["Max", true]]}
    >
      {rows.map((row) => (
        <tr key={`${row.server}-${row.method}-${row.tool}`}>
          <td>
            <SafeText text={row.server} />
          </td>
          <th scope="row">
            <SafeText text={row.tool ?? row.method} />
          </th>
          <td class="num">{number(row.calls)}</td>
          <td class={row.errors > 0 ? "num error-text" : "num dim"}>{number(row.errors)}</td>
          <DurationCell us={row.p50Us} />
          <DurationCell us={row.p95Us} />
          <DurationCell us={row.maxUs} />
        </tr>
      ))}
    </Table>
  );
}

function DurationCell({ us }: { us: number | null }): JSX.Element {
  return <td class="num">{us === null ? <span class="dim">-</span> : duration(us)}</td>;
}

export function ClientTable({ clients }: { clients: readonly StoreClient[] }): JSX.Element {
  if (clients.length === 0) return <Empty text="No clients have connected yet." />;
  return (
    <Table label="Clients" heads={[["Client", false], ["Sessions", true], ["Calls", true], ["Errors", true], ["Last seen", false]]}>
      {clients.map((client) => (
        <tr key={`${client.name}-${client.version}`}>
          <th scope="row">
            <SafeText text={client.version === null ? client.name : `${client.name} ${client.version}`} />
          </th>
          <td class="num">{number(client.sessions)}</td>
          <td class="num">{number(client.calls)}</td>
          <td class={client.errors > 0 ? "num error-text" : "num dim"}>{number(client.errors)}</td>
          <td>{when(client.lastMs, Date.now())}</td>
        </tr>
      ))}
    </Table>
  );
}

export function ChangeTable({ changes }: { changes: readonly StoreChange[] }): JSX.Element {
  if (changes.length === 0) return <Empty text="No tool or schema changes." />;
  return (
    <Table label="Changes" heads={[["Time", false], ["Server", false], ["Definition", false], ["Change", false]]}>
      {changes.map((change, index) => (
        <tr key={index}>
          <td>{when(change.atMs, Date.now())}</td>
          <td>
            <SafeText text={change.server} />
          </td>
          <th scope="row">
            <SafeText text={change.name ?? change.method} />
          </th>
          <td>
            <SafeText text={change.change} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
