// The timeline: a minimap of the whole trace, the calls as bars, and the messages below.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import { filterText, go, route } from "../router";
import { EmptyState, ProblemState } from "../shell/problem";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { isLive, keys, traceSet, version } from "../state/set";
import { count, duration, number } from "../text/units";
import { Lanes } from "../timeline/lanes";
import { MiniMap } from "../timeline/mini-map";
import { isWhole, lengthOf, type Window, within, zoom } from "../timeline/window";
import { openMessage } from "./messages";
import { CallPanel } from "./parts/call-panel";
import { MessageList } from "./parts/message-list";

const MOST_BARS = 600;
const BUCKETS = 240;
/** How long the window must stay unchanged before it goes into the URL and its bars are fetched. */
const REST_MS = 180;

export function TimelineView(): JSX.Element {
  const whole = useWhole();
  const [seen, setSeen] = useWindow(whole);
  const isZoomed = !isWhole(seen, whole);
  const resting = useRested(seen);
  // The whole range grows with a live trace, and is fetched at once.
  const rested = isZoomed ? resting : whole;
  // A signal, so that scrolling the messages redraws only the mark on the minimap.
  const listed = useSignal<Window | null>(null);
  const { call, at } = route.value;
  const filter = filterText.value;

  const density = useResource((signal) => backend.density(keys.value, BUCKETS, signal), [keys.value], [version.value]);
  const timeline = useResource(
    (signal) => backend.timeline(keys.value, { filter, ...rested, limit: MOST_BARS }, signal),
    [keys.value, filter],
    [rested.fromUs, rested.toUs, version.value],
  );
  const detail = useResource(
    async (signal) => (call === null ? undefined : backend.call(keys.value, at, call, signal)),
    [keys.value, call, at],
  );
  useZoomKeys(seen, whole, setSeen);

  if (timeline.error !== undefined && timeline.data === undefined) {
    return <ProblemState error={timeline.error} retry={timeline.reload} />;
  }
  const bars = timeline.data?.bars ?? [];
  const total = timeline.data?.total ?? 0;
  return (
    <div class={call === null ? "split" : "split has-panel"}>
      <div class="split-main timeline">
        <MiniMap density={density.data} whole={whole} seen={seen} listed={listed} onWindow={setSeen} />
        <div class="timeline-facts list-facts" role="status">
          <span>
            {bars.length < total ? `${number(bars.length)} of ${count(total, "call")}: failed calls first, then the longest` : count(total, "call")}
          </span>
          <span>{isZoomed ? `${duration(lengthOf(seen))} of ${duration(lengthOf(whole))}` : duration(lengthOf(whole))}</span>
          <ZoomButtons seen={seen} whole={whole} isZoomed={isZoomed} onWindow={setSeen} />
        </div>
        {timeline.data !== undefined && total === 0 ? (
          <NoBars isZoomed={isZoomed} filter={filter} />
        ) : (
          <Lanes bars={bars} density={density.data} whole={whole} seen={seen} detail={detail.data} onWindow={setSeen} />
        )}
        <MessageList onOpen={openMessage} window={isZoomed ? rested : null} onSeen={(span) => (listed.value = span)} />
      </div>
      {call !== null && <CallPanel />}
    </div>
  );
}

function NoBars({ isZoomed, filter }: { isZoomed: boolean; filter: string }): JSX.Element {
  const nothing = isLive.value ? "No calls yet." : "There are no calls in this trace.";
  const where = isZoomed ? " in this time range" : "";
  const title = filter !== "" ? `No calls${where} match this filter.` : isZoomed ? `No calls${where}.` : nothing;
  return (
    <div class="lanes-empty">
      <EmptyState title={title}>
        {isLive.value && <p>Calls appear here as they happen.</p>}
      </EmptyState>
    </div>
  );
}

type ZoomButtonsProps = { seen: Window; whole: Window; isZoomed: boolean; onWindow(next: Window | null): void };

function ZoomButtons({ seen, whole, isZoomed, onWindow }: ZoomButtonsProps): JSX.Element {
  const middle = (seen.fromUs + seen.toUs) / 2;
  return (
    <span class="zoom-buttons">
      <button type="button" class="icon" aria-label="Zoom in" title="Zoom in (+)" onClick={() => onWindow(zoom(seen, 0.5, middle, whole))}>
        +
      </button>
      <button
        type="button"
        class="icon"
        aria-label="Zoom out"
        title="Zoom out (-)"
        disabled={!isZoomed}
        onClick={() => onWindow(zoom(seen, 2, middle, whole))}
      >
        −
      </button>
      <button type="button" disabled={!isZoomed} title="Show all (0)" onClick={() => onWindow(null)}>
        Show all
      </button>
    </span>
  );
}

/** From the first line to the last, plus a small margin. */
function useWhole(): Window {
  const set = traceSet.value;
  const fromUs = set?.fromUs ?? 0;
  const lastUs = set?.toUs ?? 0;
  return useMemo(() => {
    const toUs = Math.max(lastUs, fromUs + 1000);
    return { fromUs, toUs: Math.round(toUs + (toUs - fromUs) * 0.01) };
  }, [fromUs, lastUs]);
}

/** The window of the URL, or the whole range; while dragging, it is ahead of the URL. */
function useWindow(whole: Window): [Window, (next: Window | null) => void] {
  const { fromUs, toUs } = route.value;
  const [ahead, setAhead] = useState<Window | "whole" | null>(null);
  const timer = useRef(0);
  useEffect(() => setAhead(null), [fromUs, toUs]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const ofUrl = fromUs !== null && toUs !== null && toUs > fromUs ? within({ fromUs, toUs }, whole) : whole;
  const seen = ahead === "whole" ? whole : (ahead ?? ofUrl);
  const set = (next: Window | null): void => {
    const isAll = next === null || isWhole(next, whole);
    setAhead(isAll ? "whole" : next);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      go(isAll ? { fromUs: null, toUs: null } : { fromUs: next.fromUs, toUs: next.toUs }, "replace");
    }, REST_MS);
  };
  return [seen, set];
}

/** The window, once it has stopped changing. */
function useRested(seen: Window): Window {
  const [rested, setRested] = useState(seen);
  useEffect(() => {
    const timer = window.setTimeout(() => setRested(seen), REST_MS);
    return () => window.clearTimeout(timer);
  }, [seen.fromUs, seen.toUs]);
  return rested;
}

function useZoomKeys(seen: Window, whole: Window, onWindow: (next: Window | null) => void): void {
  const middle = (seen.fromUs + seen.toUs) / 2;
  const zoomBy = (factor: number) => (): void => onWindow(zoom(seen, factor, middle, whole));
  useKeys({ "+": zoomBy(0.6), "=": zoomBy(0.6), "-": zoomBy(1 / 0.6), "0": () => onWindow(null) });
}
