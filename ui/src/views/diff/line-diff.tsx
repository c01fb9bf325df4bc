// Two texts, line by line.

import type { JSX } from "preact";
import type { DiffLine } from "../../text/line-diff";
import { safePieces } from "../../text/safe-text";
import { count } from "../../text/units";

const SIGNS: Record<DiffLine["kind"], string> = { same: " ", removed: "-", added: "+", skipped: "…" };
const MAX_LINES = 600;
const MAX_WIDTH = 2_000;

export function LineDiff({ lines }: { lines: readonly DiffLine[] | null }): JSX.Element {
  if (lines === null) return <p class="dim">Too long to compare line by line.</p>;
  return (
    <pre class="line-diff" tabIndex={0}>
      {lines.slice(0, MAX_LINES).map((line, index) => (
        <span key={index} class={`diff-line diff-${line.kind}`}>
          <span class="diff-sign">{SIGNS[line.kind]}</span>
          {safePieces(line.text.length > MAX_WIDTH ? `${line.text.slice(0, MAX_WIDTH)}…` : line.text, "keep")}
          {"\n"}
        </span>
      ))}
      {lines.length > MAX_LINES && <span class="dim">{`… ${count(lines.length - MAX_LINES, "more line")}`}</span>}
    </pre>
  );
}
