// The lint findings on the lines of a call.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallDetail } from "../../api/types";
import { backend } from "../../state/backend";
import { change, keys } from "../../state/set";
import { number } from "../../text/units";
import { FindingPlace } from "../lint/finding";
import { Section } from "../parts/section";

export function Findings({ detail }: { detail: CallDetail }): JSX.Element {
  const { findings, row } = detail;
  const lint = change.value?.traces[row.trace]?.lint ?? null;
  const [isRequested, setRequested] = useState(false);
  const ask = (): void => {
    setRequested(true);
    void backend.lint(keys.value);
  };
  return (
    <Section title="Lint" aside={findings.length > 0 && <span class="dim">{number(findings.length)}</span>}>
      {findings.length > 0 ? (
        <ul class="findings">
          {findings.map((finding, index) => (
            <li key={index}>
              <FindingPlace finding={finding} isNamed />
            </li>
          ))}
        </ul>
      ) : backend.isReport || lint?.isComplete ? (
        <p class="dim">No findings for this call.</p>
      ) : lint !== null || isRequested ? (
        <p class="dim" role="status">
          Checking the trace…
        </p>
      ) : (
        <p>
          <span class="dim">Not checked yet. </span>
          <button type="button" class="button" onClick={ask}>
            Check the trace
          </button>
        </p>
      )}
    </Section>
  );
}
