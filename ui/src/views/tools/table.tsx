// Tools or methods in a table.

import type { ComponentChildren, JSX } from "preact";
import type { ToolRow } from "../../api/types";
import { Sparkline } from "../../chart/sparkline";
import { go, href, route } from "../../router";
import { isMerged, labelOf } from "../../state/set";
import { SafeText } from "../../text/safe-text";
import { bytes, count, duration, number, share } from "../../text/units";
import { arrow } from "../../text/words";
import { nextSort, type ToolColumn, toolKey } from "./sorting";

type TableProps = { rows: readonly ToolRow[]; label: string; what: string; hasTokens: boolean };

export function ToolTable({ rows, label, what, hasTokens }: TableProps): JSX.Element {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label={label}>
      <table class="facts tools-table">
        <thead>
          <tr>
            <Head column="name">{what}</Head>
            <Head column="calls">Calls</Head>
            <th scope="col" class="num wide">
              Share
            </th>
            <Head column="errors">Errors</Head>
            <Head column="mean" class="wide">
              Mean
            </Head>
            <Head column="p50">p50</Head>
            <Head column="p95">p95</Head>
            <Head column="p99" class="wide">
              p99
            </Head>
            <th scope="col" class="middle">
              Over time
            </th>
            <Head column="bytes" class="middle">
              Size
            </Head>
            {hasTokens && (
              <>
                <Head column="definition" class="wide" title="Tokens that the definition takes up in the model's context">
                  Definition
                </Head>
                <Head column="tokens" title="Tokens that all results take up in the model's context">
                  Tokens
                </Head>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={toolKey(row)} row={row} hasTokens={hasTokens} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type HeadProps = { column: ToolColumn; children: ComponentChildren; class?: string; title?: string };

function Head({ column, children, class: name = "", title }: HeadProps): JSX.Element {
  const { sort } = route.value;
  const isUp = sort === column;
  const isDown = sort === `-${column}`;
  return (
    <th scope="col" class={column === "name" ? name : `num ${name}`} aria-sort={isUp ? "ascending" : isDown ? "descending" : undefined}>
      <button type="button" class="sort" title={title} onClick={() => go({ sort: nextSort(column, sort) }, "replace")}>
        {children}
        <span aria-hidden="true" class="sort-mark">
          {isUp ? "▲" : isDown ? "▼" : ""}
        </span>
      </button>
    </th>
  );
}

function Row({ row, hasTokens }: { row: ToolRow; hasTokens: boolean }): JSX.Element {
  const key = toolKey(row);
  const isOpen = route.value.open === key;
  const toggle = (): void => {
    if (window.getSelection()?.isCollapsed !== false) go({ open: isOpen ? "" : key });
  };
  return (
    <tr class={isOpen ? "chosen" : undefined} onClick={toggle}>
      <th scope="row">
        {row.direction === "out" && (
          <span class="dir-out" title="Sent by the server">
            {`${arrow(row.direction)} `}
          </span>
        )}
        <a href={href({ open: isOpen ? "" : key })} aria-expanded={isOpen} onClick={(event) => event.stopPropagation()}>
          <SafeText text={row.name} />
        </a>
        {isMerged.value && (
          <span class="dim">
            {" "}
            <SafeText text={labelOf(row.trace)} />
          </span>
        )}
      </th>
      <td class="num">{number(row.calls)}</td>
      <td class="num wide">
        <span class="share-bar" aria-hidden="true">
          <span style={{ width: `${row.share * 100}%` }} />
        </span>
        {share(row.share)}
      </td>
      <td class={row.errors > 0 ? "num error-text" : "num dim"} title={row.unanswered > 0 ? `${number(row.unanswered)} unanswered` : undefined}>
        {number(row.errors)}
      </td>
      <DurationCell us={row.meanUs} class="wide" />
      <DurationCell us={row.p50Us} />
      <DurationCell us={row.p95Us} />
      <DurationCell us={row.p99Us} class="wide" />
      <td class="middle">
        <Sparkline values={row.sparkline} label={`${count(row.calls, "call")} over time`} />
      </td>
      <td class="num middle" title={`Requests: ${bytes(row.requestBytes)}, responses: ${bytes(row.responseBytes)}`}>
        {bytes(row.requestBytes + row.responseBytes)}
      </td>
      {hasTokens && (
        <>
          <td class="num wide">{row.definitionTokens === null ? <None /> : number(row.definitionTokens)}</td>
          <td class="num">{row.resultTokens === null ? <None /> : number(row.resultTokens)}</td>
        </>
      )}
    </tr>
  );
}

function DurationCell({ us, class: name = "" }: { us: number | null; class?: string }): JSX.Element {
  return <td class={`num ${name}`}>{us === null ? <None /> : duration(us)}</td>;
}

function None(): JSX.Element {
  return <span class="dim">-</span>;
}
