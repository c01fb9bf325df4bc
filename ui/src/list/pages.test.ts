import { expect, test } from "vitest";
import { PAGE_ROWS, PagedRows } from "./pages";

function numbers(total: number): { rows: PagedRows<number>; asked: number[]; grow(by: number): void } {
  const asked: number[] = [];
  let now = total;
  const rows = new PagedRows<number>(
    async (from, limit) => {
      asked.push(from);
      return { total: now, rows: Array.from({ length: Math.min(limit, now - from) }, (_, n) => from + n) };
    },
    () => undefined,
  );
  return { rows, asked, grow: (by) => (now += by) };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("only visible rows are fetched", async () => {
  const { rows, asked } = numbers(1_000_000);
  rows.want(0, 40);
  await turn();
  expect(rows.total).toBe(1_000_000);
  expect(rows.get(39)).toBe(39);
  rows.want(500_190, 500_230);
  await turn();
  expect(asked).toEqual([0, 500_000, 500_200]);
  expect(rows.get(500_210)).toBe(500_210);
  expect(rows.get(300)).toBeUndefined();
});

test("cached pages are not fetched again, and the least recently used are evicted", async () => {
  const { rows, asked } = numbers(100_000);
  for (let page = 0; page < 60; page++) {
    rows.want(page * PAGE_ROWS, page * PAGE_ROWS + 30);
    await turn();
  }
  const before = asked.length;
  rows.want(59 * PAGE_ROWS, 59 * PAGE_ROWS + 30);
  await turn();
  expect(asked.length).toBe(before);
  expect(rows.get(0)).toBeUndefined();
});

test("a change asks again for what is in sight, and keeps it until then", async () => {
  const { rows, asked, grow } = numbers(100);
  rows.want(0, 40);
  await turn();
  grow(1);
  rows.refresh();
  expect(rows.get(5)).toBe(5);
  await turn();
  expect(asked).toEqual([0, 0]);
  expect(rows.get(100)).toBe(100);
});

test("a refusal is kept until there is an answer", async () => {
  let isBroken = true;
  const rows = new PagedRows<number>(
    async () => {
      if (isBroken) throw new Error("no");
      return { total: 1, rows: [1] };
    },
    () => undefined,
  );
  rows.want(0, 10);
  await turn();
  expect(rows.error).toBeInstanceOf(Error);
  isBroken = false;
  rows.refresh();
  await turn();
  expect(rows.error).toBeUndefined();
  expect(rows.get(0)).toBe(1);
});

test("a list that is here is seen at once", async () => {
  const list = Array.from({ length: 450 }, (_, n) => n);
  const rows = PagedRows.of(list, 500, () => undefined);
  expect([rows.total, rows.all, rows.isKnown, rows.get(0), rows.get(449), rows.get(450)]).toEqual([450, 500, true, 0, 449, undefined]);
  expect(PagedRows.of([], 3, () => undefined).isKnown).toBe(true);
});
