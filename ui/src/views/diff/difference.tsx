// The differences between two calls, by JSON pointer.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { DifferenceView } from "../../api/types";
import { indented } from "../../json/format";
import { parseJson } from "../../json/parse";
import { lineDiff } from "../../text/line-diff";
import { SafeText, safePieces } from "../../text/safe-text";
import { count } from "../../text/units";
import { LineDiff } from "./line-diff";

const MAX_SHOWN = 20_000;

/** `isInside`: the differences are within a string, so they have no request or response part. */
export function Differences({ of, isInside = false }: { of: readonly DifferenceView[]; isInside?: boolean }): JSX.Element {
  return (
    <ul class="differences">
      {of.map((difference, index) => (
        <li key={index}>
          <Difference difference={difference} isInside={isInside} />
        </li>
      ))}
    </ul>
  );
}

function Difference({ difference, isInside }: { difference: DifferenceView; isInside: boolean }): JSX.Element {
  const { part, pointer, before, after, inside } = difference;
  return (
    <>
      <p class="difference-place">
        <code>
          <SafeText text={isInside ? pointer || "(root)" : `${part}${pointer}`} />
        </code>
        <span class="dim">{before === null ? "added" : after === null ? "removed" : inside.length > 0 ? "JSON in a string" : ""}</span>
      </p>
      {inside.length > 0 ? <Differences of={inside} isInside /> : <BeforeAfter before={before} after={after} />}
    </>
  );
}

/** Two JSON values; long ones as a line diff. */
export function BeforeAfter({ before, after }: { before: string | null; after: string | null }): JSX.Element {
  const lines = useMemo(() => {
    if (before === null || after === null) return null;
    const [a, b] = [readable(before), readable(after)];
    return a.includes("\n") || b.includes("\n") ? lineDiff(a, b) : null;
  }, [before, after]);
  if (lines !== null) return <LineDiff lines={lines} />;
  return (
    <div class="before-after">
      {before !== null && <Side sign="-" name="removed" json={before} />}
      {after !== null && <Side sign="+" name="added" json={after} />}
    </div>
  );
}

function Side({ sign, name, json }: { sign: string; name: string; json: string }): JSX.Element {
  const text = useMemo(() => shortOrIndented(json), [json]);
  return (
    <pre class={`side diff-${name}`} tabIndex={0}>
      <span class="diff-sign">{sign}</span>
      {safePieces(text.slice(0, MAX_SHOWN), "keep")}
      {text.length > MAX_SHOWN && `… ${count(text.length - MAX_SHOWN, "more character")}`}
    </pre>
  );
}

function shortOrIndented(json: string): string {
  return json.length > 80 ? indented(parseJson(json), 0) : json;
}

/** The text to compare by line: a string itself, anything else as indented JSON. */
function readable(json: string): string {
  const doc = parseJson(json);
  return doc.string(0) ?? indented(doc, 0);
}
