import { expect, test } from "vitest";
import { FilterError, matches, parse, type Subject } from "./filter";
import { globMatches, parseGlob } from "./glob";

const search: Subject = {
  method: "tools/call",
  tool: "search_files",
  status: "tool-error",
  direction: "in",
  session: "abc",
  server: "files",
  id: "7",
  latencyUs: 250_000,
  requestBytes: 100,
  responseBytes: 2_000,
};

const passes = (filter: string, subject = search): boolean =>
  matches(parse(filter), subject, (text) => "over quota, sorry".includes(text));

test.each([
  ["", true],
  ["tool:search*", true],
  ["tool:read*,search*", true],
  ["tool:read*", false],
  ["-tool:read* status:error", true],
  ["!tool:read* !status:ok", true],
  ["tool:search* status:ok", false],
  ["status:tool_error,ok", true],
  ["dir:in", true],
  ["dir:out", false],
  ["latency>200ms", true],
  ["latency>=0.25s latency<=250000us", true],
  ["latency<200ms", false],
  ["response>1.5kB request<1k", true],
  ["session:a* server:files id:7", true],
  ['text:"Over Quota"', true],
  ['quota -"no such"', true],
  ['text:"no such"', false],
])("%s", (filter, expected) => {
  expect(passes(filter)).toBe(expected);
});

test("what is not known does not pass", () => {
  for (const filter of ["tool:*", "status:ok", "latency>0s", "dir:in"]) expect(passes(filter, {})).toBe(false);
});

test.each([
  ["tool:a toool:b", [7, 14], "unknown field `toool`"],
  ["latency:200ms", [0, 13], "`latency>N`"],
  ["latency>soon", [0, 12], "write 200ms"],
  ["status:bad", [0, 10], "unknown status `bad`"],
  ["dir:up", [0, 6], "`in`"],
  ["tool:", [0, 5], "needs a value"],
  ["tool>3", [0, 6], "takes `:`"],
  ['text:"abc', [0, 9], "unclosed"],
  ["tool:é toool:b", [8, 15], "unknown field `toool`"],
  ["tool:{a", [0, 7], "unclosed alternate group"],
])("mistakes in %s are named", (filter, span, what) => {
  let mistake: unknown;
  try {
    parse(filter);
  } catch (error) {
    mistake = error;
  }
  expect(mistake).toBeInstanceOf(FilterError);
  expect((mistake as FilterError).message).toContain(what);
  expect((mistake as FilterError).span).toEqual(span);
});

test.each([
  ["*", "", true],
  ["a*c", "abc", true],
  ["a?c", "abc", true],
  ["tools/*", "tools/call", true],
  ["*list*", "tools/list_all", true],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["{read,write}_*", "write_file", true],
  ["**/call", "tools/call", true],
  ["**/call", "call", true],
  ["a/**/b", "a/b", true],
  ["a/**/b", "a/x/y/b", true],
  ["\\*", "*", true],
  ["\\*", "x", false],
  ["Search", "search", false],
])("glob %s on %s", (pattern, text, expected) => {
  expect(globMatches(parseGlob(pattern), text)).toBe(expected);
});

test("no pattern takes long", () => {
  const glob = parseGlob("*a*a*a*a*a*a*a*a*b");
  const before = performance.now();
  expect(globMatches(glob, "a".repeat(20_000))).toBe(false);
  expect(performance.now() - before).toBeLessThan(1000);
});
