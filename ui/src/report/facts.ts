// The facts about a report that its banner shows.

import { signal } from "@preact/signals";

export type ReportFacts = {
  createdMs: number;
  /** The number of lines that were redacted on export. */
  redacted: number;
  version: string;
};

/** Null if the page is not a report, or the report is not unpacked yet. */
export const reportFacts = signal<ReportFacts | null>(null);
