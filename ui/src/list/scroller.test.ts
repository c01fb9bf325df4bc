import { expect, test } from "vitest";
import { Scroller, TALLEST_PX } from "./scroller";

function scroller(total: number): Scroller {
  const made = new Scroller(24);
  made.total = total;
  made.viewport = 480;
  return made;
}

test("a short list scrolls as it is", () => {
  const list = scroller(1000);
  list.scrolled(240);
  expect(list.range(2)).toEqual({ first: 8, last: 32, shift: 192 });
  list.scrolled(1000 * 24 - 480);
  expect(list.range(0).last).toBe(1000);
  expect(list.isAtEnd).toBe(true);
});

test("a million rows fit into what a browser can scroll", () => {
  const list = scroller(1_000_000);
  expect(list.contentHeight).toBe(TALLEST_PX);
  list.scrolled(TALLEST_PX - 480);
  expect(list.range(0)).toMatchObject({ first: 999_980, last: 1_000_000 });
  list.scrolled(TALLEST_PX / 2);
  expect(list.range(0).first).toBeGreaterThan(499_000);
  expect(list.range(0).first).toBeLessThan(501_000);
});

test("the wheel moves by rows even in a scaled list", () => {
  const list = scroller(1_000_000);
  list.scrolled(TALLEST_PX / 2);
  const before = list.position;
  list.scrolled(TALLEST_PX / 2 + 120);
  expect(list.position - before).toBeCloseTo(120);
  const settled = list.settle();
  expect(settled).toBeCloseTo((list.position / (24_000_000 - 480)) * (TALLEST_PX - 480));
  list.scrolled(settled);
  expect(list.position - before).toBeCloseTo(120);
});

test("rows are drawn where they are seen", () => {
  const list = scroller(1_000_000);
  const top = TALLEST_PX / 3;
  list.scrolled(top);
  const { first, shift } = list.range(5);
  expect(shift - top).toBeCloseTo(first * 24 - list.position);
});

test("revealing a row moves as little as possible", () => {
  const list = scroller(1000);
  list.reveal(5);
  expect(list.position).toBe(0);
  list.reveal(30);
  expect(list.position).toBe(32 * 24 - 480);
  list.reveal(29);
  expect(list.position).toBe(32 * 24 - 480);
  list.reveal(999);
  expect(list.isAtEnd).toBe(true);
});

test("a list that got shorter stays within itself", () => {
  const list = scroller(1000);
  list.scrolled(20_000);
  list.total = 10;
  expect(list.settle()).toBe(0);
  expect(list.range(5)).toEqual({ first: 0, last: 10, shift: 0 });
});
