// Words of the program itself, in which names stand between backticks.

import type { JSX } from "preact";
import { SafeText } from "./safe-text";

/** The parts of a text: every other one stood between backticks. A backtick without a partner stays. */
export function tickedParts(text: string): string[] {
  const parts = text.split("`");
  if (parts.length % 2 === 1) return parts;
  const last = parts.pop() ?? "";
  const before = parts.pop() ?? "";
  return [...parts, `${before}\`${last}`];
}

export function Ticked({ text }: { text: string }): JSX.Element {
  return (
    <>
      {tickedParts(text).map((part, index) =>
        index % 2 === 1 ? (
          <code key={index} class="ticked">
            <SafeText text={part} />
          </code>
        ) : (
          <SafeText key={index} text={part} breaks="keep" />
        ),
      )}
    </>
  );
}
