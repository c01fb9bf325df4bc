// A lane per trace, with its calls as bars.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Bar, CallDetail, Density } from "../api/types";
import { route } from "../router";
import { isMerged, labelOf } from "../state/set";
import { SafeText } from "../text/safe-text";
import { count } from "../text/units";
import { BarTip, CallBar, ROW_PX, SHORTEST_PX } from "./bar";
import { drawnBars, type Lane, layoutLanes, type PlacedBar } from "./layout";
import { Ruler } from "./ruler";
import { useWidth } from "./use-width";
import { lengthOf, move, type Window, zoom } from "./window";

type LanesProps = {
  bars: readonly Bar[];
  density: Density | undefined;
  whole: Window;
  seen: Window;
  detail: CallDetail | undefined;
  onWindow(next: Window): void;
};

export function Lanes({ bars, density, whole, seen, detail, onWindow }: LanesProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hover, setHover] = useState<{ bar: Bar; box: DOMRect } | null>(null);
  const { call, at } = route.value;
  // The scale decides which bars overlap. It is rounded to a third of an octave, so that rows stay put while zooming a little.
  const scale = Math.max(1, lengthOf(seen) / Math.max(1, width));
  const steadyScale = 2 ** (Math.round(Math.log2(scale) * 3) / 3);
  const lanes = useMemo(() => layoutLanes(bars, steadyScale * (SHORTEST_PX + 1)), [bars, steadyScale]);
  usePanAndZoom(box, seen, whole, width, onWindow);
  useEffect(() => setHover(null), [seen.fromUs, seen.toUs]);

  const isSeen = ({ bar }: PlacedBar): boolean => bar.atUs <= seen.toUs && bar.atUs + (bar.latencyUs ?? 0) >= seen.fromUs;
  const isOpen = (bar: Bar): boolean => bar.call === call && bar.trace === at;
  // One listener for all bars: there may be hundreds of them.
  const point = (event: Event): void => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>(".call-bar") : null;
    const { call: number, trace } = element?.dataset ?? {};
    const bar = bars.find((other) => String(other.call) === number && String(other.trace) === trace);
    setHover(element === null || bar === undefined ? null : { bar, box: element.getBoundingClientRect() });
  };
  // One bar is in the tab order; the arrow keys reach the others from it.
  const reachable = bars.find(isOpen) ?? lanes[0]?.bars.find(isSeen)?.bar;
  return (
    <>
      <Ruler seen={seen} whole={whole} width={width} onWindow={onWindow} />
      <div
        ref={box}
        class="lanes"
        role="group"
        aria-label="Calls over time"
        onKeyDown={moveFocus}
        onMouseOver={point}
        onMouseLeave={() => setHover(null)}
        onFocusIn={point}
        onFocusOut={() => setHover(null)}
      >
        <Stderr density={density} seen={seen} />
        {lanes.map((lane) => (
          <div key={lane.trace} class="lane" role="group" aria-label={labelOf(lane.trace)} style={{ height: `${laneHeight(lane)}px` }}>
            {isMerged.value && (
              <span class="lane-name">
                <span class={`lane-dot lane-${lane.trace % 6}`} aria-hidden="true" />
                <SafeText text={labelOf(lane.trace)} />
              </span>
            )}
            <div class="lane-bars">
              {width > 0 &&
                drawnBars(lane.bars.filter(isSeen), scale * SHORTEST_PX, isOpen).map(({ bar, row, freeUntilUs }) => (
                    <CallBar
                      key={bar.call}
                      bar={bar}
                      row={row}
                      freeUntilUs={freeUntilUs}
                      seen={seen}
                      width={width}
                      isOpen={isOpen(bar)}
                      isReachable={bar === reachable}
                      detail={detail}
                    />
                  ))}
            </div>
          </div>
        ))}
      </div>
      {hover !== null && <BarTip bar={hover.bar} box={hover.box} beginUs={whole.fromUs} isMerged={isMerged.value} />}
    </>
  );
}

const NAME_PX = 18;

function laneHeight(lane: Lane): number {
  return lane.rows * ROW_PX + 6 + (isMerged.value ? NAME_PX : 0);
}

