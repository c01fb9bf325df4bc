// What has changed in what the server offers.

import type { JSX } from "preact";
import type { DefinitionChange } from "../../api/types";
import { SafeText } from "../../text/safe-text";
import { Ticked } from "../../text/ticked";
import { count } from "../../text/units";
import { Section } from "../parts/section";
import { BeforeAfter } from "./difference";

export function Definitions({ changes }: { changes: readonly DefinitionChange[] }): JSX.Element | null {
  if (changes.length === 0) return null;
  const breaking = changes.filter((change) => change.effect === "breaking").length;
  return (
    <Section
      title={`${count(changes.length, "change")} of what the server offers`}
      aside={breaking > 0 && <span class="badge error">{`${breaking} breaking`}</span>}
    >
      <ul class="definitions">
        {changes.map((change, index) => (
          <li key={index}>
            <details>
              <summary>
                <span class={change.effect === "breaking" ? "badge error" : "badge"}>{change.effect || change.change}</span>
                <span class="tag">{change.of}</span>
                <code>
                  <SafeText text={change.name} />
                </code>
                <span class="definition-message">
                  <Ticked text={change.message} />
                </span>
              </summary>
              {change.pointer !== "" && (
                <p class="dim">
                  <code>
                    <SafeText text={change.pointer} />
                  </code>
                </p>
              )}
              <BeforeAfter before={change.before} after={change.after} />
              {change.advice !== "" && (
                <p>
                  <Ticked text={change.advice} />
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </Section>
  );
}
