// The result or the error of a response in readable form, by method.

import type { JSX } from "preact";
import type { JsonDocument } from "../json/document";
import { JsonPanel } from "../json/panel";
import { SafeText } from "../text/safe-text";
import { Blocks, type Place, Resource } from "./blocks";
import { Fields } from "./fields";
import { Listing, listMember } from "./listing";
import { Messages } from "./messages";
import { TextBlock } from "./text-block";

export function ResponseContent({ doc, method }: { doc: JsonDocument; method: string }): JSX.Element {
  const error = doc.at(0, "error");
  const result = doc.at(0, "result");
  if (error >= 0) return <ErrorContent doc={doc} row={error} />;
  if (result < 0) return <JsonPanel doc={doc} label="the response" />;
  return (
    <>
      <Result doc={doc} row={result} method={method} />
      <Rest doc={doc} row={result} method={method} />
    </>
  );
}

function ErrorContent({ doc, row }: Place): JSX.Element {
  const code = doc.at(row, "code");
  const data = doc.at(row, "data");
  return (
    <div class="failure">
      <p class="failure-head">
        <span class="badge error">{code < 0 ? "error" : `error ${doc.source(code).slice(0, 40)}`}</span>
        {ERROR_NAMES[code < 0 ? "" : doc.source(code)] !== undefined && (
          <span class="dim">{ERROR_NAMES[doc.source(code)]}</span>
        )}
      </p>
      <TextBlock text={doc.stringAt(row, "message") ?? ""} label="the error's message" look="prose" />
      {data >= 0 && (
        <>
          <h3>Data</h3>
          <JsonPanel doc={doc} row={data} label="the error's data" />
        </>
      )}
    </div>
  );
}

const ERROR_NAMES: Record<string, string> = {
  "-32700": "parse error",
  "-32600": "invalid request",
  "-32601": "method not found",
  "-32602": "invalid params",
  "-32603": "internal error",
  "-32002": "resource not found",
};

function Result({ doc, row, method }: Place & { method: string }): JSX.Element {
  if (method === "tools/call") return <ToolResult doc={doc} row={row} />;
  if (method === "resources/read") return <Resources doc={doc} row={doc.at(row, "contents")} />;
  if (method === "prompts/get") return <Prompt doc={doc} row={row} />;
  if (method === "sampling/createMessage") return <SamplingResult doc={doc} row={row} />;
  if (method === "elicitation/create") return <ElicitationResult doc={doc} row={row} />;
  if (listMember(method) !== null) return <Listing doc={doc} row={row} method={method} />;
  // The result of a task is that of its tool.
  if (method.startsWith("tasks/") && doc.at(row, "content") >= 0) return <ToolResult doc={doc} row={row} />;
  return <Fields doc={doc} row={row} label="members" />;
}

/** The members that the renderer of a method already shows; all others are listed below. */
const SHOWN: Record<string, readonly string[]> = {
  "tools/call": ["content", "structuredContent", "isError"],
  "resources/read": ["contents"],
  "prompts/get": ["messages", "description"],
  "sampling/createMessage": ["role", "content", "model", "stopReason"],
  "elicitation/create": ["action", "content"],
};

function Rest({ doc, row, method }: Place & { method: string }): JSX.Element | null {
  const list = listMember(method);
  const shown = list === null ? SHOWN[method] : [list];
  if (shown === undefined) return null;
  const others = Array.from(doc.children(row)).filter((child) => !shown.includes(doc.key(child) ?? ""));
  if (others.length === 0) return null;
  return (
    <section class="content-block">
      <h3>Other members</h3>
      <Fields doc={doc} row={row} label="members" without={shown} />
    </section>
  );
}

function ToolResult({ doc, row }: Place): JSX.Element {
  const content = doc.at(row, "content");
  const structured = doc.at(row, "structuredContent");
  const isError = doc.at(row, "isError");
  const hasFailed = isError >= 0 && doc.source(isError) === "true";
  // Servers repeat structured content as text for clients that don't support it (2025-06-18, Tools); it is shown once.
  const repeats = structured >= 0 && content >= 0 && isSameJson(doc, structured, content);
  return (
    <div class={hasFailed ? "failure" : undefined}>
      {hasFailed && (
        <p class="failure-head">
          <span class="badge error">tool error</span>
        </p>
      )}
      {content >= 0 && !repeats && <Blocks doc={doc} row={content} />}
      {structured >= 0 && (
        <section class="content-block">
          <div class="block-head">
            <span class="tag">structured content</span>
            {repeats && <span class="dim">same as text</span>}
          </div>
          <Fields doc={doc} row={structured} label="structured content" />
        </section>
      )}
      {content >= 0 && repeats && (
        <details>
          <summary>Text</summary>
          <Blocks doc={doc} row={content} />
        </details>
      )}
      {content < 0 && structured < 0 && <Fields doc={doc} row={row} label="members" without={["isError"]} />}
    </div>
  );
}

/** Whether the only text block holds the same JSON, ignoring white space and member order. */
export function isSameJson(doc: JsonDocument, structured: number, content: number): boolean {
  const only = doc.count(content) === 1 ? doc.children(content)[0] : undefined;
  const text = only === undefined ? null : doc.stringAt(only, "text");
  if (text === null || text.length > 100_000) return false;
  return withoutSpace(text) === withoutSpace(doc.source(structured));
}

function withoutSpace(json: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(json), 0));
  } catch {
    return json;
  }
}

function sorted(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > 50) return value;
  if (Array.isArray(value)) return value.map((element) => sorted(element, depth + 1));
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member, depth + 1)]));
}

function Resources({ doc, row }: Place): JSX.Element {
  const contents = row < 0 ? [] : Array.from(doc.children(row).subarray(0, 100));
  if (contents.length === 0) return <p class="dim">No contents.</p>;
  return (
    <>
      {contents.map((child) => (
        <Resource key={child} doc={doc} row={child} />
      ))}
    </>
  );
}

function Prompt({ doc, row }: Place): JSX.Element {
  const description = doc.stringAt(row, "description");
  return (
    <>
      {description !== null && (
        <p>
          <SafeText text={description} breaks="keep" />
        </p>
      )}
      <Messages doc={doc} row={doc.at(row, "messages")} />
    </>
  );
}

function SamplingResult({ doc, row }: Place): JSX.Element {
  const model = doc.stringAt(row, "model");
  const stop = doc.stringAt(row, "stopReason");
  return (
    <>
      <p class="dim">
        <SafeText text={[model, stop && `stop reason: ${stop}`].filter(Boolean).join(" · ")} />
      </p>
      {doc.at(row, "content") >= 0 && <Blocks doc={doc} row={doc.at(row, "content")} />}
    </>
  );
}

function ElicitationResult({ doc, row }: Place): JSX.Element {
  const action = doc.stringAt(row, "action") ?? "no action";
  const content = doc.at(row, "content");
  return (
    <>
      <p>
        <span class="badge">
          <SafeText text={action} />
        </span>
      </p>
      {content >= 0 && <Fields doc={doc} row={content} label="content" />}
    </>
  );
}
