// Changes of the server's definitions: tools, prompts, resources, and the server itself.

import type { JSX } from "preact";
import type { DefinitionChange } from "../../api/types";
import { SafeText } from "../../text/safe-text";
import { CodeSpans } from "../../text/code-spans";
import { count, number } from "../../text/units";
import { Section } from "../parts/section";
import { BeforeAfter } from "./difference";

/** Badges for effects whose API name does not read well. */
const EFFECT_TEXTS: Readonly<Record<string, string>> = { informing: "info" };

export function Definitions({ changes }: { changes: readonly DefinitionChange[] }): JSX.Element | null {
  if (changes.length === 0) return null;
  const breaking = changes.filter((change) => change.effect === "breaking").length;
  return (
    <Section
      title={count(changes.length, "definition change")}
      aside={breaking > 0 && <span class="badge error">{`${number(breaking)} breaking`}</span>}
    >
      <ul class="definitions">
        {changes.map((change, index) => (
          <li key={index}>
            <details>
              <summary>
                <span class={change.effect === "breaking" ? "badge error" : "badge"}>{EFFECT_TEXTS[change.effect] ?? (change.effect || change.change)}</span>
                <span class="tag">{change.of}</span>
                <code>
                  <SafeText text={change.name} />
                </code>
                <span class="definition-message">
                  <CodeSpans text={change.message} />
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
                  <CodeSpans text={change.advice} />
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </Section>
  );
}
