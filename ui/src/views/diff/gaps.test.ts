import { expect, test } from "vitest";
import type { DiffRow } from "../../api/types";
import { statusesOf, statusText, toggled, withGaps } from "./gaps";

const row = (n: number): DiffRow => ({
  row: n, status: "changed", pace: null, direction: "in", method: "tools/call", name: null, a: null, b: null,
});
const shape = (rows: number[], all: number, isLast: boolean) =>
  withGaps(rows.map(row), all, isLast).map((item) => (item.kind === "gap" ? `${item.count} from ${item.from}` : item.row.row));

test("hidden rows are counted where they are", () => {
  expect(shape([2, 3, 7], 10, true)).toEqual(["2 from 0", 2, 3, "3 from 4", 7, "2 from 8"]);
  expect(shape([2], 10, false)).toEqual(["2 from 0", 2]);
  expect(shape([], 4, true)).toEqual(["4 from 0"]);
  expect(shape([0], 1, true)).toEqual([0]);
});

test("statuses come from the URL and go back", () => {
  expect(statusesOf("")).toEqual(["changed", "added", "removed"]);
  expect(statusesOf("same,nonsense")).toEqual(["same"]);
  expect(statusText(["removed", "changed", "added"])).toBe("");
  expect(statusText(["same", "changed"])).toBe("changed,same");
  expect(toggled(["same"], "same")).toEqual(["changed", "added", "removed"]);
  expect(toggled(["changed"], "added")).toEqual(["changed", "added"]);
});
