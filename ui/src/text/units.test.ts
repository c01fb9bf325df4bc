import { expect, test } from "vitest";
import { bytes, clock, count, duration, local, number, share, when } from "./units";

test("durations keep three digits", () => {
  const expected: [number, string][] = [
    [0, "0µs"],
    [999, "999µs"],
    [1_204, "1.20ms"],
    [9_999, "10.0ms"],
    [12_345, "12.3ms"],
    [123_456, "123ms"],
    [999_499, "999ms"],
    [999_999, "1.00s"],
    [59_999_999, "60.0s"],
    [125_000_000, "2m 05s"],
    [11_220_000_000, "3h 07m"],
    [187_200_000_000, "2d 04h"],
  ];
  for (const [us, text] of expected) expect(duration(us)).toBe(text);
});

test("sizes are in powers of 1000", () => {
  expect(bytes(0)).toBe("0 B");
  expect(bytes(999)).toBe("999 B");
  expect(bytes(1_234)).toBe("1.2 kB");
  expect(bytes(34_000_000)).toBe("34 MB");
  expect(bytes(999_999_999)).toBe("1.0 GB");
});

test("numbers are grouped and counted", () => {
  expect(number(999)).toBe("999");
  expect(number(1234567)).toBe("1,234,567");
  expect(count(1, "call")).toBe("1 call");
  expect(count(0, "call")).toBe("0 calls");
  expect(share(0)).toBe("0%");
  expect(share(0.0001)).toBe("< 0.1%");
  expect(share(0.0421)).toBe("4.2%");
  expect(share(1)).toBe("100%");
});

test("times are relative for a day", () => {
  const now = new Date(2026, 4, 12, 23, 0).getTime();
  const ago = (seconds: number) => when(now - seconds * 1000, now);
  expect(ago(-30)).toBe("just now");
  expect(ago(3)).toBe("just now");
  expect(ago(45)).toBe("45 s ago");
  expect(ago(200)).toBe("3 min ago");
  expect(ago(7_300)).toBe("2 h ago");
  expect(ago(86_400)).toBe("May 11 23:00");
  expect(ago(31_536_000)).toBe("2025-05-12");
  expect(ago(-7_300)).toBe("2026-05-13");
});

test("a clock shows the day if it is another", () => {
  const now = new Date(2026, 4, 12, 23, 0).getTime();
  expect(clock(now - 1, now)).toBe("22:59:59.999");
  expect(clock(now - 86_400_000, now)).toBe("May 11 23:00:00");
  expect(local(now)).toBe("2026-05-12 23:00");
  expect(clock(Number.NaN, now)).toBe("unknown");
});
