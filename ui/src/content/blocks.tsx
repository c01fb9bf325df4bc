// Content blocks: the parts of tool results, prompts and sampling messages.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Kind } from "../json/columns";
import type { JsonDocument } from "../json/document";
import { JsonPanel } from "../json/panel";
import { SafeText } from "../text/safe-text";
import { bytes, count } from "../text/units";
import { visible } from "../text/visible";
import { Binary } from "./binary";
import { Fields } from "./fields";
import { TraceLink } from "./link";
import { TextBlock } from "./text-block";

export type Place = { doc: JsonDocument; row: number };

const STEP = 30;

/** An array of content blocks, or a single block. */
export function Blocks({ doc, row }: Place): JSX.Element {
  const [shown, setShown] = useState(STEP);
  if (doc.kind(row) !== Kind.Array) return <Block doc={doc} row={row} number={1} />;
  const children = doc.children(row);
  if (children.length === 0) return <p class="dim">No content.</p>;
  return (
    <>
      {Array.from(children.subarray(0, shown), (child, index) => (
        <Block key={child} doc={doc} row={child} number={index + 1} />
      ))}
      {children.length > shown && (
        <button type="button" class="button" onClick={() => setShown(shown + STEP)}>
          {`Show more (${count(children.length - shown, "block")})`}
        </button>
      )}
    </>
  );
}

export function Block({ doc, row, number }: Place & { number: number }): JSX.Element {
  const type = doc.stringAt(row, "type");
  const label = `${visible(type ?? "content").slice(0, 40)} ${number}`;
  return (
    <div class="content-block" role="group" aria-label={label}>
      <BlockHead doc={doc} row={row} type={type} />
      {type === "text" && <TextBlock text={doc.stringAt(row, "text") ?? ""} label={label} />}
      {(type === "image" || type === "audio") && <Media doc={doc} row={row} />}
      {type === "resource_link" && <ResourceLink doc={doc} row={row} />}
      {type === "resource" && <Resource doc={doc} row={doc.at(row, "resource")} />}
      {(type === "tool_use" || type === "tool_result") && <ToolUse doc={doc} row={row} type={type} />}
      {!KNOWN.includes(type ?? "") && <JsonPanel doc={doc} row={row} label={label} />}
    </div>
  );
}

const KNOWN = ["text", "image", "audio", "resource_link", "resource", "tool_use", "tool_result"];

function BlockHead({ doc, row, type }: Place & { type: string | null }): JSX.Element | null {
  const annotations = doc.at(row, "annotations");
  if (type === "text" && annotations < 0) return null;
  return (
    <div class="block-head">
      <span class="tag">
        <SafeText text={type?.replaceAll("_", " ") ?? "unknown"} />
      </span>
      {annotations >= 0 && <Annotations doc={doc} row={annotations} />}
    </div>
  );
}

function Annotations({ doc, row }: Place): JSX.Element {
  const audience = doc.at(row, "audience");
  const priority = doc.at(row, "priority");
  const words: string[] = [];
  if (audience >= 0) words.push(`for ${Array.from(doc.children(audience), (who) => doc.string(who) ?? "?").join(", ")}`);
  if (priority >= 0) words.push(`priority ${doc.source(priority)}`);
  const modified = doc.stringAt(row, "lastModified");
  if (modified !== null) words.push(`modified ${modified}`);
  return (
    <span class="dim">
      <SafeText text={words.join(" · ")} />
    </span>
  );
}

function Media({ doc, row }: Place): JSX.Element {
  return <Binary data={doc.stringAt(row, "data") ?? ""} mimeType={doc.stringAt(row, "mimeType") ?? ""} />;
}

function ToolUse({ doc, row, type }: Place & { type: string }): JSX.Element {
  const input = doc.at(row, "input");
  const content = doc.at(row, "content");
  return (
    <>
      {type === "tool_use" && (
        <p>
          <code>
            <SafeText text={doc.stringAt(row, "name") ?? "?"} />
          </code>
        </p>
      )}
      {input >= 0 && <Fields doc={doc} row={input} label="input" />}
      {content >= 0 && <Blocks doc={doc} row={content} />}
    </>
  );
}

function ResourceLink({ doc, row }: Place): JSX.Element {
  const size = doc.at(row, "size");
  const title = doc.stringAt(row, "title") ?? doc.stringAt(row, "name");
  return (
    <ResourceFrame doc={doc} row={row} title={title}>
      {doc.stringAt(row, "description") !== null && (
        <p>
          <SafeText text={doc.stringAt(row, "description") ?? ""} breaks="keep" />
        </p>
      )}
      {size >= 0 && <p class="dim">{bytes(Number(doc.source(size)) || 0)}</p>}
    </ResourceFrame>
  );
}

type FrameProps = Place & { title: string | null; children: ComponentChildren };

function ResourceFrame({ doc, row, title, children }: FrameProps): JSX.Element {
  const mimeType = doc.stringAt(row, "mimeType");
  return (
    <div class="resource">
      <div class="resource-head">
        {title !== null && (
          <strong>
            <SafeText text={title} />
          </strong>
        )}
        <TraceLink address={doc.stringAt(row, "uri") ?? "no URI"} />
        {mimeType !== null && (
          <span class="tag">
            <SafeText text={mimeType} />
          </span>
        )}
      </div>
      {children}
    </div>
  );
}

/** The contents of a resource. */
export function Resource({ doc, row }: Place): JSX.Element {
  const text = doc.stringAt(row, "text");
  const blob = doc.stringAt(row, "blob");
  const mimeType = doc.stringAt(row, "mimeType");
  return (
    <ResourceFrame doc={doc} row={row} title={doc.stringAt(row, "title")}>
      {text !== null && <TextBlock text={text} mimeType={mimeType} label="the resource" />}
      {blob !== null && <Binary data={blob} mimeType={mimeType ?? "application/octet-stream"} />}
      {text === null && blob === null && <p class="dim">No content.</p>}
    </ResourceFrame>
  );
}
