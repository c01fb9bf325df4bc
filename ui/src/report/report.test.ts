import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { CallRow, MessageRow, Report } from "../api/types";
import { ReportBackend } from "./backend";
import { LineStore } from "./lines";
import { sorted } from "./select";
import { hasText } from "./text";

const packed = (text: string): string => gzipSync(text).toString("base64");

test("text is found as it reads", () => {
  const has = (json: string, wanted: string): boolean => hasText(json, wanted);
  expect(has('{"a":"Über Quota!"}', "über quota")).toBe(true);
  expect(has('{"a":"\\u00dcber Quota!"}', "über quota")).toBe(true);
  expect(has('{"über quota":1}', "über quota")).toBe(true);
  expect(has('{"a":"quota"}', "über quota")).toBe(false);
  expect(has("[1,4242]", "42")).toBe(true);
  expect(has('["\\nul"]', "nul")).toBe(false);
  expect(has('{"a":"b"}', '":"')).toBe(false);
});

test("lines are unpacked where they are", async () => {
  const pieces = [
    { first: 1, data: packed("a\nb\n") },
    { first: 3, data: packed("c\n") },
    { first: 4, data: packed("d\n\nf\n") },
  ];
  const store = new LineStore(() => pieces);
  expect(await store.line(0, 3)).toBe("c");
  expect(await store.line(0, 5)).toBe("");
  expect(await store.line(0, 9)).toBeNull();
  expect(await store.range(0, 2, 3)).toEqual(["b", "c", "d"]);
  expect(await store.range(0, 4, 10)).toEqual(["d", "", "f"]);
  const all: string[] = [];
  await store.each(0, (number, line) => all.push(`${number}${line}`));
  expect(all).toEqual(["1a", "2b", "3c", "4d", "5", "6f"]);
});

function call(number: number, more: Partial<CallRow> = {}): CallRow {
  return {
    trace: 0, call: number, line: number * 2, responseLine: number * 2 + 1, atUs: number * 1000, direction: "in", id: String(number),
    session: null, method: "tools/call", tool: "weather", status: "ok", isError: false, isOpen: false, code: null, latencyUs: 500,
    personUs: 0, clientUs: 0, requestBytes: 10, responseBytes: 20, progress: 0, nested: 0, parent: null, operation: null, about: "", ...more,
  };
}

function message(line: number, of: number | null, more: Partial<MessageRow> = {}): MessageRow {
  return {
    trace: 0, line, atUs: line * 500, direction: "in", kind: "request", method: "tools/call", tool: null, id: null, call: of, status: null,
    isError: false, bytes: 1, about: "", ...more,
  };
}

function report(): Report {
  const calls = [call(1), call(2, { tool: "search", latencyUs: 9000, parent: 1, direction: "out" })];
  return {
    version: "0.2.0", createdMs: 0, redacted: 1, calls,
    set: { traces: [{ label: "demo", key: "demo", lines: 6, calls: 2 }], fromUs: 0, toUs: 5000, isReport: true } as unknown as Report["set"],
    messages: [message(1, null, { kind: "stderr" }), message(2, 1), message(3, 1), message(4, 2), message(5, 2), message(6, null, { kind: "end" })],
    details: calls.map((row) => ({ trace: 0, call: row.call, requestIndex: row.call === 2 ? 1 : null, responseIndex: null, meanwhile: [], more: 0, http: null, curl: null })),
    tools: {} as Report["tools"], sessions: [], lint: { rules: [] } as unknown as Report["lint"],
  };
}

function backend(): ReportBackend {
  const lines = [
    '{"type":"stderr","text":"Quota is over"}',
    '{"raw":{"id":1,"q":"Lisbon"}}',
    '{"raw":{"id":1,"result":{}}}',
    '{"raw":[{"id":7},{"id": 2, "q":"a\\"b"}]}',
    '{"raw":{"id":2,"result":"over quota"}}',
    '{"type":"end"}',
  ];
  return new ReportBackend(packed(JSON.stringify(report())), () => [{ first: 1, data: packed(`${lines.join("\n")}\n`) }]);
}

test("a report answers as a server would", async () => {
  const told = backend();
  const all = { filter: "", sort: "", from: 0, limit: 10 };
  expect((await told.calls([], all)).total).toBe(2);
  expect((await told.calls([], { ...all, filter: "tool:search" })).rows.map((row) => row.call)).toEqual([2]);
  expect((await told.calls([], { ...all, filter: "quota" })).rows.map((row) => row.call)).toEqual([2]);
  expect((await told.messages([], { ...all, filter: "quota" })).rows.map((row) => row.line)).toEqual([1, 4, 5]);
  expect((await told.messages([], { ...all, filter: "server:demo" })).rows.map((row) => row.line)).toEqual([1, 2, 3, 4, 5]);
  expect(await told.position([], { at: 0, line: 4, filter: "" })).toBe(3);
  await expect(told.calls([], { ...all, filter: "toool:x" })).rejects.toMatchObject({ problem: { span: [0, 7] } });
});

test("a call is put together from its lines", async () => {
  const second = await backend().call([], 0, 2);
  expect(second.request).toEqual({ line: 4, text: '{"id": 2, "q":"a\\"b"}', bytes: 21, isCut: false });
  expect(second.response?.text).toBe('{"id":2,"result":"over quota"}');
  expect([second.previous, second.next]).toEqual([1, null]);
  expect((await backend().call([], 0, 1)).nested.map((row) => row.call)).toEqual([2]);
});

test("a timeline is made from the calls", async () => {
  const told = backend();
  const { bars, total } = await told.timeline([], { filter: "", fromUs: 1600, toUs: 5000, limit: 5 });
  expect([bars.map((bar) => bar.name), total]).toEqual([["search"], 1]);
  const density = await told.density([], 5);
  expect([density.calls, density.stderr]).toEqual([
    [0, 1, 1, 0, 0],
    [1, 0, 0, 0, 0],
  ]);
});

test("sorting is stable, and turning around turns all", () => {
  const rows = [call(1), call(2), call(3, { latencyUs: null })];
  expect(sorted(rows, "latency").map((row) => row.call)).toEqual([3, 1, 2]);
  expect(sorted(rows, "-latency").map((row) => row.call)).toEqual([2, 1, 3]);
  expect(sorted(rows, "").map((row) => row.call)).toEqual([1, 2, 3]);
});
