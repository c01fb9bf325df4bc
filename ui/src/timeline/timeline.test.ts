import { expect, test } from "vitest";
import type { Bar } from "../api/types";
import { drawnBars, layoutLanes } from "./layout";
import { move, ticks, within, zoom } from "./window";

function bar(call: number, atUs: number, latencyUs: number | null, more: Partial<Bar> = {}): Bar {
  return { trace: 0, call, atUs, latencyUs, status: "ok", isError: false, direction: "in", name: "x", parent: null, progress: 0, ...more };
}

const rowsOf = (bars: Bar[], shortest = 10): Record<number, number> =>
  Object.fromEntries(layoutLanes(bars, shortest).flatMap((lane) => lane.bars.map(({ bar, row }) => [bar.call, row])));

test("calls one after the other share a row", () => {
  expect(rowsOf([bar(1, 0, 100), bar(2, 100, 100), bar(3, 300, 100)])).toEqual({ 1: 0, 2: 0, 3: 0 });
});

test("calls at the same time have rows of their own", () => {
  expect(rowsOf([bar(1, 0, 100), bar(2, 50, 100), bar(3, 120, 100)])).toEqual({ 1: 0, 2: 1, 3: 0 });
});

test("what is too short to be seen still takes up room", () => {
  expect(rowsOf([bar(1, 0, 1), bar(2, 5, null)], 10)).toEqual({ 1: 0, 2: 1 });
});

test("nested requests are right under their call, and nothing comes in between", () => {
  const bars = [
    bar(1, 0, 1000),
    bar(2, 100, 200, { parent: 1, direction: "out" }),
    bar(3, 150, 200, { parent: 1, direction: "out" }),
    bar(4, 400, 100, { parent: 1, direction: "out" }),
    bar(5, 500, 1000),
  ];
  expect(rowsOf(bars)).toEqual({ 1: 0, 2: 1, 3: 2, 4: 1, 5: 3 });
});

test("a nested request whose call is not there stands for itself", () => {
  expect(rowsOf([bar(7, 0, 10, { parent: 3 })])).toEqual({ 7: 0 });
});

test("a call that names itself as its parent does no harm, nor do two that name each other", () => {
  expect(rowsOf([bar(1, 0, 10, { parent: 1 })])).toEqual({ 1: 0 });
  expect(rowsOf([bar(1, 0, 10, { parent: 2 }), bar(2, 0, 10, { parent: 1 })])).toEqual({ 1: 0, 2: 1 });
});

test("what is too short to be told apart piles up on few rows", () => {
  const [lane] = layoutLanes(Array.from({ length: 500 }, (_, n) => bar(n + 1, n, 1)), 1000);
  expect(lane?.rows).toBe(8);
});

test("one bar stands for all in its spot, but what failed is seen", () => {
  const placed = (bar: Bar) => ({ bar, row: 0, freeUntilUs: Infinity });
  const bars = [bar(1, 0, 1), bar(2, 3, 1, { isError: true }), bar(3, 5, 1), bar(4, 6, 500), bar(5, 20, 1), bar(6, 21, 1)];
  const drawn = drawnBars(bars.map(placed), 10, (bar) => bar.call === 6);
  expect(drawn.map(({ bar }) => bar.call)).toEqual([2, 4, 5, 6]);
});

test("each trace has its lane", () => {
  const lanes = layoutLanes([bar(1, 0, 10, { trace: 1 }), bar(1, 0, 10)], 1);
  expect(lanes.map(({ trace, rows }) => [trace, rows])).toEqual([
    [0, 1],
    [1, 1],
  ]);
});

test("a bar knows how much room its name has", () => {
  const [lane] = layoutLanes([bar(1, 0, 10), bar(2, 500, 10)], 1);
  expect(lane?.bars.map(({ freeUntilUs }) => freeUntilUs)).toEqual([500, Infinity]);
});

test("thousands of calls at once are laid out in no time", () => {
  const bars = Array.from({ length: 2000 }, (_, n) => bar(n, n, 1e6));
  const before = performance.now();
  expect(layoutLanes(bars, 1)[0]?.rows).toBe(2000);
  expect(performance.now() - before).toBeLessThan(500);
});

const whole = { fromUs: 1000, toUs: 101_000 };

test("zooming keeps the place", () => {
  expect(zoom(whole, 0.5, 51_000, whole)).toEqual({ fromUs: 26_000, toUs: 76_000 });
  expect(zoom(whole, 0.5, 1000, whole)).toEqual({ fromUs: 1000, toUs: 51_000 });
  expect(zoom({ fromUs: 1000, toUs: 51_000 }, 4, 1000, whole)).toEqual(whole);
});

test("moving ends where the time does", () => {
  expect(move({ fromUs: 1000, toUs: 2000 }, -500, whole)).toEqual({ fromUs: 1000, toUs: 2000 });
  expect(move({ fromUs: 1000, toUs: 2000 }, 1e9, whole)).toEqual({ fromUs: 100_000, toUs: 101_000 });
  expect(within({ fromUs: 5000, toUs: 5001 }, whole)).toEqual({ fromUs: 5000, toUs: 5050 });
});

test.each([
  [{ fromUs: 0, toUs: 10e6 }, ["0s", "2s", "4s", "6s", "8s", "10s"]],
  [{ fromUs: 0, toUs: 1e6 }, ["0.0s", "0.2s", "0.4s", "0.6s", "0.8s", "1.0s"]],
  [{ fromUs: 0, toUs: 100_000 }, ["0ms", "20ms", "40ms", "60ms", "80ms", "100ms"]],
  [{ fromUs: 600e6, toUs: 900e6 }, ["10:00", "11:00", "12:00", "13:00", "14:00", "15:00"]],
  [{ fromUs: 0, toUs: 100 }, ["0.00ms", "0.02ms", "0.04ms", "0.06ms", "0.08ms", "0.10ms"]],
])("ticks of %j", (seen, texts) => {
  expect(ticks(seen, 0, 6).map(({ text }) => text)).toEqual(texts);
});
