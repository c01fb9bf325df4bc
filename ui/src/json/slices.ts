// Long lists are shown in slices, so that opening one never puts more than a hundred rows on the page.

export const SLICE = 100;

/** A range of the members of a value. */
export interface Slice {
  from: number;
  to: number;
}

/** The parts of a range: none if it is short enough to be shown at once. */
export function slicesOf({ from, to }: Slice): Slice[] {
  const length = to - from;
  if (length <= SLICE) return [];
  let width = SLICE;
  while (length > width * SLICE) width *= SLICE;
  const slices: Slice[] = [];
  for (let start = from; start < to; start += width) slices.push({ from: start, to: Math.min(start + width, to) });
  return slices;
}

/** The key of a slice in the set of open lines. */
export function sliceKey(row: number, slice: Slice): string {
  return `${row}:${slice.from}-${slice.to}`;
}

/** The slices that must be open to show one member. */
export function slicesTo(row: number, count: number, index: number): string[] {
  const keys: string[] = [];
  let range: Slice = { from: 0, to: count };
  for (;;) {
    const inner = slicesOf(range).find((slice) => index >= slice.from && index < slice.to);
    if (!inner) return keys;
    keys.push(sliceKey(row, inner));
    range = inner;
  }
}
