// The tables of the store.

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

function None({ words }: { words: string }): JSX.Element {
  return <p class="dim">{words}</p>;
}

export function CallTable({ calls, empty }: { calls: readonly StoreCall[]; empty: string }): JSX.Element {
  if (calls.length === 0) return <None words={empty} />;
  return (
    <Table label="Calls" heads={[["time", false], ["server", false], ["called", false], ["status", false], ["took", true]]}>
      {calls.map((call) => (
        <tr key={`${call.atMs}-${call.server}-${call.id}`} title={call.error === null ? undefined : visible(call.error.slice(0, 500))}>
          <td>{clock(call.atMs, Date.now())}</td>
          <td>
            <SafeText text={call.server} />
          </td>
          <th scope="row">
            <Called call={call} />
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

/** The call's name, and the way into its trace if that is still there. */
function Called({ call }: { call: StoreCall }): JSX.Element {
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
  if (rows.length === 0) return <None words="No call in this time." />;
  return (
    <Table
      label="By server and tool"
      heads={[["server", false], ["called", false], ["calls", true], ["errors", true], ["p50", true], ["p95", true], ["longest", true]]}
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
          <Took us={row.p50Us} />
          <Took us={row.p95Us} />
          <Took us={row.maxUs} />
        </tr>
      ))}
    </Table>
  );
}

function Took({ us }: { us: number | null }): JSX.Element {
  return <td class="num">{us === null ? <span class="dim">-</span> : duration(us)}</td>;
}

export function ClientTable({ clients }: { clients: readonly StoreClient[] }): JSX.Element {
  if (clients.length === 0) return <None words="No client is known." />;
  return (
    <Table label="Clients" heads={[["client", false], ["sessions", true], ["calls", true], ["errors", true], ["last seen", false]]}>
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
  if (changes.length === 0) return <None words="No server has changed what it offers." />;
  return (
    <Table label="Changes" heads={[["when", false], ["server", false], ["what", false], ["change", false]]}>
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
