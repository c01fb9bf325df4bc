// The params of a request in readable form, by method.

import type { JSX } from "preact";
import { Kind } from "../json/columns";
import type { JsonDocument } from "../json/document";
import { SafeText } from "../text/safe-text";
import { visible } from "../text/visible";
import type { Place } from "./blocks";
import { Fields } from "./fields";
import { TraceLink } from "./link";
import { Messages } from "./messages";
import { SchemaView } from "./schema";
import { TextBlock } from "./text-block";

export function RequestContent({ doc, method }: { doc: JsonDocument; method: string }): JSX.Element {
  const params = doc.at(0, "params");
  if (params < 0) return <p class="dim">No params.</p>;
  return (
    <>
      <Params doc={doc} row={params} method={method} />
      <Rest doc={doc} row={params} method={method} />
    </>
  );
}

function Params({ doc, row, method }: Place & { method: string }): JSX.Element | null {
  switch (method) {
    case "tools/call":
    case "prompts/get":
      return <Arguments doc={doc} row={doc.at(row, "arguments")} />;
    case "resources/read":
    case "resources/subscribe":
    case "resources/unsubscribe":
      return (
        <p>
          <TraceLink address={doc.stringAt(row, "uri") ?? "no URI"} />
        </p>
      );
    case "sampling/createMessage":
      return <Sampling doc={doc} row={row} />;
    case "elicitation/create":
      return <Elicitation doc={doc} row={row} />;
    default:
      return <Fields doc={doc} row={row} label="params" />;
  }
}

const SHOWN: Record<string, readonly string[]> = {
  "tools/call": ["name", "arguments"],
  "prompts/get": ["name", "arguments"],
  "resources/read": ["uri"],
  "resources/subscribe": ["uri"],
  "resources/unsubscribe": ["uri"],
  "sampling/createMessage": ["messages", "systemPrompt"],
  "elicitation/create": ["message", "requestedSchema", "url"],
};

function Rest({ doc, row, method }: Place & { method: string }): JSX.Element | null {
  const shown = SHOWN[method];
  if (shown === undefined || doc.kind(row) !== Kind.Object) return null;
  const others = Array.from(doc.children(row)).filter((child) => !shown.includes(doc.key(child) ?? ""));
  if (others.length === 0) return null;
  return (
    <details class="rest">
      <summary>{visible(`Other params: ${others.map((child) => doc.key(child)).join(", ").slice(0, 100)}`)}</summary>
      <Fields doc={doc} row={row} label="params" without={shown} />
    </details>
  );
}

function Arguments({ doc, row }: Place): JSX.Element {
  if (row < 0 || (doc.isContainer(row) && doc.count(row) === 0)) return <p class="dim">No arguments.</p>;
  return <Fields doc={doc} row={row} label="arguments" />;
}

function Sampling({ doc, row }: Place): JSX.Element {
  const system = doc.stringAt(row, "systemPrompt");
  return (
    <>
      {system !== null && (
        <section class="content-block">
          <div class="block-head">
            <span class="tag">system prompt</span>
          </div>
          <TextBlock text={system} label="the system prompt" />
        </section>
      )}
      <Messages doc={doc} row={doc.at(row, "messages")} />
    </>
  );
}

function Elicitation({ doc, row }: Place): JSX.Element {
  const schema = doc.at(row, "requestedSchema");
  const url = doc.stringAt(row, "url");
  return (
    <>
      <p>
        <SafeText text={doc.stringAt(row, "message") ?? ""} breaks="keep" />
      </p>
      {url !== null && (
        <p>
          <TraceLink address={url} />
        </p>
      )}
      {schema >= 0 && <SchemaView doc={doc} row={schema} />}
    </>
  );
}
