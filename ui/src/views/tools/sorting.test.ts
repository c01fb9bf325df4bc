import { expect, test } from "vitest";
import type { ToolRow } from "../../api/types";
import { nextSort, sortedTools, toolKey, unusedTools } from "./sorting";

const row = (name: string, parts: Partial<ToolRow> = {}): ToolRow => ({
  trace: 0, name, direction: "in", calls: 1, share: 0.5, errors: 0, unanswered: 0, meanUs: null, p50Us: null, p95Us: null,
  p99Us: null, maxUs: null, histogram: [], sparkline: [], requestBytes: 0, responseBytes: 0, definitionTokens: null,
  resultTokens: null, definition: null, ...parts,
});

test("tools are sorted by the given column", () => {
  const rows = [row("b", { calls: 3 }), row("a", { calls: 5, p95Us: 7 }), row("c")];
  const names = (sort: string) => sortedTools(rows, sort).map(({ name }) => name).join("");
  expect(names("")).toBe("bac");
  expect(names("nonsense")).toBe("bac");
  expect(names("name")).toBe("abc");
  expect(names("-name")).toBe("cba");
  expect(names("-calls")).toBe("abc");
  expect(names("-p95")).toBe("abc");
});

test("a second click reverses the order", () => {
  expect(nextSort("calls", "")).toBe("-calls");
  expect(nextSort("calls", "-calls")).toBe("calls");
  expect(nextSort("name", "-calls")).toBe("name");
  expect(nextSort("name", "name")).toBe("-name");
});

test("tools of several traces have different keys", () => {
  expect(toolKey(row("read"))).toBe("read");
  expect(toolKey(row("read", { trace: 2 }))).toBe("2:read");
});

test("unused tools are counted", () => {
  const rows = [row("used"), row("a", { calls: 0, definitionTokens: 100 }), row("b", { calls: 0 })];
  expect(unusedTools(rows).tokens).toBe(100);
  expect(unusedTools(rows).rows.length).toBe(2);
});
