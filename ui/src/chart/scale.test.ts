import { expect, test } from "vitest";
import { bucketWords, histogramWords, linePoints, roundUp, usedBuckets } from "./scale";

test("axes end at round numbers", () => {
  const expected = [[0, 1], [1, 1], [1.5, 2], [3, 5], [7, 10], [11, 20], [99, 100], [101, 200], [640, 1000]] as const;
  for (const [value, round] of expected) expect(roundUp(value)).toBe(round);
});

test("empty buckets at the ends are left out", () => {
  const buckets = usedBuckets([1_000, 2_000, 5_000, 10_000, 20_000], [0, 0, 3, 0, 1, 0]);
  expect(buckets.map((bucket) => bucket.count)).toEqual([0, 3, 0, 1, 0]);
  expect(bucketWords({ fromUs: 2_000, toUs: 5_000, count: 3 })).toBe("2.00ms to 5.00ms");
  expect(usedBuckets([1], [0, 0])).toEqual([]);
});

test("the last bucket has no end", () => {
  const [, last] = usedBuckets([1_000], [0, 2]);
  expect(last && bucketWords(last)).toBe("over 1.00ms");
  expect(histogramWords(usedBuckets([1_000], [5, 2]))).toBe("7 calls; the largest bucket is up to 1.00ms (5).");
  expect(histogramWords([])).toBe("No latencies.");
});

test("a line goes from left to right and up", () => {
  expect(linePoints([0, 5, 10], 100, 20, 10)).toBe("0,20 50,10 100,0");
  expect(linePoints([3], 100, 20, 10)).toBe("0,14");
  expect(linePoints([], 100, 20, 10)).toBe("");
});
