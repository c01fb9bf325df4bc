// The rows of a document: one per value, in the order of the text, each a few integers side by side.

/** What kind of value a row is. */
export const Kind = {
  Object: 0,
  Array: 1,
  String: 2,
  Number: 3,
  True: 4,
  False: 5,
  Null: 6,
} as const;

export type Kind = (typeof Kind)[keyof typeof Kind];

// The columns of a row. Plain constants, because they are read millions of times.
const KIND = 0;
const START = 1;
const END = 2;
const PARENT = 3;
const KEY_START = 4;
const KEY_END = 5;
const COUNT = 6;
const AFTER = 7;
const WIDTH = 8;

/** A growable table of rows. */
export class Rows {
  private cells = new Int32Array(WIDTH * 64);
  length = 0;

  add(kind: Kind, start: number, end: number, parent: number, keyStart: number, keyEnd: number): number {
    const row = this.length;
    const at = row * WIDTH;
    if (at + WIDTH > this.cells.length) this.grow();
    const { cells } = this;
    cells[at + KIND] = kind;
    cells[at + START] = start;
    cells[at + END] = end;
    cells[at + PARENT] = parent;
    cells[at + KEY_START] = keyStart;
    cells[at + KEY_END] = keyEnd;
    cells[at + AFTER] = row + 1;
    if (parent >= 0) cells[parent * WIDTH + COUNT] = this.count(parent) + 1;
    this.length += 1;
    return row;
  }

  close(row: number, end: number): void {
    this.cells[row * WIDTH + END] = end;
    this.cells[row * WIDTH + AFTER] = this.length;
  }

  kind(row: number): Kind {
    return this.cells[row * WIDTH + KIND] as Kind;
  }

  start(row: number): number {
    return this.cells[row * WIDTH + START] as number;
  }

  end(row: number): number {
    return this.cells[row * WIDTH + END] as number;
  }

  /** The row of the parent, or -1 for the root. */
  parent(row: number): number {
    return this.cells[row * WIDTH + PARENT] as number;
  }

  /** The start of its name, or -1. */
  keyStart(row: number): number {
    return this.cells[row * WIDTH + KEY_START] as number;
  }

  keyEnd(row: number): number {
    return this.cells[row * WIDTH + KEY_END] as number;
  }

  /** How many members or elements it has. */
  count(row: number): number {
    return this.cells[row * WIDTH + COUNT] as number;
  }

  /** The first row after the value and its descendants. */
  after(row: number): number {
    return this.cells[row * WIDTH + AFTER] as number;
  }

  private grow(): void {
    const cells = new Int32Array(this.cells.length * 2);
    cells.set(this.cells);
    this.cells = cells;
  }
}
