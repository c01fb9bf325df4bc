// The frame around every view.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isForeign } from "./api/http";
import { useKeys } from "./keys";
import { follow, go, route, type ViewName } from "./router";
import { Banners } from "./shell/banners";
import { DropZone } from "./shell/drop";
import { Help } from "./shell/help";
import { LoadingState, ProblemText } from "./shell/problem";
import { TopBar } from "./shell/top-bar";
import { VIEW_TITLES } from "./shell/view-titles";
import { backend } from "./state/backend";
import { setProblem, traceSet } from "./state/set";
import { toggleTheme } from "./state/theme";
import { visible } from "./text/visible";
import { VIEW_COMPONENTS } from "./views";

/** The views that need no trace. */
const TRACELESS: readonly ViewName[] = ["home", "activity"];

export function App(): JSX.Element {
  const [isHelp, setIsHelp] = useState(false);
  useLinks();
  usePageKeys(() => setIsHelp(true));
  useTitle();
  if (isForeign.value) return <WrongRun />;
  return (
    <div class="page">
      <TopBar onHelp={() => setIsHelp(true)} />
      <Banners />
      <main id="view" class={`view view-${route.value.view}`} tabIndex={-1}>
        <h1 class="sr-only">{titleOf(route.value.view)}</h1>
        <CurrentView />
      </main>
      {isHelp && <Help onClose={() => setIsHelp(false)} />}
      {!backend.isReport && <DropZone />}
    </div>
  );
}

function CurrentView(): JSX.Element {
  const { view } = route.value;
  const View = VIEW_COMPONENTS[view];
  if (TRACELESS.includes(view)) return <View />;
  if (setProblem.value !== null) return <SetProblem />;
  if (traceSet.value === null) return <LoadingState what="Opening the trace" />;
  return <View />;
}

function SetProblem(): JSX.Element {
  const problem = setProblem.value;
  return (
    <div class="state" role="alert">
      {problem !== null && <ProblemText problem={problem} />}
      {!backend.isReport && (
        <a class="button" href="/">
          All traces
        </a>
      )}
    </div>
  );
}

function WrongRun(): JSX.Element {
  return (
    <main class="state foreign">
      <h1>
        This page belongs to another run of <code>wiretape view</code>.
      </h1>
      <p>
        Use the address that the current run printed, or start <code>wiretape view</code> again.
      </p>
    </main>
  );
}

/** Links within the page change the route without loading anything. */
function useLinks(): void {
  useEffect(() => {
    const onClick = (event: MouseEvent): void => {
      if (event.defaultPrevented || event.button !== 0) return;
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
      if (link === null || link.target !== "" || link.hasAttribute("download")) return;
      if (link.origin !== location.origin || link.pathname !== location.pathname) return;
      event.preventDefault();
      follow(link.href);
    };
    document.addEventListener("click", onClick);
    return () => document.removeEventListener("click", onClick);
  }, []);
}

function usePageKeys(help: () => void): void {
  const to = (view: ViewName) => (): void => {
    const { view: now } = route.value;
    if (!TRACELESS.includes(now) && now !== "diff") go({ view });
  };
  const step = (by: number): void => {
    const { call, at } = route.value;
    const count = traceSet.value?.traces[at]?.calls ?? 0;
    if (call !== null && call + by >= 1 && call + by <= count) go({ call: call + by }, "replace");
  };
  useKeys({
    "?": help,
    d: toggleTheme,
    "g h": () => {
      if (!backend.isReport) go({ view: "home", trace: [], diff: null, live: null });
    },
    "g t": to("timeline"),
    "g c": to("calls"),
    "g m": to("messages"),
    "g o": to("tools"),
    "g s": to("sessions"),
    "g l": to("lint"),
    "g r": to("raw"),
    "[": () => step(-1),
    "]": () => step(1),
    r: () => {
      const { call, show } = route.value;
      if (call !== null) go({ show: show === "raw" ? "" : "raw" }, "replace");
    },
    Escape: () => {
      const { call, view, filter } = route.value;
      if (call !== null && view === "call") go({ view: "calls" });
      else if (call !== null) go({ call: null, show: "" });
      else if (filter !== "") go({ filter: "" });
    },
  });
}

function useTitle(): void {
  const title = titleOf(route.value.view);
  useEffect(() => {
    document.title = title;
  }, [title]);
}

function titleOf(view: ViewName): string {
  const labels = (traceSet.value?.traces ?? []).map((trace) => visible(trace.label)).join(", ");
  if (view === "home") return "Wiretape";
  const title = VIEW_TITLES[view];
  return labels === "" ? `${title} · Wiretape` : `${labels} · ${title} · Wiretape`;
}
