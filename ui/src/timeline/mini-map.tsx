// The minimap: the density of calls over the whole trace, on which the visible range is drawn, moved and resized.

import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Density } from "../api/types";
import { theme } from "../state/theme";
import { duration } from "../text/units";
import { useWidth } from "./use-width";
import { isWhole, lengthOf, move, type Window, within, zoom } from "./window";

const HEIGHT_PX = 46;
/** A pointer this close to an edge of the window grabs the edge. */
const EDGE_PX = 6;

type MiniMapProps = {
  density: Density | undefined;
  whole: Window;
  seen: Window;
  /** The time range of the visible messages. */
  listed: ReadonlySignal<Window | null>;
  onWindow(next: Window | null): void;
};

export function MiniMap({ density, whole, seen, listed, onWindow }: MiniMapProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const px = (us: number): number => ((us - whole.fromUs) / lengthOf(whole)) * width;

  useEffect(() => {
    if (canvas.current !== null && density !== undefined && width > 0) draw(canvas.current, density, width);
  }, [density, width, theme.value]);

  const drag = useDrag(box, whole, seen, onWindow);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = lengthOf(seen) / 5;
    const middle = (seen.fromUs + seen.toUs) / 2;
    if (event.key === "ArrowLeft") onWindow(move(seen, -step, whole));
    else if (event.key === "ArrowRight") onWindow(move(seen, step, whole));
    else if (event.key === "ArrowUp") onWindow(zoom(seen, 1 / 1.5, middle, whole));
    else if (event.key === "ArrowDown") onWindow(zoom(seen, 1.5, middle, whole));
    else if (event.key === "Home") onWindow(move(seen, -lengthOf(whole), whole));
    else if (event.key === "End") onWindow(move(seen, lengthOf(whole), whole));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const left = px(seen.fromUs);
  const right = Math.max(left + 2, px(seen.toUs));
  return (
    <div
      ref={box}
      class="mini-map"
      role="slider"
      tabIndex={0}
      aria-label="Visible time range"
      aria-valuemin={0}
      aria-valuemax={Math.round(lengthOf(whole))}
      aria-valuenow={Math.round(seen.fromUs - whole.fromUs)}
      aria-valuetext={`from ${duration(seen.fromUs - whole.fromUs)} to ${duration(seen.toUs - whole.fromUs)} of ${duration(lengthOf(whole))}`}
      onKeyDown={onKeyDown}
      onDblClick={() => onWindow(null)}
      {...drag}
    >
      <canvas ref={canvas} height={HEIGHT_PX} aria-hidden="true" />
      <ListedRange listed={listed} px={px} />
      {!isWhole(seen, whole) && (
        <>
          <span class="mini-shade" style={{ left: 0, width: `${Math.max(0, left)}px` }} />
          <span class="mini-shade" style={{ left: `${right}px`, right: 0 }} />
          <span class="mini-window" style={{ left: `${left}px`, width: `${right - left}px` }} />
        </>
      )}
    </div>
  );
}

function ListedRange({ listed, px }: { listed: ReadonlySignal<Window | null>; px(us: number): number }): JSX.Element | null {
  if (listed.value === null) return null;
  const left = px(listed.value.fromUs);
  return <span class="mini-listed" style={{ left: `${left}px`, width: `${Math.max(3, px(listed.value.toUs) - left)}px` }} />;
}

type Grip = { kind: "new" | "move" | "from" | "to"; startX: number; startUs: number; seen: Window };

function useDrag(
  box: { current: HTMLDivElement | null },
  whole: Window,
  seen: Window,
  onWindow: (next: Window | null) => void,
): Pick<JSX.IntrinsicElements["div"], "onPointerDown" | "onPointerMove" | "onPointerUp"> {
  const grip = useRef<Grip | null>(null);
  const usAt = (event: PointerEvent): number => {
    const rect = box.current?.getBoundingClientRect();
    if (rect === undefined || rect.width === 0) return whole.fromUs;
    return whole.fromUs + ((event.clientX - rect.left) / rect.width) * lengthOf(whole);
  };
  return {
    onPointerDown: (event) => {
      if (event.button !== 0) return;
      const startUs = usAt(event);
      const edge = (EDGE_PX / Math.max(1, box.current?.clientWidth ?? 1)) * lengthOf(whole);
      event.currentTarget.setPointerCapture(event.pointerId);
      grip.current = { kind: gripKind(startUs, seen, whole, edge), startX: event.clientX, startUs, seen };
    },
    onPointerMove: (event) => {
      const held = grip.current;
      if (held === null || Math.abs(event.clientX - held.startX) < 3) return;
      onWindow(dragged(held, usAt(event), whole));
    },
    onPointerUp: (event) => {
      const held = grip.current;
      grip.current = null;
      if (held === null || Math.abs(event.clientX - held.startX) >= 3 || isWhole(seen, whole)) return;
      // A click centers the window there.
      const half = lengthOf(seen) / 2;
      const at = usAt(event);
      onWindow(within({ fromUs: at - half, toUs: at + half }, whole));
    },
  };
}

function gripKind(us: number, seen: Window, whole: Window, edge: number): Grip["kind"] {
  if (isWhole(seen, whole)) return "new";
  if (Math.abs(us - seen.fromUs) <= edge) return "from";
  if (Math.abs(us - seen.toUs) <= edge) return "to";
  return us > seen.fromUs && us < seen.toUs ? "move" : "new";
}

function dragged(grip: Grip, us: number, whole: Window): Window {
  const { seen, startUs } = grip;
  if (grip.kind === "move") return move(seen, us - startUs, whole);
  if (grip.kind === "from") return within({ fromUs: Math.min(us, seen.toUs), toUs: seen.toUs }, whole);
  if (grip.kind === "to") return within({ fromUs: seen.fromUs, toUs: Math.max(us, seen.fromUs) }, whole);
  return within({ fromUs: Math.min(us, startUs), toUs: Math.max(us, startUs) }, whole);
}

function draw(canvas: HTMLCanvasElement, density: Density, width: number): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT_PX * ratio);
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, HEIGHT_PX);
  const style = getComputedStyle(canvas);
  const color = (name: string): string => style.getPropertyValue(name);
  const top = Math.max(1, density.calls.reduce((most, n) => Math.max(most, n), 0));
  const step = width / Math.max(1, density.calls.length);
  const floor = HEIGHT_PX - 6;
  // The square root keeps single calls visible next to thousands.
  const heightOf = (n: number): number => (n === 0 ? 0 : Math.max(2, Math.sqrt(n / top) * (floor - 4)));
  density.calls.forEach((calls, n) => {
    if (calls === 0) return;
    const height = heightOf(calls);
    context.fillStyle = color("--bar");
    context.fillRect(n * step, floor - height, Math.max(1, step - 0.5), height);
    const failed = heightOf(density.errors[n] ?? 0);
    context.fillStyle = color("--bar-error");
    context.fillRect(n * step, floor - failed, Math.max(1, step - 0.5), failed);
  });
  context.fillStyle = color("--stderr");
  density.stderr.forEach((lines, n) => {
    if (lines > 0) context.fillRect(n * step, floor + 1.5, Math.max(1.5, step - 0.5), 3);
  });
}
