// The layout of the timeline: a lane per trace, with as few rows as keep bars from covering each other. Requests that the other
// side sent during a call are placed right below it.

import type { Bar } from "../api/types";

export type PlacedBar = {
  bar: Bar;
  /** Row within the lane, from 0. */
  row: number;
  /** Start of the next bar in the row: the limit for the name beside a bar. */
  freeUntilUs: number;
};

export type Lane = { trace: number; rows: number; bars: PlacedBar[] };

type Block = { bars: { bar: Bar; row: number }[]; height: number; fromUs: number; toUs: number };

/**
 * The bars to draw: one for each spot, a failed one if there is any. A thousand calls within a pixel look like one bar, but cost
 * the browser a thousand elements.
 */
export function drawnBars(bars: readonly PlacedBar[], spotUs: number, isKept: (bar: Bar) => boolean): PlacedBar[] {
  const spots = new Map<string, PlacedBar>();
  const drawn: PlacedBar[] = [];
  for (const placed of bars) {
    const { bar, row } = placed;
    if ((bar.latencyUs ?? 0) > spotUs || isKept(bar)) {
      drawn.push(placed);
      continue;
    }
    const spot = `${row}/${Math.floor(bar.atUs / spotUs)}`;
    const before = spots.get(spot);
    if (before === undefined || (bar.isError && !before.bar.isError)) spots.set(spot, placed);
  }
  return [...drawn, ...spots.values()].toSorted((a, b) => a.bar.atUs - b.bar.atUs);
}

/** `shortestUs` is the time that the shortest bar covers on the screen, with the gap after it. */
export function layoutLanes(bars: readonly Bar[], shortestUs: number): Lane[] {
  const byTrace = new Map<number, Bar[]>();
  for (const bar of bars) {
    const lane = byTrace.get(bar.trace);
    if (lane === undefined) byTrace.set(bar.trace, [bar]);
    else lane.push(bar);
  }
  return [...byTrace]
    .toSorted(([a], [b]) => a - b)
    .map(([trace, ofTrace]) => layoutLane(trace, ofTrace, shortestUs));
}

/** How many rows bars below the minimum width share. */
const TINY_ROWS = 8;

function layoutLane(trace: number, bars: readonly Bar[], shortestUs: number): Lane {
  const ends: number[] = [];
  const placed: PlacedBar[] = [];
  const blocks = blocksOf(bars, shortestUs).toSorted((a, b) => a.fromUs - b.fromUs);
  for (const block of blocks) {
    const free = freeRow(ends, block);
    // Hundreds of calls that are too short to distinguish share a few rows instead of taking hundreds.
    const isTiny = block.height === 1 && block.toUs - block.fromUs <= shortestUs;
    const top = isTiny && free >= TINY_ROWS ? placed.length % TINY_ROWS : free;
    for (let row = top; row < top + block.height; row++) ends[row] = Math.max(ends[row] ?? 0, block.toUs);
    for (const { bar, row } of block.bars) placed.push({ bar, row: top + row, freeUntilUs: Infinity });
  }
  noteRoom(placed);
  return { trace, rows: Math.max(1, ends.length), bars: placed };
}

/** The first row where a block fits. */
function freeRow(ends: readonly number[], block: Block): number {
  for (let top = 0; top < ends.length; top++) {
    let fits = 0;
    while (fits < block.height && (ends[top + fits] ?? -Infinity) <= block.fromUs) fits += 1;
    if (fits === block.height) return top;
  }
  return ends.length;
}

/** Groups each call with the requests sent during it. */
function blocksOf(bars: readonly Bar[], shortestUs: number): Block[] {
  const here = new Set(bars.map((bar) => bar.call));
  const nested = new Map<number, Bar[]>();
  const roots: Bar[] = [];
  for (const bar of bars) {
    const { parent } = bar;
    // A nested call always has a higher number than its parent; anything else would be a cycle.
    if (parent === null || parent >= bar.call || !here.has(parent)) roots.push(bar);
    else nested.set(parent, [...(nested.get(parent) ?? []), bar]);
  }
  return roots.map((root) => blockOf(root, nested, shortestUs, 0));
}

/** Requests nested deeper than this are not drawn. */
const DEEPEST = 8;

function blockOf(root: Bar, nested: Map<number, Bar[]>, shortestUs: number, depth: number): Block {
  const block: Block = {
    bars: [{ bar: root, row: 0 }],
    height: 1,
    fromUs: root.atUs,
    toUs: root.atUs + Math.max(root.latencyUs ?? 0, shortestUs),
  };
  if (depth >= DEEPEST) return block;
  const ends: number[] = [];
  for (const child of nested.get(root.call) ?? []) {
    const inner = blockOf(child, nested, shortestUs, depth + 1);
    const top = freeRow(ends, inner);
    for (let row = top; row < top + inner.height; row++) ends[row] = inner.toUs;
    for (const { bar, row } of inner.bars) block.bars.push({ bar, row: 1 + top + row });
    block.toUs = Math.max(block.toUs, inner.toUs);
  }
  block.height += ends.length;
  return block;
}

function noteRoom(placed: PlacedBar[]): void {
  const last = new Map<number, PlacedBar>();
  for (const bar of placed.toSorted((a, b) => a.bar.atUs - b.bar.atUs)) {
    const before = last.get(bar.row);
    if (before !== undefined) before.freeUntilUs = bar.bar.atUs;
    last.set(bar.row, bar);
  }
}
