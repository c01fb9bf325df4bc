// Every state of the page has a URL: the query names the traces, the fragment the view and its settings.

import { computed, signal, type ReadonlySignal } from "@preact/signals";

export type ViewName =
  | "home"
  | "timeline"
  | "calls"
  | "call"
  | "messages"
  | "tools"
  | "sessions"
  | "lint"
  | "raw"
  | "diff"
  | "activity";

export type Route = {
  /** The open traces, as the URL names them. For the API use `keys` of state/set.ts. */
  trace: string[];
  /** The two traces to compare, as the URL names them. */
  diff: [string, string] | null;
  /** The address of a live recorder to connect to. */
  live: string | null;
  view: ViewName;
  filter: string;
  /** `time`, `latency` …; a leading `-` means descending. */
  sort: string;
  /** The number of the open call. */
  call: number | null;
  /** The index of the trace that `call` and `line` refer to. */
  at: number;
  line: number | null;
  /** The time range that the timeline shows. */
  fromUs: number | null;
  toUs: number | null;
  /** What is expanded within a view: a tool, a rule, a row of the diff. */
  open: string;
  /** How the open call is shown: `raw`, or empty for readable. */
  show: string;
  /** Which rows of the diff are shown, such as `changed,added`. */
  status: string;
  /** The time range of the activity view, in minutes. */
  minutes: number | null;
};

const VIEWS: readonly ViewName[] = [
  "home",
  "timeline",
  "calls",
  "call",
  "messages",
  "tools",
  "sessions",
  "lint",
  "raw",
  "diff",
  "activity",
];

/** Earlier names of views, which bookmarks and links may still have. */
const VIEW_ALIASES: Readonly<Record<string, ViewName>> = { store: "activity" };

/** Whether the page is an exported report, which has one set of traces and no home. */
let isReport = false;

