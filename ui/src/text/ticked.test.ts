import { expect, test } from "vitest";
import { tickedParts } from "./ticked";

test("what stands between backticks is told apart", () => {
  expect(tickedParts("`id` is null")).toEqual(["", "id", " is null"]);
  expect(tickedParts("plain")).toEqual(["plain"]);
  expect(tickedParts("a `b` and ` alone")).toEqual(["a ", "b", " and ` alone"]);
});
