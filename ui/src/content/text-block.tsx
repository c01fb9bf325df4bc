// A text as a person wants it: Markdown or JSON where it looks like that, and always as it is, one click away.

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

/** The ways to show a text, the best first. `mimeType` is what the trace says of it, `doc` is set if it is JSON. */
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
  /** `prose`: words for people, not the output of a program. */
  look?: "code" | "prose";
};

/** A text with its switch and a button to copy it. */
export function TextBlock({ text, mimeType = null, label, look = "code" }: TextBlockProps): JSX.Element {
  const mayBeJson = useMemo(() => looksLikeJson(text), [text]);
  const read = useJson(mayBeJson ? text : null);
  const doc = read?.problem === null ? read : null;
  const modes = useMemo(() => modesOf(text, mimeType, doc), [text, mimeType, doc]);
  const [chosen, setChosen] = useState<Mode | null>(null);
  const mode = chosen !== null && modes.includes(chosen) ? chosen : (modes[0] ?? "plain");
  if (mayBeJson && read === null) return <p class="dim">Reading…</p>;
  return (
    <div class={`text-block as-${mode}`}>
      <div class="block-tools">
        {modes.length > 1 && (
          <div class="switch" role="group" aria-label={`How ${label} is shown`}>
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

/** A text as it is, with its line breaks; the beginning if it is long. */
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
          {`Show more (${number(rest)} characters)`}
        </button>
      )}
    </>
  );
}