/** Parses a query (with its `?`) and a fragment (with its `#`). */
export function parseRoute(search: string, hash: string, report = isReport): Route {
  const query = parts(search.replace(/^\?/, ""));
  const fragment = parts(hash.replace(/^#/, ""));
  const text = (name: string): string => decode(fragment.get(name) ?? "");
  const trace = list(query.get("trace"));
  const [a, b] = list(query.get("diff"));
  const live = query.get("live");
  const hasTraces = report || trace.length > 0 || live !== undefined;
  return {
    trace,
    diff: a !== undefined && b !== undefined ? [a, b] : null,
    live: live === undefined ? null : decode(live),
    view: viewOf(text("view"), hasTraces, a !== undefined && b !== undefined),
    filter: text("filter"),
    sort: text("sort"),
    call: integer(text("call")),
    at: integer(text("at")) ?? 0,
    line: integer(text("line")),
    fromUs: integer(text("from")),
    toUs: integer(text("to")),
    open: text("open"),
    show: text("show"),
    status: text("status"),
    minutes: integer(text("minutes")),
  };
}

/** The URL of a route: its query and its fragment, without the path. */
export function formatRoute(route: Route): string {
  const query: string[] = [];
  if (route.trace.length > 0) query.push(`trace=${joined(route.trace)}`);
  if (route.diff !== null) query.push(`diff=${joined(route.diff)}`);
  if (route.live !== null) query.push(`live=${encode(route.live)}`);
  const fragment: string[] = [];
  const add = (name: string, value: string | number | null): void => {
    if (value !== null && value !== "") fragment.push(`${name}=${encode(String(value))}`);
  };
  add("view", route.view === "home" || route.view === "diff" ? null : route.view);
  add("filter", route.filter);
  add("sort", route.sort);
  add("call", route.call);
  add("at", route.at === 0 ? null : route.at);
  add("line", route.line);
  add("from", route.fromUs);
  add("to", route.toUs);
  add("open", route.open);
  add("show", route.show);
  add("status", route.status);
  add("minutes", route.minutes);
  const path = query.length > 0 ? `?${query.join("&")}` : "";
  return fragment.length > 0 ? `${path}#${fragment.join("&")}` : path;
}

/**
 * A route with some parts changed. Other traces start from an empty route; another view keeps only what all views share: the
 * filter, the time range and the selected trace.
 */
export function changed(from: Route, parts: Partial<Route>): Route {
  const otherTraces = parts.trace !== undefined || parts.diff !== undefined || parts.live !== undefined;
  if (otherTraces || parts.view === "home" || parts.view === "activity") {
    const base = parseRoute("", "");
    const view: ViewName = parts.diff ? "diff" : parts.trace?.length || parts.live ? "timeline" : "home";
    return { ...base, view, ...parts };
  }
  if (parts.view !== undefined && parts.view !== from.view) {
    return { ...from, sort: "", call: null, line: null, open: "", show: "", status: "", minutes: null, ...parts };
  }
  return { ...from, ...parts };
}

/** Whether the browser itself fetches this trace. */
export function isFetched(trace: string): boolean {
  return /^https?:\/\//i.test(trace);
}

const current = signal<Route>(parseRoute("", ""));

/** The route of the current URL. */
export const route: ReadonlySignal<Route> = current;

/** The filter of the URL. */
export const filterText: ReadonlySignal<string> = computed(() => current.value.filter);

/** The address of the route with some parts changed, for links. */
export function href(parts: Partial<Route>): string {
  const url = formatRoute(changed(current.value, parts));
  // In a report the path must stay; elsewhere an empty URL would mean the page as it is, query and all.
  if (isReport) return url === "" ? "#" : url;
  return url.startsWith("?") ? `/${url}` : `/${url}`;
}

/** Goes to the route with some parts changed. `replace` adds no history entry: for changes while typing or dragging. */
export function go(parts: Partial<Route>, how: "push" | "replace" = "push"): void {
  const next = changed(current.peek(), parts);
  const wanted = [...next.trace, ...(next.diff ?? [])];
  const had = [...current.peek().trace, ...(current.peek().diff ?? [])];
  if (wanted.some((trace) => isFetched(trace) && !had.includes(trace))) {
    // The content security policy lists the hosts that may be fetched from, so the server must send a new one.
    location.assign(`/${formatRoute(next)}`);
    return;
  }
  const url = formatRoute(next);
  const target = isReport ? location.pathname + url : `/${url}`;
  if (how === "push") history.pushState(null, "", target);
  else history.replaceState(null, "", target);
  current.value = next;
}

/** Follows an address of `href`, as a click on a link does. */
export function follow(address: string): void {
  const url = new URL(address, location.href);
  const next = parseRoute(url.search, url.hash);
  if ([...next.trace, ...(next.diff ?? [])].some(isFetched) && url.search !== location.search) {
    location.assign(address);
    return;
  }
  history.pushState(null, "", address);
  current.value = next;
}

/** Starts following the address of the page. */
export function startRouter(report: boolean): void {
  isReport = report;
  const read = (): void => {
    current.value = parseRoute(location.search, location.hash);
  };
  window.addEventListener("popstate", read);
  window.addEventListener("hashchange", read);
  read();
}

function viewOf(name: string, hasTraces: boolean, isDiff: boolean): ViewName {
  const view = VIEWS.find((known) => known === (VIEW_ALIASES[name] ?? name));
  if (isDiff) return "diff";
  if (!hasTraces) return view === "activity" ? "activity" : "home";
  return view === undefined || view === "home" || view === "diff" || view === "activity" ? "timeline" : view;
}

function parts(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of text.split("&")) {
    const at = part.indexOf("=");
    if (at > 0) found.set(part.slice(0, at), part.slice(at + 1));
  }
  return found;
}

function list(value: string | undefined): string[] {
  return (value ?? "").split(";").filter((part) => part !== "").map(decode);
}

function joined(traces: readonly string[]): string {
  return traces.map(encode).join(";");
}

/** Percent-encodes separators, and leaves slashes and colons readable. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3A|2C|40|24)/g, (escaped) => decodeURIComponent(escaped));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function integer(text: string): number | null {
  if (!/^\d{1,16}$/.test(text)) return null;
  return Number(text);
}
