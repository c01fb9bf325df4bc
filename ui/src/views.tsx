// The component of each view.

import type { ComponentType } from "preact";
import type { ViewName } from "./router";
import { ActivityView } from "./views/activity";
import { CallView } from "./views/call";
import { CallsView } from "./views/calls";
import { DiffView } from "./views/diff";
import { HomeView } from "./views/home";
import { LintView } from "./views/lint";
import { MessagesView } from "./views/messages";
import { RawView } from "./views/raw";
import { SessionsView } from "./views/sessions";
import { TimelineView } from "./views/timeline";
import { ToolsView } from "./views/tools";

export const VIEW_COMPONENTS: Record<ViewName, ComponentType> = {
  home: HomeView,
  timeline: TimelineView,
  calls: CallsView,
  call: CallView,
  messages: MessagesView,
  tools: ToolsView,
  sessions: SessionsView,
  lint: LintView,
  raw: RawView,
  diff: DiffView,
  activity: ActivityView,
};
