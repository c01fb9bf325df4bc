// Searches names and values, a few thousand values at a time, so that the page stays responsive.

import { Kind } from "./columns";
import type { JsonDocument } from "./document";

/** The matches so far. */
export interface Search {
  hits: number[];
  /** The row to continue with, or null at the end. */
  next: number | null;
}

export const HIT_LIMIT = 1000;
const STEP = 20_000;

/** Searches the next rows. `wanted` is in lower case. */
export function searchStep(doc: JsonDocument, wanted: string, before: Search): Search {
  if (before.next === null || wanted === "") return { hits: before.hits, next: null };
  const hits = [...before.hits];
  const end = Math.min(before.next + STEP, doc.size);
  for (let row = before.next; row < end && hits.length < HIT_LIMIT; row += 1) {
    if (hasText(doc, row, wanted)) hits.push(row);
  }
  return { hits, next: end < doc.size && hits.length < HIT_LIMIT ? end : null };
}

/** Whether the name or the value has the text. */
export function hasText(doc: JsonDocument, row: number, wanted: string): boolean {
  if (doc.key(row)?.toLowerCase().includes(wanted)) return true;
  if (doc.isContainer(row)) return false;
  const value = doc.kind(row) === Kind.String ? doc.string(row) : doc.source(row);
  return value?.toLowerCase().includes(wanted) ?? false;
}
