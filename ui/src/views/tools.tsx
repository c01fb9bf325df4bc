// Statistics of tools and methods, and the tools that were never called.

import type { JSX } from "preact";
import type { ToolRow, ToolsReport } from "../api/types";
import { useKeys } from "../keys";
import { go, route } from "../router";
import { EmptyState } from "../shell/problem";
import { usePolling } from "../state/polling";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { keys, version } from "../state/set";
import { SafeText } from "../text/safe-text";
import { count } from "../text/units";
import { Section } from "./parts/section";
import { ResourceView, ProgressLine } from "./parts/states";
import { ToolDetail } from "./tools/detail";
import { sortedTools, toolKey, unusedTools } from "./tools/sorting";
import { ToolTable } from "./tools/table";

export function ToolsView(): JSX.Element {
  const resource = useResource((signal) => backend.tools(keys.value, signal), [keys.value], [version.value]);
  usePolling(resource, (report) => report.tokens.isComplete);
  return (
    <ResourceView resource={resource} label="Loading tools">
      {(report) => <Tools report={report} />}
    </ResourceView>
  );
}

function Tools({ report }: { report: ToolsReport }): JSX.Element {
  const { open, sort } = route.value;
  const used = sortedTools(report.tools.filter((row) => row.calls > 0), sort);
  const unused = unusedTools(report.tools);
  const methods = sortedTools(report.methods, sort);
  const all = [...used, ...unused.rows, ...methods];
  const chosen = all.find((row) => toolKey(row) === open);
  const move = (by: number): void => {
    const at = chosen === undefined ? (by > 0 ? -1 : all.length) : all.indexOf(chosen);
    const next = all[at + by];
    if (next) go({ open: toolKey(next) }, chosen === undefined ? "push" : "replace");
  };
  useKeys({
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    Escape: () => go({ open: "" }),
  });
  if (all.length === 0) {
    return (
      <EmptyState title="No calls yet.">
        <p>Tools and methods are listed here once they are called.</p>
      </EmptyState>
    );
  }
  return (
    <div class={chosen ? "sheet tools-page has-detail" : "sheet tools-page"}>
      <div class="tools-main">
        <ProgressLine progress={report.tokens} words="Counting tokens" />
        {used.length > 0 && (
          <Section title="Tools" aside={<span class="dim">{`tokens counted with ${report.encoding}`}</span>}>
            <ToolTable rows={used} label="Tools" what="Tool" hasTokens />
          </Section>
        )}
        {unused.rows.length > 0 && <Unused {...unused} />}
        {methods.length > 0 && (
          <Section title="Other methods">
            <ToolTable rows={methods} label="Other methods" what="Method" hasTokens={false} />
          </Section>
        )}
      </div>
      {chosen && <ToolDetail key={open} row={chosen} boundsUs={report.bucketsUs} isTool={report.tools.includes(chosen)} />}
    </div>
  );
}

function Unused({ rows, tokens }: { rows: ToolRow[]; tokens: number }): JSX.Element {
  const { open } = route.value;
  const cost = tokens > 0 ? `${count(tokens, "token")} of unused definitions per request` : "";
  return (
    <Section title={count(rows.length, "unused tool")} aside={<span class="warn-text">{cost}</span>}>
      <ul class="unused">
        {rows.map((row) => {
          const key = toolKey(row);
          return (
            <li key={key}>
              <button type="button" class="quiet" aria-expanded={open === key} onClick={() => go({ open: open === key ? "" : key })}>
                <code><SafeText text={row.name} /></code>
                {row.definitionTokens !== null && <span class="dim">{count(row.definitionTokens, "token")}</span>}
              </button>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
