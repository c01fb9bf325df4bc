// The backend of an exported report: all data is inside the file.

import {
  type Backend,
  BackendError,
  type CallsQuery,
  type MessagesQuery,
  type PositionQuery,
  type Slice,
  type TimelineQuery,
  type Watch,
  type WatchHandlers,
} from "../api/backend";
import type * as Api from "../api/types";
import { extract } from "../json/extract";
import { reportFacts } from "./facts";
import { LineStore } from "./lines";
import { unpack } from "./packed";
import { Selection } from "./select";
import { densityOf, timelineOf } from "./times";

/** The longest part of a payload, or of a line, that is returned at once. */
const PAYLOAD_CHARS = 1024 * 1024;
const LINE_CHARS = 16 * 1024;

type LoadedReport = { report: Api.Report; selection: Selection };

export class ReportBackend implements Backend {
  readonly isReport = true;
  private readonly lines: LineStore;
  private opened: Promise<LoadedReport> | null = null;

  constructor(
    private readonly packed: string,
    readLines: (trace: number) => Api.ReportLines[],
  ) {
    this.lines = new LineStore(readLines);
  }

  /** The report in this document, or null if the page is not a report. */
  static inDocument(): ReportBackend | null {
    const packed = document.getElementById("wiretape-report")?.textContent;
    if (packed == null) return null;
    return new ReportBackend(packed, (trace) => {
      const text = document.getElementById(`wiretape-lines-${trace}`)?.textContent;
      return text == null ? [] : (JSON.parse(text) as Api.ReportLines[]);
    });
  }

  async set(): Promise<Api.TraceSet> {
    return (await this.open()).report.set;
  }

  watch(_keys: string[], handlers: WatchHandlers): Watch {
    handlers.onLink(true);
    return { stop: () => undefined };
  }

  async calls(_keys: string[], { filter, sort, from, limit }: CallsQuery): Promise<Api.CallPage> {
    const { report, selection } = await this.open();
    const rows = await selection.calls(filter, sort);
    return { total: rows.length, all: report.calls.length, from, rows: rows.slice(from, from + limit) };
  }

  async timeline(_keys: string[], query: TimelineQuery): Promise<Api.Timeline> {
    const { selection } = await this.open();
    return timelineOf(await selection.calls(query.filter, ""), query);
  }

  async density(_keys: string[], buckets: number): Promise<Api.Density> {
    const { report } = await this.open();
    return densityOf(report.calls, report.messages, report.set.fromUs, report.set.toUs, buckets);
  }

  async messages(_keys: string[], { filter, from, limit }: MessagesQuery): Promise<Api.MessagePage> {
    const { report, selection } = await this.open();
    const rows = await selection.messages(filter);
    return { total: rows.length, all: report.messages.length, from, rows: rows.slice(from, from + limit) };
  }

  async position(_keys: string[], { at, line, filter }: PositionQuery): Promise<number> {
    const rows = await (await this.open()).selection.messages(filter);
    return Math.max(0, rows.findIndex((row) => row.trace === at && row.line >= line));
  }

  async call(_keys: string[], at: number, call: number): Promise<Api.CallDetail> {
    const { report } = await this.open();
    const ofTrace = report.calls.filter((row) => row.trace === at);
    const row = ofTrace.find((other) => other.call === call);
    const detail = report.details.find((other) => other.trace === at && other.call === call);
    if (row === undefined || detail === undefined) throw refusal(404, `there is no call ${call}`);
    const has = (number: number): number | null => (ofTrace.some((other) => other.call === number) ? number : null);
    return {
      row,
      request: await this.payloadAt(at, row.line, detail.requestIndex),
      response: row.responseLine === null ? null : await this.payloadAt(at, row.responseLine, detail.responseIndex),
      meanwhile: detail.meanwhile,
      more: detail.more,
      nested: ofTrace.filter((other) => other.parent === call),
      operation: operationOf(row, ofTrace),
      findings: report.lint.rules.flatMap((rule) => rule.findings).filter((found) => found.trace === at && found.call === call),
      http: detail.http,
      curl: detail.curl,
      previous: has(call - 1),
      next: has(call + 1),
    };
  }