/** The times at which the server wrote to stderr. */
function Stderr({ density, seen }: { density: Density | undefined; seen: Window }): JSX.Element | null {
  if (density === undefined || !density.stderr.some((lines) => lines > 0)) return null;
  const step = (density.toUs - density.fromUs) / Math.max(1, density.stderr.length);
  return (
    <div class="stderr-strip" aria-label="stderr">
      {density.stderr.map((lines, n) => {
        const fromUs = density.fromUs + n * step;
        if (lines === 0 || fromUs + step < seen.fromUs || fromUs > seen.toUs) return null;
        const left = ((fromUs - seen.fromUs) / lengthOf(seen)) * 100;
        const width = (step / lengthOf(seen)) * 100;
        return (
          <span
            key={n}
            title={`${count(lines, "line")} of stderr`}
            style={{ left: `${left}%`, width: `max(2px, ${width}%)` }}
          />
        );
      })}
    </div>
  );
}

/** The arrow keys move between bars: left and right in time, up and down between rows. */
function moveFocus(event: KeyboardEvent): void {
  const now = document.activeElement;
  if (!(now instanceof HTMLElement) || !now.classList.contains("call-bar")) return;
  const bars = [...(now.closest(".lanes")?.querySelectorAll<HTMLElement>(".call-bar") ?? [])];
  const boxes = bars.map((element) => ({ element, box: element.getBoundingClientRect() }));
  const from = now.getBoundingClientRect();
  const isBeyond: Record<string, (box: DOMRect) => boolean> = {
    ArrowLeft: (box) => box.left < from.left - 0.01,
    ArrowRight: (box) => box.left > from.left + 0.01,
    ArrowUp: (box) => box.top < from.top - 2,
    ArrowDown: (box) => box.top > from.top + 2,
  };
  const test = isBeyond[event.key];
  if (test === undefined) return;
  const isAcross = event.key === "ArrowLeft" || event.key === "ArrowRight";
  const distance = (box: DOMRect): number =>
    isAcross
      ? Math.abs(box.left - from.left) + Math.abs(box.top - from.top) * 0.01
      : Math.abs(box.top - from.top) * 1000 + Math.abs(box.left - from.left);
  const [next] = boxes.filter(({ box }) => test(box)).toSorted((a, b) => distance(a.box) - distance(b.box));
  event.preventDefault();
  event.stopPropagation();
  next?.element.focus({ preventScroll: false });
}

/** Ctrl+wheel zooms; Shift+wheel, a horizontal wheel and dragging pan. */
function usePanAndZoom(
  box: { current: HTMLDivElement | null },
  seen: Window,
  whole: Window,
  width: number,
  onWindow: (next: Window) => void,
): void {
  const now = useRef({ seen, whole, width, onWindow });
  now.current = { seen, whole, width, onWindow };
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const perPixel = (): number => lengthOf(now.current.seen) / Math.max(1, now.current.width);
    const onWheel = (event: WheelEvent): void => {
      const { seen, whole, onWindow } = now.current;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const at = seen.fromUs + (event.clientX - element.getBoundingClientRect().left) * perPixel();
        onWindow(zoom(seen, 1.0018 ** event.deltaY, at, whole));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        onWindow(move(seen, (event.deltaX || event.deltaY) * perPixel(), whole));
      }
    };
    let held: { x: number; y: number; top: number; seen: Window; isMoving: boolean } | null = null;
    const onDown = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      held = { x: event.clientX, y: event.clientY, top: element.scrollTop, seen: now.current.seen, isMoving: false };
    };
    const onMove = (event: PointerEvent): void => {
      if (held === null || event.buttons === 0) return;
      const by = event.clientX - held.x;
      if (!held.isMoving && Math.abs(by) + Math.abs(event.clientY - held.y) < 4) return;
      if (!held.isMoving) element.setPointerCapture(event.pointerId);
      held.isMoving = true;
      element.scrollTop = held.top - (event.clientY - held.y);
      now.current.onWindow(move(held.seen, -by * perPixel(), now.current.whole));
    };
    const onUp = (): void => {
      // The click at the end of a drag must not open a call.
      if (held?.isMoving) element.addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => element.removeEventListener("click", stop, { capture: true }), 0);
      held = null;
    };
    const stop = (event: Event): void => {
      event.preventDefault();
      event.stopPropagation();
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    element.addEventListener("pointerup", onUp);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      element.removeEventListener("pointerup", onUp);
    };
  }, []);
}
