import { expect, test } from "vitest";
import { lineDiff } from "./line-diff";

const check = (before: string, after: string, expected: string[]) => {
  const signs = { same: " ", removed: "-", added: "+", skipped: "…" };
  expect(lineDiff(before, after, 1)?.map((line) => signs[line.kind] + line.text)).toEqual(expected);
};

test("lines are removed and added", () => {
  check("a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]);
  check("a", "a\nb", [" a", "+b"]);
  check("", "a", ["-", "+a"]);
});

test("what moved about little is found again", () => {
  check("a\nb\nc\nd", "b\nc\nnew\nd", ["-a", " b", " c", "+new", " d"]);
});

test("same lines far away are counted", () => {
  check("1\n2\n3\n4\n5\nx", "1\n2\n3\n4\n5\ny", ["…4 unchanged lines", " 5", "-x", "+y"]);
});

test("very long texts are not compared", () => {
  const many = (word: string) => Array.from({ length: 2_000 }, (_, index) => word + index).join("\n");
  expect(lineDiff(many("a"), many("b"))).toBeNull();
  expect(lineDiff(many("a"), `${many("a")}\nb`)?.length).toBe(5);
});
