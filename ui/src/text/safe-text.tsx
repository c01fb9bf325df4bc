// Text from a trace: isolated from its surroundings, with invisible characters escaped.

import type { JSX } from "preact";
import { type Breaks, visiblePieces } from "./visible";

/** Inline text from a trace. */
export function SafeText({ text, breaks = "escape" }: { text: string; breaks?: Breaks }): JSX.Element {
  return <bdi class="safe-text">{safePieces(text, breaks)}</bdi>;
}

/** A text with more escapes than this is not marked up: thousands of elements would slow the page down. */
const MARKED = 2_000;

/** The same without an element around it. */
export function safePieces(text: string, breaks: Breaks): (JSX.Element | string)[] {
  const pieces = visiblePieces(text, breaks);
  if (pieces.length > MARKED) return [pieces.map((piece) => piece.text).join("")];
  return pieces.map((piece, index) =>
    piece.isEscape ? (
      <span key={index} class="escaped-char">
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}
