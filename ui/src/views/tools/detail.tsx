// One tool: its latencies and its definition.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ToolRow } from "../../api/types";
import { Histogram } from "../../chart/histogram";
import { SchemaView } from "../../content/schema";
import { TextBlock } from "../../content/text-block";
import type { JsonDocument } from "../../json/document";
import { JsonPanel } from "../../json/panel";
import { parseJson } from "../../json/parse";
import { go, href } from "../../router";
import { SafeText } from "../../text/safe-text";
import { count, duration, number } from "../../text/units";
import { visible } from "../../text/visible";
import { Section } from "../parts/section";

type DetailProps = { row: ToolRow; boundsUs: readonly number[]; isTool: boolean };

export function ToolDetail({ row, boundsUs, isTool }: DetailProps): JSX.Element {
  const word = isTool ? "tool" : "method";
  return (
    <aside class="tool-detail" aria-label={visible(row.name)}>
      <header class="detail-head">
        <h2>
          <SafeText text={row.name} />
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => go({ open: "" })}>
          ✕
        </button>
      </header>
      <p>
        {row.calls > 0 ? (
          <>
            <a href={href({ view: "calls", filter: filterOf(word, row.name) })}>{`Show ${count(row.calls, "call")}`}</a>
            {row.errors > 0 && (
              <>
                {" · "}
                <a href={href({ view: "calls", filter: `${filterOf(word, row.name)} status:error` })}>{`${number(row.errors)} failed`}</a>
              </>
            )}
            {row.unanswered > 0 && ` · ${number(row.unanswered)} unanswered`}
            {row.maxUs !== null && ` · max ${duration(row.maxUs)}`}
          </>
        ) : (
          <span class="dim">Never called.</span>
        )}
      </p>
      {row.calls > 0 && (
        <Section title="Latency">
          <Histogram boundsUs={boundsUs} counts={row.histogram} label={`Latency of ${visible(row.name)}`} />
        </Section>
      )}
      {row.definition !== null && <Definition source={row.definition} tokens={row.definitionTokens} />}
      {row.definition === null && isTool && (
        <p class="notice warn">This tool was called, but no tool list in this trace defines it.</p>
      )}
    </aside>
  );
}

/** The filter for the calls of one tool. */
function filterOf(word: string, name: string): string {
  return /^[\w./-]+$/.test(name) ? `${word}:${name}` : `${word}:"${name.replaceAll('"', "?")}"`;
}

function Definition({ source, tokens }: { source: string; tokens: number | null }): JSX.Element {
  const doc = useMemo(() => parseJson(source), [source]);
  const description = doc.stringAt(0, "description");
  const title = doc.stringAt(0, "title");
  const [input, output] = [doc.at(0, "inputSchema"), doc.at(0, "outputSchema")];
  return (
    <Section title="Definition" aside={tokens !== null && <span class="dim">{count(tokens, "token")}</span>}>
      {title !== null && (
        <p>
          <strong>
            <SafeText text={title} />
          </strong>
        </p>
      )}
      {description !== null ? (
        <TextBlock text={description} label="the description" look="prose" />
      ) : (
        <p class="dim">No description.</p>
      )}
      <Annotations doc={doc} />
      {input >= 0 && (
        <>
          <h3>Arguments</h3>
          <SchemaView doc={doc} row={input} />
        </>
      )}
      {output >= 0 && (
        <>
          <h3>Structured result</h3>
          <SchemaView doc={doc} row={output} />
        </>
      )}
      <details>
        <summary>Raw JSON</summary>
        <JsonPanel doc={doc} label="the definition" />
      </details>
    </Section>
  );
}

const HINTS: Record<string, [yes: string, no: string]> = {
  readOnlyHint: ["read-only", "may modify data"],
  destructiveHint: ["destructive", "not destructive"],
  idempotentHint: ["idempotent", "not idempotent"],
  openWorldHint: ["open world", "closed world"],
};

function Annotations({ doc }: { doc: JsonDocument }): JSX.Element | null {
  const annotations = doc.at(0, "annotations");
  if (annotations < 0 || doc.count(annotations) === 0) return null;
  return (
    <p class="annotations">
      {Array.from(doc.children(annotations), (row) => {
        const key = doc.key(row) ?? "";
        const words = HINTS[key]?.[doc.source(row) === "true" ? 0 : 1];
        return (
          <span key={row} class={key === "destructiveHint" && doc.source(row) === "true" ? "badge warn" : "badge"} title={visible(`${key}: ${doc.source(row).slice(0, 100)}`)}>
            <SafeText text={words ?? `${key}: ${doc.source(row).slice(0, 100)}`} />
          </span>
        );
      })}
    </p>
  );
}
