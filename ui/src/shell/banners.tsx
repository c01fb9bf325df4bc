// Notices about the page as a whole: it is a report, the server is gone, a recording was cut off.

import type { JSX } from "preact";
import type { TraceInfo } from "../api/types";
import { backend } from "../state/backend";
import { dismissOpenProblem, openProblem } from "../state/open";
import { isLinked, traceSet } from "../state/set";
import { Sentence } from "../text/code-spans";
import { SafeText } from "../text/safe-text";
import { count, local, number } from "../text/units";
import { StderrTail } from "../views/parts/stderr-tail";
import { ProgressBar } from "./problem";
import { reportFacts } from "../report/facts";

export function Banners(): JSX.Element {
  const set = traceSet.value;
  return (
    <section class="banners" aria-label="Notices">
      {backend.isReport && <ReportBanner />}
      {!isLinked.value && (
        <p class="banner warn" role="status">
          <span>
            Disconnected from <code>wiretape view</code>. Showing the last data received. Reconnecting…
          </span>
        </p>
      )}
      {openProblem.value !== null && (
        <p class="banner error" role="alert">
          <span>
            <Sentence text={openProblem.value.error} />
            {openProblem.value.hint !== null && (
              <>
                {" "}
                <Sentence text={openProblem.value.hint} />
              </>
            )}
          </span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={dismissOpenProblem}>
            ✕
          </button>
        </p>
      )}
      {set?.traces.map((trace) => <FailureBanner key={trace.key} trace={trace} />)}
      {set?.traces.map((trace) => <TraceBanner key={trace.key} trace={trace} />)}
    </section>
  );
}

/** A server that crashed or could not be started, with its last words. */
function FailureBanner({ trace: { label, stateText, failure } }: { trace: TraceInfo }): JSX.Element | null {
  if (failure === null) return null;
  const { openCalls, lastStderr } = failure;
  const open = openCalls === 0 ? "" : ` with ${count(openCalls, "call")} in flight`;
  const last = lastStderr.at(-1);
  const sentence = `${label}: ${stateText}${open}${last === undefined ? "" : `: ${last}`}`;
  if (lastStderr.length < 2) {
    return (
      <p class="banner error" role="status">
        <SafeText text={sentence} />
      </p>
    );
  }
  return (
    <details class="banner error">
      <summary>
        <SafeText text={sentence} />
      </summary>
      <StderrTail lines={lastStderr} />
    </details>
  );
}

function TraceBanner({ trace }: { trace: TraceInfo }): JSX.Element | null {
  if (!trace.progress.isComplete) {
    return (
      <p class="banner info" role="status">
        <span>
          Reading <SafeText text={trace.label} />…
        </span>
        <ProgressBar label={`Reading ${trace.label}`} progress={trace.progress} />
      </p>
    );
  }
  if (trace.notices.length === 0) return null;
  return (
    <details class="banner warn">
      <summary>
        <SafeText text={`${trace.label}: ${trace.notices[0] ?? ""}`} />
        {trace.notices.length > 1 && ` (and ${number(trace.notices.length - 1)} more)`}
      </summary>
      {trace.notices.length > 1 && (
        <ul>
          {trace.notices.slice(1).map((notice) => (
            <li key={notice}>
              <SafeText text={notice} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function ReportBanner(): JSX.Element | null {
  const facts = reportFacts.value;
  if (facts === null) return null;
  return (
    <p class="banner info">
      This report was created on {local(facts.createdMs)} by wiretape {facts.version}. It was scanned for secrets again:{" "}
      {facts.redacted > 0 ? `secrets were redacted in ${count(facts.redacted, "line")}` : "none were found"}. No list of
      patterns is complete, so review the report before you share it.
    </p>
  );
}
