// A text, rendered as Markdown or JSON if it looks like that; the plain text is one click away.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { JsonDocument } from "../json/document";
import { JsonPanel } from "../json/panel";
import { useJson } from "../json/use-json";
import { CopyButton } from "../text/copy";
import { safePieces } from "../text/safe-text";
import { number } from "../text/units";
import { Markdown } from "./markdown";
import { isTame, looksLikeJson, looksLikeMarkdown } from "./tame";

type Mode = "markdown" | "json" | "plain";

const MODE_NAMES: Record<Mode, string> = { markdown: "Markdown", json: "JSON", plain: "Plain" };

/** The modes for a text, best first. `mimeType` comes from the trace; `doc` is set if the text is JSON. */
export function modesOf(text: string, mimeType: string | null, doc: JsonDocument | null): Mode[] {
  if (doc !== null) return ["json", "plain"];
  const saysMarkdown = mimeType?.startsWith("text/markdown") ?? false;
  if ((saysMarkdown || looksLikeMarkdown(text)) && isTame(text)) return ["markdown", "plain"];
  return ["plain"];
}

type TextBlockProps = {
  text: string;
  mimeType?: string | null;
  label: string;
  /** `prose`: text for people, not the output of a program. */
  look?: "code" | "prose";
};

/** A text with a switch for its mode and a copy button. */
export function TextBlock({ text, mimeType = null, label, look = "code" }: TextBlockProps): JSX.Element {
  const mayBeJson = useMemo(() => looksLikeJson(text), [text]);
  const read = useJson(mayBeJson ? text : null);
  const doc = read?.problem === null ? read : null;
  const modes = useMemo(() => modesOf(text, mimeType, doc), [text, mimeType, doc]);
  const [chosen, setChosen] = useState<Mode | null>(null);
  const mode = chosen !== null && modes.includes(chosen) ? chosen : (modes[0] ?? "plain");
  if (mayBeJson && read === null) return <p class="dim">Loading…</p>;
  return (
    <div class={`text-block as-${mode}`}>
      <div class="block-tools">
        {modes.length > 1 && (
          <div class="switch" role="group" aria-label={`Format of ${label}`}>
            {modes.map((name) => (
              <button type="button" key={name} aria-pressed={name === mode} onClick={() => setChosen(name)}>
                {MODE_NAMES[name]}
              </button>
            ))}
          </div>
        )}
        {mode !== "json" && <CopyButton text={() => text}>Copy</CopyButton>}
      </div>
      {mode === "json" && doc !== null && <JsonPanel doc={doc} label={label} />}
      {mode === "markdown" && <Markdown text={text} />}
      {mode === "plain" && <PlainText text={text} look={look} />}
    </div>
  );
}

const FIRST = 10_000;
const MORE = 10_000;

/** A plain text with its line breaks; only the beginning of a long one. */
export function PlainText({ text, look = "code" }: { text: string; look?: "code" | "prose" }): JSX.Element {
  const [shown, setShown] = useState(FIRST);
  const rest = text.length - shown;
  return (
    <>
      <pre class={look === "prose" ? "plain-text prose" : "plain-text"} tabIndex={0}>
        {safePieces(rest > 0 ? text.slice(0, shown) : text, "keep")}
      </pre>
      {rest > 0 && (
        <button type="button" class="button" onClick={() => setShown(shown + MORE)}>
          {`Show more (${number(rest)} characters left)`}
        </button>
      )}
    </>
  );
}
