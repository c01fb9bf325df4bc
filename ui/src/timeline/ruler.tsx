// The time scale above the lanes, from the start of the trace. Dragging over it zooms in.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { lengthOf, ticks, type Window, within } from "./window";

type RulerProps = { seen: Window; whole: Window; width: number; onWindow(next: Window): void };

export function Ruler({ seen, whole, width, onWindow }: RulerProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [brush, setBrush] = useState<[number, number] | null>(null);
  const xOf = (us: number): number => ((us - seen.fromUs) / lengthOf(seen)) * width;
  const at = (event: PointerEvent): number => {
    const rect = box.current?.getBoundingClientRect();
    return Math.min(width, Math.max(0, event.clientX - (rect?.left ?? 0)));
  };
  const finish = (): void => {
    if (brush !== null && Math.abs(brush[1] - brush[0]) > 4) {
      const us = (x: number): number => seen.fromUs + (x / Math.max(1, width)) * lengthOf(seen);
      onWindow(within({ fromUs: us(Math.min(...brush)), toUs: us(Math.max(...brush)) }, whole));
    }
    setBrush(null);
  };
  return (
    <div
      ref={box}
      class="ruler"
      title="Drag to zoom in"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush([at(event), at(event)]);
      }}
      onPointerMove={(event) => {
        if (brush !== null) setBrush([brush[0], at(event)]);
      }}
      onPointerUp={finish}
    >
      {ticks(seen, whole.fromUs, Math.max(2, Math.floor(width / 90))).map(({ us, text }) => (
        <span key={us} class="ruler-tick" style={{ left: `${xOf(us)}px` }}>
          {text}
        </span>
      ))}
      {brush !== null && (
        <span
          class="ruler-brush"
          style={{ left: `${Math.min(...brush)}px`, width: `${Math.abs(brush[1] - brush[0])}px` }}
        />
      )}
    </div>
  );
}
