// The visible lines of a tree, given the open ones. A flat list, so that depth costs nothing.

import type { JsonDocument } from "./document";
import { type Slice, sliceKey, slicesOf, slicesTo } from "./slices";

/** A line of the tree: a value, or a range of the members of one. */
export interface TreeRow {
  row: number;
  depth: number;
  slice: Slice | null;
  /** Its key in the set of open lines. */
  key: string;
  isOpen: boolean;
}

/** The lines to show, at most `limit` of them, and whether there are more. */
export function treeRows(
  doc: JsonDocument,
  root: number,
  open: ReadonlySet<string>,
  limit: number,
): { rows: TreeRow[]; hasMore: boolean } {
  const rows: TreeRow[] = [];
  const waiting: TreeRow[] = doc.size > 0 ? [nodeRow(doc, root, 0, open)] : [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (rows.length >= limit) return { rows, hasMore: true };
    rows.push(next);
    if (next.isOpen) waiting.push(...inside(doc, next, open).reverse());
  }
  return { rows, hasMore: false };
}

function inside(doc: JsonDocument, { row, depth, slice }: TreeRow, open: ReadonlySet<string>): TreeRow[] {
  const range = slice ?? { from: 0, to: doc.count(row) };
  const slices = slicesOf(range);
  if (slices.length > 0) return slices.map((inner) => sliceRow(row, depth + 1, inner, open));
  return Array.from(doc.children(row).subarray(range.from, range.to), (child) => nodeRow(doc, child, depth + 1, open));
}

function nodeRow(doc: JsonDocument, row: number, depth: number, open: ReadonlySet<string>): TreeRow {
  const key = String(row);
  return { row, depth, slice: null, key, isOpen: doc.count(row) > 0 && open.has(key) };
}

function sliceRow(row: number, depth: number, slice: Slice, open: ReadonlySet<string>): TreeRow {
  const key = sliceKey(row, slice);
  return { row, depth, slice, key, isOpen: open.has(key) };
}

/** The keys that must be open for a value to be visible. */
export function keysTo(doc: JsonDocument, row: number): string[] {
  const path = [...doc.ancestors(row), row];
  return path.slice(0, -1).flatMap((ancestor, index) => {
    const child = path[index + 1] ?? row;
    return [String(ancestor), ...slicesTo(ancestor, doc.count(ancestor), doc.indexOf(child))];
  });
}

/** The keys of all containers, down to a depth and up to a number of lines. */
export function keysToDepth(doc: JsonDocument, root: number, depth: number, limit: number): Set<string> {
  const open = new Set<string>();
  let level = [root];
  let shown = 1;
  for (let at = 0; at < depth && level.length > 0; at += 1) {
    const below: number[] = [];
    for (const row of level) {
      const count = doc.count(row);
      if (count === 0) continue;
      shown += Math.min(count, 100);
      if (shown > limit) return open;
      open.add(String(row));
      if (count <= 100) below.push(...doc.children(row));
    }
    level = below;
  }
  return open;
}