  async raw(_keys: string[], at: number, { from, limit }: Slice): Promise<Api.RawPage> {
    const { report } = await this.open();
    const lines = await this.lines.range(at, from + 1, limit);
    return {
      total: report.set.traces[at]?.lines ?? 0,
      lines: lines.map((text, n) => ({
        line: from + 1 + n,
        text: text.slice(0, LINE_CHARS),
        bytes: bytesOf(text),
        isCut: text.length > LINE_CHARS,
      })),
    };
  }

  async line(_keys: string[], at: number, line: number): Promise<string> {
    const text = await this.lines.line(at, line);
    if (text === null) throw refusal(404, `there is no line ${line}`);
    return text;
  }

  async payload(_keys: string[], at: number, line: number, call: number | null): Promise<string> {
    const { report } = await this.open();
    const detail = report.details.find((other) => other.trace === at && other.call === call);
    const row = report.calls.find((other) => other.trace === at && other.call === call);
    const index = row?.line === line ? detail?.requestIndex : detail?.responseIndex;
    return this.payloadText(at, line, index ?? null);
  }

  async lineFile(keys: string[], at: number, line: number): Promise<Blob> {
    return new Blob([await this.line(keys, at, line)]);
  }

  async payloadFile(keys: string[], at: number, line: number, call: number | null): Promise<Blob> {
    return new Blob([await this.payload(keys, at, line, call)]);
  }

  async tools(): Promise<Api.ToolsReport> {
    return (await this.open()).report.tools;
  }

  async sessions(): Promise<Api.SessionRow[]> {
    return (await this.open()).report.sessions;
  }

  async lint(): Promise<Api.LintReport> {
    return (await this.open()).report.lint;
  }

  home(): Promise<Api.Home> {
    return notAvailable();
  }

  pending(): Promise<Api.PendingRow[]> {
    return notAvailable();
  }

  diff(): Promise<Api.DiffReport> {
    return notAvailable();
  }

  diffRow(): Promise<Api.DiffDetail> {
    return notAvailable();
  }

  store(): Promise<Api.StoreReport> {
    return notAvailable();
  }

  upload(): Promise<Api.Opened> {
    return notAvailable();
  }

  live(): Promise<Api.Opened> {
    return notAvailable();
  }

  private open(): Promise<LoadedReport> {
    this.opened ??= this.unpackReport();
    return this.opened;
  }

  private async unpackReport(): Promise<LoadedReport> {
    try {
      const report = JSON.parse(await unpack(this.packed)) as Api.Report;
      reportFacts.value = { createdMs: report.createdMs, redacted: report.redacted, version: report.version };
      return { report, selection: new Selection(report, this.lines) };
    } catch {
      throw refusal(400, "this report is damaged: its data can't be decompressed", "get the report again, or open it in a newer browser");
    }
  }

  private async payloadAt(at: number, line: number, index: number | null): Promise<Api.Payload> {
    const text = await this.payloadText(at, line, index);
    return { line, text: text.slice(0, PAYLOAD_CHARS), bytes: bytesOf(text), isCut: text.length > PAYLOAD_CHARS };
  }

  private async payloadText(at: number, line: number, index: number | null): Promise<string> {
    return extract((await this.lines.line(at, line)) ?? "", "raw", index) ?? "";
  }
}

function operationOf(row: Api.CallRow, ofTrace: readonly Api.CallRow[]): Api.OperationView | null {
  const first = row.operation;
  if (first === null) return null;
  return { first, calls: ofTrace.filter((other) => other.operation === first || other.call === first) };
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function refusal(status: number, error: string, hint: string | null = null): BackendError {
  return new BackendError(status, { error, hint, span: null });
}

function notAvailable(): Promise<never> {
  return Promise.reject(refusal(404, "this is not available in a report", "open the trace with `wiretape view`"));
}
