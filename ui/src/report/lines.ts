// The lines of a report's traces, decompressed in chunks on demand.

import type { ReportLines } from "../api/types";
import { unpack } from "./packed";

const KEPT_PIECES = 12;

type Piece = { first: number; data: string };

export class LineStore {
  private readonly traces = new Map<number, Piece[]>();
  private readonly unpacked = new Map<Piece, Promise<string[]>>();

  /** `read` returns the packed chunks of a trace. */
  constructor(private readonly read: (trace: number) => ReportLines[]) {}

  async line(trace: number, number: number): Promise<string | null> {
    const piece = this.pieces(trace).findLast(({ first }) => first <= number);
    if (piece === undefined) return null;
    return (await this.linesOf(piece))[number - piece.first] ?? null;
  }

  /** Up to `limit` lines, starting at line `from`. */
  async range(trace: number, from: number, limit: number): Promise<string[]> {
    const found: string[] = [];
    for (const piece of this.pieces(trace)) {
      const next = this.pieces(trace).find(({ first }) => first > piece.first)?.first ?? Infinity;
      if (next <= from + found.length) continue;
      if (piece.first >= from + limit || found.length >= limit) break;
      const lines = await this.linesOf(piece);
      const begin = Math.max(0, from - piece.first);
      found.push(...lines.slice(begin, begin + limit - found.length));
    }
    return found;
  }

  /** Visits all lines in order, yielding to the page between chunks. */
  async each(trace: number, visit: (number: number, line: string) => void): Promise<void> {
    for (const piece of this.pieces(trace)) {
      const lines = await this.linesOf(piece);
      lines.forEach((line, at) => visit(piece.first + at, line));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  private pieces(trace: number): Piece[] {
    const known = this.traces.get(trace);
    if (known !== undefined) return known;
    const pieces = this.read(trace);
    this.traces.set(trace, pieces);
    return pieces;
  }

  private linesOf(piece: Piece): Promise<string[]> {
    const known = this.unpacked.get(piece);
    if (known !== undefined) return known;
    const lines = unpack(piece.data).then((text) => text.replace(/\n$/, "").split("\n"));
    this.unpacked.set(piece, lines);
    for (const oldest of this.unpacked.keys()) {
      if (this.unpacked.size <= KEPT_PIECES) break;
      this.unpacked.delete(oldest);
    }
    return lines;
  }
}
