// The top of the page: the link home, the traces, the tabs and the filter.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { TraceInfo } from "../api/types";
import { filterText, go, href, route, type ViewName } from "../router";
import { backend } from "../state/backend";
import { isLive, traceSet } from "../state/set";
import { theme, toggleTheme } from "../state/theme";
import { SafeText } from "../text/safe-text";
import { visible } from "../text/visible";
import { quoted, withWord } from "./complete";
import { FilterBox } from "./filter-box";
import { VIEW_TITLES } from "./view-titles";

const TABS: readonly ViewName[] = ["timeline", "calls", "messages", "tools", "sessions", "lint", "raw"];

const FILTERED: readonly ViewName[] = ["timeline", "calls", "messages"];

export function TopBar({ onHelp }: { onHelp(): void }): JSX.Element {
  const { view } = route.value;
  const hasTraces = view !== "home" && view !== "activity" && view !== "diff";
  return (
    <header class="top-bar">
      <div class="top-line">
        {backend.isReport ? <span class="logo">Wiretape</span> : <HomeLink />}
        {hasTraces && <TraceTabs />}
        {view === "diff" && <DiffTitle />}
        <span class="top-space" />
        {isLive.value && hasTraces && <span class="badge live">live</span>}
        <button
          type="button"
          class="quiet icon"
          aria-label={theme.value === "dark" ? "Switch to the light theme" : "Switch to the dark theme"}
          title="Switch between light and dark (d)"
          onClick={toggleTheme}
        >
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button type="button" class="quiet icon" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={onHelp}>
          ?
        </button>
      </div>
      {hasTraces && (
        <div class="top-line">
          <ViewTabs />
          {FILTERED.includes(view) && <FilterBox />}
        </div>
      )}
    </header>
  );
}

function HomeLink(): JSX.Element {
  return (
    <a class="logo" href={href({ view: "home", trace: [], diff: null, live: null })} title="Home (g h)">
      <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
        <circle cx="7" cy="12" r="4.2" fill="none" stroke="currentcolor" stroke-width="2" />
        <circle cx="17" cy="12" r="4.2" fill="none" stroke="currentcolor" stroke-width="2" />
        <path d="M7 16.2h10" stroke="currentcolor" stroke-width="2" />
      </svg>
      Wiretape
    </a>
  );
}

/** The name of the trace; for several traces, buttons that select one by a term of the filter. */
function TraceTabs(): JSX.Element | null {
  const traces = traceSet.value?.traces ?? [];
  const [only] = traces;
  if (only === undefined) return null;
  if (traces.length === 1) {
    return (
      <span class="trace-name" title={visible(only.command ?? only.file)}>
        <strong class="clip">
          <SafeText text={only.label} />
        </strong>
        {only.server !== null && (
          <span class="dim clip wide">
            <SafeText text={only.server} />
          </span>
        )}
        <StateBadge trace={only} />
      </span>
    );
  }
  const filter = filterText.value;
  const isChosen = (label: string): boolean => filter.includes(`server:${quoted(label)}`);
  const isAll = !traces.some(({ label }) => isChosen(label));
  const choose = (key: string, label: string, at: number): void => {
    // The filter can't distinguish traces with the same label, so such a trace is opened on its own.
    const isOnly = traces.filter((other) => other.label === label).length === 1;
    if (isOnly) go({ filter: withWord(filter, "server", label), at });
    else go({ trace: [key], view: route.value.view });
  };
  return (
    <div class="trace-tabs" role="group" aria-label="Traces">
      <button type="button" aria-pressed={isAll} onClick={() => go({ filter: withWord(filter, "server", ""), at: 0 })}>
        All
      </button>
      {traces.map((trace, at) => (
        <button
          key={trace.key}
          type="button"
          aria-pressed={isChosen(trace.label)}
          onClick={() => choose(trace.key, trace.label, at)}
        >
          <span class={`lane-dot lane-${at % 6}`} aria-hidden="true" />
          <SafeText text={trace.label} />
          <StateBadge trace={trace} />
        </button>
      ))}
    </div>
  );
}

function StateBadge({ trace: { state, stateText: text, failure } }: { trace: TraceInfo }): JSX.Element | null {
  if (state === "no-end") return <span class="badge warn">recording was cut off</span>;
  if (state === "rotated") return <span class="badge info">continues in the next file</span>;
  if (state === "ended" && text !== "" && text !== "exit 0") {
    return (
      <span class={failure === null ? "badge" : "badge error"}>
        <SafeText text={text} />
      </span>
    );
  }
  return null;
}

function DiffTitle(): JSX.Element {
  const [a, b] = traceSet.value?.traces ?? [];
  const [keyA, keyB] = route.value.diff ?? ["", ""];
  return (
    <span class="trace-name">
      <strong class="clip">
        <SafeText text={a?.label ?? keyA} />
      </strong>
      <span class="dim">compared with</span>
      <strong class="clip">
        <SafeText text={b?.label ?? keyB} />
      </strong>
    </span>
  );
}

function ViewTabs(): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const { view } = route.value;
  const shown = view === "call" ? "calls" : view;
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = TABS.findIndex((name) => name === shown);
    const next = TABS[(at + by + TABS.length) % TABS.length];
    if (next === undefined) return;
    go({ view: next });
    list.current?.querySelector<HTMLElement>(`[data-view=${next}]`)?.focus();
  };
  return (
    <div ref={list} class="view-tabs" role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
      {TABS.map((name) => (
        <a
          key={name}
          id={`tab-${name}`}
          role="tab"
          data-view={name}
          href={href({ view: name })}
          aria-selected={shown === name}
          aria-controls="view"
          tabIndex={shown === name ? 0 : -1}
        >
          {VIEW_TITLES[name]}
        </a>
      ))}
    </div>
  );
}
