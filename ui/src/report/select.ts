// Filters and sorts the calls and lines of a report, as the server does.

import { BackendError } from "../api/backend";
import type { CallRow, LineKind, MessageRow, Report } from "../api/types";
import { extract } from "../json/extract";
import { type Filter, FilterError, matches, needles, parse, type Subject } from "./filter";
import type { LineStore } from "./lines";
import { hasText } from "./text";

const MESSAGES: readonly LineKind[] = ["request", "response", "notification", "batch", "odd"];

/** Where the texts of a filter occur: in calls, and in lines without a call. */
type Texts = Map<string, { calls: Set<string>; lines: Set<string> }>;

export class Selection {
  private byLine: MessageRow[][] | null = null;
  private readonly cache = new Map<string, Promise<{ calls: CallRow[]; messages: MessageRow[] }>>();

  constructor(
    private readonly report: Report,
    private readonly lines: LineStore,
  ) {}

  async calls(filter: string, sort: string): Promise<CallRow[]> {
    const { calls } = await this.select(filter);
    return sorted(calls, sort);
  }

  async messages(filter: string): Promise<MessageRow[]> {
    return (await this.select(filter)).messages;
  }

  private select(text: string): Promise<{ calls: CallRow[]; messages: MessageRow[] }> {
    const known = this.cache.get(text);
    if (known !== undefined) return known;
    const selected = this.evaluate(text);
    // Reports are small: the results of the last few filters stay cached.
    if (this.cache.size > 8) this.cache.clear();
    this.cache.set(text, selected);
    selected.catch(() => this.cache.delete(text));
    return selected;
  }

  private async evaluate(text: string): Promise<{ calls: CallRow[]; messages: MessageRow[] }> {
    const { calls, messages } = this.report;
    const filter = parsed(text);
    if (filter.terms.length === 0) return { calls, messages };
    const texts = await this.findTexts(needles(filter));
    const passing = calls.filter((row) =>
      matches(filter, this.callSubject(row), (wanted) => texts.get(wanted)?.calls.has(keyOf(row.trace, row.call)) ?? false),
    );
    const passingKeys = new Set(passing.map((row) => keyOf(row.trace, row.call)));
    const lines = messages.filter((row) => {
      if (row.call !== null) return passingKeys.has(keyOf(row.trace, row.call));
      const has = (wanted: string): boolean => texts.get(wanted)?.lines.has(keyOf(row.trace, row.line)) ?? false;
      return matches(filter, this.lineSubject(row), has);
    });
    return { calls: passing, messages: lines };
  }

  private callSubject(row: CallRow): Subject {
    return { ...row, server: this.labelOf(row.trace) };
  }

  /** A line without a call has few facts; a line that neither peer sent has no server. */
  private lineSubject(row: MessageRow): Subject {
    const isSent = MESSAGES.includes(row.kind) || row.kind === "stderr" || row.kind === "text" || row.kind === "stream";
    return {
      method: row.method,
      direction: row.direction === "unknown" ? null : row.direction,
      server: isSent ? this.labelOf(row.trace) : null,
    };
  }

  private labelOf(trace: number): string {
    return this.report.set.traces[trace]?.label ?? "";
  }

  /** The rows of each trace by the numbers of their lines. */
  private rowsByLine(): MessageRow[][] {
    if (this.byLine !== null) return this.byLine;
    const byLine: MessageRow[][] = this.report.set.traces.map(() => []);
    for (const row of this.report.messages) {
      const ofTrace = byLine[row.trace];
      if (ofTrace !== undefined) ofTrace[row.line] = row;
    }
    this.byLine = byLine;
    return byLine;
  }

  private async findTexts(wanted: string[]): Promise<Texts> {
    const texts: Texts = new Map(wanted.map((text) => [text, { calls: new Set<string>(), lines: new Set<string>() }]));
    if (texts.size === 0) return texts;
    const byLine = this.rowsByLine();
    for (const trace of this.report.set.traces.keys()) {
      await this.lines.each(trace, (number, line) => {
        const row = byLine[trace]?.[number];
        const json = row === undefined ? null : searched(row.kind, line);
        if (row === undefined || json === null) return;
        for (const [text, found] of texts) {
          if (!hasText(json, text)) continue;
          if (row.call === null) found.lines.add(keyOf(trace, number));
          else found.calls.add(keyOf(trace, row.call));
        }
      });
    }
    return texts;
  }
}

function searched(kind: LineKind, line: string): string | null {
  if (MESSAGES.includes(kind)) return extract(line, "raw");
  return kind === "stderr" || kind === "text" || kind === "stream" ? extract(line, "text") : null;
}

function parsed(text: string): Filter {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new BackendError(400, { error: error.message, hint: null, span: error.span });
  }
}

/** The calls in the order that a server would have them in: equal ones stay as they are, and descending turns all around. */
export function sorted(calls: readonly CallRow[], sort: string): CallRow[] {
  const isDescending = sort.startsWith("-");
  const rows = [...calls];
  const number = (pick: (row: CallRow) => number | null) => (a: CallRow, b: CallRow) => (pick(a) ?? -1) - (pick(b) ?? -1);
  const text = (pick: (row: CallRow) => string) => (a: CallRow, b: CallRow) =>
    pick(a) < pick(b) ? -1 : pick(a) > pick(b) ? 1 : 0;
  const orders: Record<string, (a: CallRow, b: CallRow) => number> = {
    latency: number((row) => row.latencyUs),
    request: number((row) => row.requestBytes),
    response: number((row) => row.responseBytes),
    name: text((row) => `${row.tool ?? ""} ${row.method}`),
    status: text((row) => row.status),
  };
  const order = orders[sort.replace(/^-/, "")];
  if (order !== undefined) rows.sort(order);
  if (isDescending) rows.reverse();
  return rows;
}

function keyOf(trace: number, number: number): string {
  return `${trace}/${number}`;
}
