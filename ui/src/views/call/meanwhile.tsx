// The messages during a call, and the requests that the other side sent meanwhile.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallDetail, Meanwhile } from "../../api/types";
import { SafeText } from "../../text/safe-text";
import { count, duration, number } from "../../text/units";
import { meanwhileWords } from "../../text/words";
import { CallLines, CallLink, LineLink } from "../parts/links";
import { Section } from "../parts/section";

const FIRST = 20;

export function MeanwhileList({ detail: { row, meanwhile, more } }: { detail: CallDetail }): JSX.Element | null {
  const [isWhole, setWhole] = useState(false);
  if (meanwhile.length === 0) return null;
  const shown = isWhole ? meanwhile : meanwhile.slice(0, FIRST);
  return (
    <Section title="During this call" aside={<span class="dim">{count(meanwhile.length + more, "message")}</span>}>
      <ol class="meanwhile">
        {shown.map((item, index) => (
          <Item key={`${item.line}-${index}`} item={item} at={row.trace} />
        ))}
      </ol>
      {!isWhole && meanwhile.length > FIRST && (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          {`Show ${number(meanwhile.length - FIRST)} more`}
        </button>
      )}
      {more > 0 && (isWhole || meanwhile.length <= FIRST) && (
        <p class="dim">
          {`${count(more, "more message")}: `}
          <LineLink at={row.trace} line={row.line}>
            show in Messages
          </LineLink>
        </p>
      )}
    </Section>
  );
}

function Item({ item, at }: { item: Meanwhile; at: number }): JSX.Element {
  const after = item.afterUs === null ? "" : `+${duration(item.afterUs)}`;
  return (
    <li class={`meanwhile-${item.kind}`}>
      <span class="num dim">{after}</span>
      <span class="tag">{meanwhileWords(item.kind)}</span>
      <span class="clip">
        {item.call !== null ? (
          <CallLink at={at} call={item.call}>
            <SafeText text={item.about || `call ${item.call}`} />
          </CallLink>
        ) : (
          <SafeText text={item.about} />
        )}
      </span>
      <LineLink at={at} line={item.line}>{`${item.line}`}</LineLink>
    </li>
  );
}

export function Nested({ detail }: { detail: CallDetail }): JSX.Element | null {
  const { nested, row } = detail;
  if (nested.length === 0 && row.parent === null) return null;
  const title = row.direction === "out" ? "Client requests" : "Server requests";
  return (
    <Section title={nested.length > 0 ? title : "Parent call"}>
      {row.parent !== null && (
        <p>
          {"Sent during "}
          <CallLink at={row.trace} call={row.parent}>{`call ${row.parent}`}</CallLink>
        </p>
      )}
      {nested.length > 0 && <CallLines rows={nested} />}
    </Section>
  );
}

export function Operation({ detail: { operation, row } }: { detail: CallDetail }): JSX.Element | null {
  if (operation === null || operation.calls.length < 2) return null;
  return (
    <Section title="Part of an operation" aside={<span class="dim">{count(operation.calls.length, "call")}</span>}>
      <CallLines rows={operation.calls} current={row.call} />
    </Section>
  );
}
