// Values as text: indented, or as a preview of one line. Both keep the source, digit for digit.

import { Kind } from "./columns";
import type { JsonDocument } from "./document";

/** A value with line breaks and indents; as it was written if it is very large or broken. */
export function indented(doc: JsonDocument, row: number): string {
  if (doc.problem !== null || doc.after(row) - row > 200_000) return doc.source(row);
  const out: string[] = [];
  const end = doc.after(row);
  const open: number[] = [];
  for (let at = row; at < end; at += 1) {
    while (open.length > 0 && at >= doc.after(top(open))) closeTop(doc, open, out);
    const parent = open.length > 0 ? top(open) : -1;
    if (parent >= 0) out.push(at === parent + 1 ? "\n" : ",\n", "  ".repeat(Math.min(open.length, 100)));
    if (at !== row) out.push(keyText(doc, at));
    if (!doc.isContainer(at) || doc.count(at) === 0) out.push(doc.isContainer(at) ? emptyText(doc, at) : doc.source(at));
    else {
      out.push(doc.kind(at) === Kind.Object ? "{" : "[");
      open.push(at);
    }
  }
  while (open.length > 0) closeTop(doc, open, out);
  return out.join("");
}

function top(open: number[]): number {
  return open[open.length - 1] ?? 0;
}

function closeTop(doc: JsonDocument, open: number[], out: string[]): void {
  const row = open.pop() ?? 0;
  out.push("\n", "  ".repeat(Math.min(open.length, 100)), doc.kind(row) === Kind.Object ? "}" : "]");
}

function emptyText(doc: JsonDocument, row: number): string {
  return doc.kind(row) === Kind.Object ? "{}" : "[]";
}

function keyText(doc: JsonDocument, row: number): string {
  const key = doc.keySource(row);
  return key === null ? "" : `${key}: `;
}

/** A short preview of a collapsed value: `{city: "Lisbon", days: 3}`. */
export function preview(doc: JsonDocument, row: number, limit = 100): string {
  const out: string[] = [];
  addPreview(doc, row, limit, out, 0);
  const text = out.join("");
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function addPreview(doc: JsonDocument, row: number, limit: number, out: string[], depth: number): void {
  if (!doc.isContainer(row)) {
    const [from, to] = doc.span(row);
    out.push(doc.text.slice(from, Math.min(to, from + limit)));
    return;
  }
  const isObject = doc.kind(row) === Kind.Object;
  out.push(isObject ? "{" : "[");
  let child = row + 1;
  for (let index = 0; index < doc.count(row); index += 1) {
    if (index > 0) out.push(", ");
    if (index >= 8 || depth >= 3 || out.length > limit) {
      out.push("…");
      break;
    }
    if (isObject) out.push(doc.key(child)?.slice(0, limit) ?? "", ": ");
    addPreview(doc, child, limit, out, depth + 1);
    child = doc.after(child);
  }
  out.push(isObject ? "}" : "]");
}
