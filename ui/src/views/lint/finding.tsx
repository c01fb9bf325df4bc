// A finding: the message, its position, and an excerpt with the offending text marked.

import type { JSX } from "preact";
import type { Finding } from "../../api/types";
import { href } from "../../router";
import { isMerged, labelOf } from "../../state/set";
import { SafeText } from "../../text/safe-text";
import { CodeSpans } from "../../text/code-spans";
import { CallLink, LineLink } from "../parts/links";

export function Severity({ severity }: { severity: string }): JSX.Element {
  const tone = severity === "error" ? "error" : severity === "warning" ? "warn" : "info";
  return <span class={`badge ${tone}`}>{severity}</span>;
}

/** `isNamed`: shows the rule's name, for lists that are not grouped by rule. */
export function FindingPlace({ finding, isNamed = false }: { finding: Finding; isNamed?: boolean }): JSX.Element {
  return (
    <article class="finding">
      {isNamed && (
        <p class="finding-rule">
          <Severity severity={finding.severity} />
          <a href={href({ view: "lint", open: finding.rule })}>
            <code>{`${finding.code} ${finding.rule}`}</code>
          </a>
        </p>
      )}
      <p>
        <CodeSpans text={finding.message} />
      </p>
      <p class="finding-where dim">
        {isMerged.value && <SafeText text={`${labelOf(finding.trace)} · `} />}
        <LineLink at={finding.trace} line={finding.line} />
        {finding.call !== null && (
          <>
            {" · "}
            <CallLink at={finding.trace} call={finding.call}>{`call ${finding.call}`}</CallLink>
          </>
        )}
        {finding.pointer !== "" && (
          <>
            {" · "}
            <code>
              <SafeText text={finding.pointer} />
            </code>
          </>
        )}
      </p>
      {finding.marked !== "" && (
        <pre class="excerpt">
          <SafeText text={finding.before} />
          <mark>
            <SafeText text={finding.marked} />
          </mark>
          <SafeText text={finding.after} />
        </pre>
      )}
      {isNamed && finding.fix !== "" && (
        <p class="finding-fix">
          <CodeSpans text={finding.fix} />
        </p>
      )}
    </article>
  );
}
