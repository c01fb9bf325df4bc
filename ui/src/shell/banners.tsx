// What is to be known of all that is shown: it is a report, the server is gone, a trace never ended.

import type { JSX } from "preact";
import type { TraceInfo } from "../api/types";
import { backend } from "../state/backend";
import { dismissOpenProblem, openProblem } from "../state/open";
import { isLinked, traceSet } from "../state/set";
import { SafeText } from "../text/safe-text";
import { local } from "../text/units";
import { ProgressBar } from "./problem";
import { reportFacts } from "../report/facts";

export function Banners(): JSX.Element {
  const set = traceSet.value;
  return (
    <section class="banners" aria-label="Notices">
      {backend.isReport && <ReportBanner />}
      {!isLinked.value && (
        <p class="banner warn" role="status">
          The server is gone: this is what it told last. Trying again…
        </p>
      )}
      {openProblem.value !== null && (
        <p class="banner error" role="alert">
          <SafeText text={openProblem.value.error} />
          {openProblem.value.hint !== null && <SafeText text={`: ${openProblem.value.hint}`} />}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={dismissOpenProblem}>
            ✕
          </button>
        </p>
      )}
      {set?.traces.map((trace) => <TraceBanner key={trace.key} trace={trace} />)}
    </section>
  );
}

function TraceBanner({ trace }: { trace: TraceInfo }): JSX.Element | null {
  if (!trace.progress.isComplete) {
    return (
      <p class="banner info" role="status">
        Reading <SafeText text={trace.label} />
        <ProgressBar label={`Reading ${trace.label}`} progress={trace.progress} />
      </p>
    );
  }
  if (trace.notices.length === 0) return null;
  return (
    <details class="banner warn">
      <summary>
        <SafeText text={`${trace.label}: ${trace.notices[0] ?? ""}`} />
        {trace.notices.length > 1 && ` and ${trace.notices.length - 1} more`}
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
  const lines = facts.redacted === 1 ? "1 line" : `${facts.redacted} lines`;
  return (
    <p class="banner info">
      This is a report, made on {local(facts.createdMs)} by wiretape {facts.version}. It was searched for secrets again
      {facts.redacted > 0 ? `, and some were taken out of ${lines}` : ", and none were found"}. No list of patterns is
      complete: read it before you hand it on.
    </p>
  );
}
