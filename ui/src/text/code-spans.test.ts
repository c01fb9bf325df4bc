import { expect, test } from "vitest";
import { codeSpanParts, sentence } from "./code-spans";

test("backticks mark code", () => {
  expect(codeSpanParts("`id` is null")).toEqual(["", "id", " is null"]);
  expect(codeSpanParts("plain")).toEqual(["plain"]);
  expect(codeSpanParts("a `b` and ` alone")).toEqual(["a ", "b", " and ` alone"]);
});

test("messages of the API become sentences", () => {
  expect(sentence("no trace `x` on this machine")).toBe("No trace `x` on this machine.");
  expect(sentence("can't read it")).toBe("Can't read it.");
  expect(sentence("`soon` is not a duration")).toBe("`soon` is not a duration.");
  expect(sentence("notes.jsonl is damaged")).toBe("notes.jsonl is damaged.");
  expect(sentence("https://a.example is not reachable")).toBe("https://a.example is not reachable.");
  expect(sentence("Already one.")).toBe("Already one.");
});
