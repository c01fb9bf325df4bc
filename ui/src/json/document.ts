// A JSON text and the positions of its values. A value is identified by its row; row 0 is the root.

import { Kind, type Rows } from "./columns";
import { decodeString } from "./scan";

/** Why a text is not JSON, and where. */
export interface Problem {
  at: number;
  message: string;
}

/** A parsed JSON text. */
export class JsonDocument {
  private readonly childrenOf = new Map<number, Int32Array>();

  constructor(
    readonly text: string,
    private readonly rows: Rows,
    readonly problem: Problem | null,
  ) {}

  /** How many values there are. */
  get size(): number {
    return this.rows.length;
  }

  kind(row: number): Kind {
    return this.rows.kind(row);
  }

  isContainer(row: number): boolean {
    return this.kind(row) <= Kind.Array;
  }

  /** The row of the parent, or -1 for the root. */
  parent(row: number): number {
    return this.rows.parent(row);
  }

  /** How many members or elements it has. */
  count(row: number): number {
    return row < 0 ? 0 : this.rows.count(row);
  }

  /** The first row after the value and its descendants. */
  after(row: number): number {
    return this.rows.after(row);
  }

  /** The first character, and the one after the last. */
  span(row: number): [number, number] {
    return [this.rows.start(row), this.rows.end(row)];
  }

  /** The text of a value, as it was written. */
  source(row: number): string {
    return this.text.slice(...this.span(row));
  }

  /** The name of a member, or null for an element. */
  key(row: number): string | null {
    const start = this.rows.keyStart(row);
    return start < 0 ? null : decodeString(this.text, start, this.rows.keyEnd(row));
  }

  /** The name of a member as it was written, quotes and all. */
  keySource(row: number): string | null {
    const start = this.rows.keyStart(row);
    return start < 0 ? null : this.text.slice(start, this.rows.keyEnd(row));
  }

  /** The decoded string, or null if the value is not a string. */
  string(row: number): string | null {
    if (row < 0 || row >= this.size || this.kind(row) !== Kind.String) return null;
    return decodeString(this.text, ...this.span(row));
  }

  /** The members or elements, in order. */
  children(row: number): Int32Array {
    const known = this.childrenOf.get(row);
    if (known) return known;
    const children = new Int32Array(this.count(row));
    for (let child = row + 1, index = 0; index < children.length; index += 1) {
      children[index] = child;
      child = this.after(child);
    }
    this.childrenOf.set(row, children);
    return children;
  }

  /** The member of that name, the last one if there are several, or -1. */
  member(row: number, name: string): number {
    if (row < 0 || row >= this.size || this.kind(row) !== Kind.Object) return -1;
    let found = -1;
    for (const child of this.children(row)) if (this.isNamed(child, name)) found = child;
    return found;
  }

  /** Whether a member has that name; the length rules out most of them. */
  private isNamed(row: number, name: string): boolean {
    const start = this.rows.keyStart(row) + 1;
    const length = this.rows.keyEnd(row) - 1 - start;
    if (length < name.length) return false;
    if (length === name.length && this.text.startsWith(name, start)) return !name.includes("\\");
    return this.text.slice(start, start + length).includes("\\") && this.key(row) === name;
  }

  /** The value at the end of several names, or -1. */
  at(row: number, ...names: string[]): number {
    return names.reduce((at, name) => this.member(at, name), row);
  }

  /** Shorthand for the text of a member. */
  stringAt(row: number, ...names: string[]): string | null {
    return this.string(this.at(row, ...names));
  }

  /** The rows from the root down to this one. */
  ancestors(row: number): number[] {
    const path: number[] = [];
    for (let at = this.parent(row); at >= 0; at = this.parent(at)) path.push(at);
    return path.reverse();
  }

  /** The index of an element in its array. */
  indexOf(row: number): number {
    const parent = this.parent(row);
    return parent < 0 ? 0 : binarySearch(this.children(parent), row);
  }

  /** The keys that occur more than once in an object. */
  repeatedKeys(row: number): ReadonlySet<string> {
    const seen = new Set<string>();
    const repeated = new Set<string>();
    for (const child of this.children(row)) {
      const key = this.key(child) ?? "";
      if (seen.has(key)) repeated.add(key);
      seen.add(key);
    }
    return repeated;
  }
}

function binarySearch(sorted: Int32Array, wanted: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
