// A line diff of two texts.

import { count } from "./units";

/** A line of one text, or of both. */
export interface DiffLine {
  kind: "same" | "removed" | "added" | "skipped";
  text: string;
}

const MAX_LINES = 1_500;

/** The lines of both texts, without unchanged lines far from any change. Null if the texts are too long to compare. */
export function lineDiff(before: string, after: string, context = 3): DiffLine[] | null {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middleA = a.slice(head, a.length - tail);
  const middleB = b.slice(head, b.length - tail);
  if (middleA.length > MAX_LINES || middleB.length > MAX_LINES) return null;
  const lines: DiffLine[] = [
    ...a.slice(0, head).map(same),
    ...middle(middleA, middleB),
    ...a.slice(a.length - tail).map(same),
  ];
  return shortened(lines, context);
}

function same(text: string): DiffLine {
  return { kind: "same", text };
}

/** The longest common lines stay; the rest is removed and added. */
function middle(a: string[], b: string[]): DiffLine[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(same(a[i] ?? ""));
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: a[i] ?? "" });
      i += 1;
    } else {
      lines.push({ kind: "added", text: b[j] ?? "" });
      j += 1;
    }
  }
  return lines;
}

function shortened(lines: DiffLine[], context: number): DiffLine[] {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (line.kind !== "same") keep.fill(1, Math.max(0, index - context), index + context + 1);
  });
  const out: DiffLine[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index];
    if (line === undefined) break;
    if (keep[index] === 1) {
      out.push(line);
      index += 1;
      continue;
    }
    const from = index;
    while (index < lines.length && keep[index] !== 1) index += 1;
    out.push({ kind: "skipped", text: count(index - from, "unchanged line") });
  }
  return out;
}
