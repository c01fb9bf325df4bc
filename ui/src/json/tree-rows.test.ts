import { expect, test } from "vitest";
import { parseJson } from "./parse";
import { resolve } from "./path";
import { keysTo, keysToDepth, treeRows } from "./tree-rows";

test("only what is open is shown", () => {
  const doc = parseJson('{"a":{"b":[1,2]},"c":3}');
  expect(treeRows(doc, 0, new Set(), 100).rows.length).toBe(1);
  const one = treeRows(doc, 0, keysToDepth(doc, 0, 1, 100), 100);
  expect(one.rows.map(({ row, depth }) => [doc.key(row), depth])).toEqual([
    [null, 0],
    ["a", 1],
    ["c", 1],
  ]);
  expect(treeRows(doc, 0, keysToDepth(doc, 0, 9, 100), 100).rows.length).toBe(6);
  expect(treeRows(doc, 0, keysToDepth(doc, 0, 9, 100), 3).hasMore).toBe(true);
});

test("an element of a long array is reached through its slices", () => {
  const doc = parseJson(`{"list":[${"0,".repeat(12_345)}"here"]}`);
  const here = resolve(doc, "/list/12345");
  const { rows } = treeRows(doc, 0, new Set(keysTo(doc, here)), 1000);
  expect(rows.some(({ row, slice }) => row === here && slice === null)).toBe(true);
  expect(rows.length).toBeLessThan(160);
});

test("an empty value has nothing to open", () => {
  const doc = parseJson("[]");
  expect(treeRows(doc, 0, new Set(["0"]), 10).rows[0]?.isOpen).toBe(false);
  expect(treeRows(parseJson(""), 0, new Set(), 10).rows).toEqual([]);
});

test("depth is opened within limits", () => {
  const doc = parseJson("[".repeat(10_000) + "]".repeat(10_000));
  const open = keysToDepth(doc, 0, 100_000, 2_000);
  expect(open.size).toBeLessThanOrEqual(2_000);
  expect(treeRows(doc, 0, open, 5_000).rows.length).toBeLessThanOrEqual(2_001);
});
