import { expect, test } from "vitest";
import type { CallRow, Meanwhile } from "../../api/types";
import { ticks, timeParts } from "./time-parts";

const row = (parts: Partial<CallRow>): CallRow => ({
  trace: 0, call: 1, line: 1, responseLine: 2, atUs: 0, direction: "in", id: "1", session: null, method: "tools/call",
  tool: "book", status: "ok", isError: false, isOpen: false, code: null, latencyUs: 1_000, personUs: 0, clientUs: 0,
  requestBytes: 1, responseBytes: 1, progress: 0, nested: 0, parent: null, operation: null, about: "", ...parts,
});

test("the duration is split between server, client and user", () => {
  expect(timeParts(row({ personUs: 600, clientUs: 150 })).map(({ who, us, share }) => [who, us, share])).toEqual([
    ["callee", 250, 0.25],
    ["caller", 150, 0.15],
    ["user", 600, 0.6],
  ]);
  expect(timeParts(row({}))).toEqual([{ who: "callee", words: "server", us: 1_000, share: 1 }]);
  expect(timeParts(row({ direction: "out" }))[0]?.words).toBe("client");
});

test("inconsistent figures never exceed the total", () => {
  expect(timeParts(row({ personUs: 5_000, clientUs: 5_000 })).map((part) => part.us)).toEqual([0, 1_000]);
  expect(timeParts(row({ latencyUs: null }))).toEqual([]);
  expect(timeParts(row({ latencyUs: 0 }))[0]?.share).toBe(1);
});

test("messages during the call are ticks on its bar", () => {
  const item = (afterUs: number | null): Meanwhile => ({ line: 3, afterUs, kind: "progress", call: null, about: "" });
  expect(ticks(row({}), [item(250), item(null), item(5_000)]).map((tick) => tick.at)).toEqual([0.25, 1]);
  expect(ticks(row({ latencyUs: null }), [item(100), item(200)]).map((tick) => tick.at)).toEqual([0.5, 1]);
});
