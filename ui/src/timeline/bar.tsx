// A call on the timeline, with its tooltip.

import type { JSX } from "preact";
import type { Bar, CallDetail } from "../api/types";
import { href } from "../router";
import { labelOf } from "../state/set";
import { SafeText } from "../text/safe-text";
import { count, duration } from "../text/units";
import { visible } from "../text/visible";
import { isUnanswered } from "../text/words";
import { lengthOf, type Window } from "./window";

export const ROW_PX = 20;
export const SHORTEST_PX = 4;

type CallBarProps = {
  bar: Bar;
  row: number;
  freeUntilUs: number;
  seen: Window;
  width: number;
  isOpen: boolean;
  isReachable: boolean;
  /** The messages during the call, if it is the open one. */
  detail: CallDetail | undefined;
};

export function CallBar(props: CallBarProps): JSX.Element {
  const { bar, seen, width } = props;
  const scale = width / lengthOf(seen);
  const from = (bar.atUs - seen.fromUs) * scale;
  const to = from + Math.max(SHORTEST_PX - 1, (bar.latencyUs ?? 0) * scale);
  // A bar that starts far to the left is clipped, so that its name is visible and no element is millions of pixels wide.
  const left = Math.max(-2, from);
  const length = Math.max(SHORTEST_PX - 1, Math.min(to, width + 2) - left);
  const room = Math.min((props.freeUntilUs - seen.fromUs) * scale, width) - to;
  const isInside = length > 44;
  return (
    <a
      class={`call-bar ${toneOf(bar)} ${props.isOpen ? "open" : ""} ${bar.progress > 0 ? "has-progress" : ""}`}
      href={href({ call: bar.call, at: bar.trace })}
      data-call={bar.call}
      data-trace={bar.trace}
      tabIndex={props.isReachable ? 0 : -1}
      aria-label={describe(bar)}
      style={{ left: `${left}px`, width: `${length}px`, top: `${props.row * ROW_PX + 3}px` }}
      draggable={false}
    >
      {isInside && (
        <span class="bar-name inside">
          <SafeText text={bar.name} />
        </span>
      )}
      {!isInside && room > 46 && (
        <span class="bar-name outside" style={{ maxWidth: `${Math.min(160, room - 8)}px` }}>
          <SafeText text={bar.name} />
        </span>
      )}
      {props.isOpen && props.detail !== undefined && <Ticks detail={props.detail} scale={scale} shift={from - left} />}
    </a>
  );
}

/** Progress and stderr of the open call, at their times. */
function Ticks({ detail, scale, shift }: { detail: CallDetail; scale: number; shift: number }): JSX.Element {
  const shown = detail.meanwhile.filter(({ kind }) => kind !== "request" && kind !== "answer").slice(0, 300);
  return (
    <>
      {shown.map(({ line, afterUs, kind }) => (
        <span key={line} class={`bar-tick ${kind}`} style={{ left: `${shift + (afterUs ?? 0) * scale}px` }} />
      ))}
    </>
  );
}

function toneOf(bar: Bar): string {
  if (bar.isError) return "error";
  if (isUnanswered(bar.status)) return "unanswered";
  return bar.direction === "out" ? "nested" : "";
}

function describe(bar: Bar): string {
  const length = bar.latencyUs === null ? "no response" : duration(bar.latencyUs);
  const sender = bar.direction === "out" ? " from the server" : "";
  return `Call ${bar.call}: ${visible(bar.name)}${sender}, ${bar.status}, ${length}`;
}

type BarTipProps = { bar: Bar; box: DOMRect; beginUs: number; isMerged: boolean };

export function BarTip({ bar, box, beginUs, isMerged }: BarTipProps): JSX.Element {
  const left = Math.min(Math.max(8, box.left), window.innerWidth - 290);
  const isBelow = box.bottom + 110 < window.innerHeight;
  const place = isBelow ? { top: `${box.bottom + 6}px` } : { bottom: `${window.innerHeight - box.top + 6}px` };
  return (
    <div class="bar-tip" role="tooltip" style={{ left: `${left}px`, ...place }}>
      <strong>
        <SafeText text={bar.name} />
      </strong>
      <span class={bar.isError ? "error-text" : bar.status === "ok" ? "ok-text" : "warn-text"}>{bar.status}</span>
      <dl>
        <dt>Call</dt>
        <dd>
          {bar.call}
          {isMerged && (
            <>
              {" of "}
              <SafeText text={labelOf(bar.trace)} />
            </>
          )}
        </dd>
        <dt>Duration</dt>
        <dd>{bar.latencyUs === null ? "no response" : duration(bar.latencyUs)}</dd>
        <dt>Offset</dt>
        <dd>{duration(bar.atUs - beginUs)}</dd>
        {bar.direction === "out" && (
          <>
            <dt>Sent by</dt>
            <dd>the server{bar.parent === null ? "" : `, during call ${bar.parent}`}</dd>
          </>
        )}
        {bar.progress > 0 && (
          <>
            <dt>Progress</dt>
            <dd>{count(bar.progress, "notification")}</dd>
          </>
        )}
      </dl>
    </div>
  );
}
