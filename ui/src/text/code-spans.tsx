// Text of the program itself, which marks code with backticks as Markdown does.

import type { JSX } from "preact";
import { SafeText } from "./safe-text";

/** Splits a text at backticks: every other part is code. An unpaired backtick is kept. */
export function codeSpanParts(text: string): string[] {
  const parts = text.split("`");
  if (parts.length % 2 === 1) return parts;
  const last = parts.pop() ?? "";
  const before = parts.pop() ?? "";
  return [...parts, `${before}\`${last}`];
}

/**
 * A message of the program as a sentence. The API writes messages as the terminal prints them: lower case, no full stop. A
 * first word that is a name, such as `notes.jsonl` or an address, keeps its case.
 */
export function sentence(text: string): string {
  const capitalised = /^[a-z]+(?:'[a-z]+)?(?=[\s,;]|:\s|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(capitalised) ? capitalised : `${capitalised}.`;
}

export function Sentence({ text }: { text: string }): JSX.Element {
  return <CodeSpans text={sentence(text)} />;
}

export function CodeSpans({ text }: { text: string }): JSX.Element {
  return (
    <>
      {codeSpanParts(text).map((part, index) =>
        index % 2 === 1 ? (
          <code key={index} class="code-span">
            <SafeText text={part} />
          </code>
        ) : (
          <SafeText key={index} text={part} breaks="keep" />
        ),
      )}
    </>
  );
}
