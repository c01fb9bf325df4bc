// The titles of the views, for tabs, headings and the window.

import type { ViewName } from "../router";

export const VIEW_TITLES: Readonly<Record<ViewName, string>> = {
  home: "Traces",
  timeline: "Timeline",
  calls: "Calls",
  call: "Call",
  messages: "Messages",
  tools: "Tools",
  sessions: "Sessions",
  lint: "Lint",
  raw: "Raw",
  diff: "Diff",
  activity: "Activity",
};
