// What a report tells of itself.

import { signal } from "@preact/signals";

export type ReportFacts = {
  createdMs: number;
  /** In how many lines something secret was taken out on the way. */
  redacted: number;
  version: string;
};

/** Null if the page is no report, or one that is not unpacked yet. */
export const reportFacts = signal<ReportFacts | null>(null);
