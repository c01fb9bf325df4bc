// The findings against the specification, by rule.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LintReport, RuleFindings } from "../api/types";
import { TraceLink } from "../content/link";
import { useKeys } from "../keys";
import { go, route } from "../router";
import { usePolling } from "../state/polling";
import { backend } from "../state/backend";
import { useResource } from "../state/resource";
import { keys, version } from "../state/set";
import { CodeSpans } from "../text/code-spans";
import { count, number } from "../text/units";
import { FindingPlace, Severity } from "./lint/finding";
import { ResourceView, ProgressLine } from "./parts/states";

export function LintView(): JSX.Element {
  const resource = useResource((signal) => backend.lint(keys.value, signal), [keys.value], [version.value]);
  usePolling(resource, (report) => report.progress.isComplete);
  return (
    <ResourceView resource={resource} label="Checking the trace">
      {(report) => <Report report={report} />}
    </ResourceView>
  );
}

function Report({ report }: { report: LintReport }): JSX.Element {
  const { rules, progress } = report;
  const { open } = route.value;
  const move = (by: number): void => {
    const at = rules.findIndex((rule) => rule.name === open || rule.code === open);
    const next = rules[at < 0 ? (by > 0 ? 0 : rules.length - 1) : at + by];
    if (next) go({ open: next.name }, "replace");
  };
  useKeys({ j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), Escape: () => go({ open: "" }, "replace") });
  return (
    <div class="sheet lint-page">
      <ProgressLine progress={progress} words="Checking against the specification" />
      <Counts report={report} />
      {rules.length === 0 && progress.isComplete && <Clean />}
      {rules.map((rule) => (
        <Rule key={rule.code} rule={rule} isOpen={open === rule.name || open === rule.code || (open === "" && rules.length === 1)} />
      ))}
    </div>
  );
}

function Counts({ report: { errors, warnings, infos } }: { report: LintReport }): JSX.Element | null {
  if (errors + warnings + infos === 0) return null;
  return (
    <p class="lint-counts" role="status">
      {errors > 0 && <span class="badge error">{count(errors, "error")}</span>}
      {warnings > 0 && <span class="badge warn">{count(warnings, "warning")}</span>}
      {infos > 0 && <span class="badge info">{`${number(infos)} info`}</span>}
    </p>
  );
}

function Clean(): JSX.Element {
  return (
    <div class="state clean">
      <svg width="44" height="44" viewBox="0 0 44 44" aria-hidden="true">
        <circle cx="22" cy="22" r="20" />
        <path d="M13 23l6 6 12-14" />
      </svg>
      <h2>No findings.</h2>
      <p>All messages conform to their revision of the specification, as far as more than a hundred rules can check.</p>
    </div>
  );
}

const FIRST = 5;

function Rule({ rule, isOpen }: { rule: RuleFindings; isOpen: boolean }): JSX.Element {
  const [shown, setShown] = useState(FIRST);
  const { findings } = rule;
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isOpen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  return (
    <details class="rule" ref={place} open={isOpen} onToggle={(event) => follow(event.currentTarget.open, isOpen, rule.name)}>
      <summary>
        <Severity severity={rule.severity} />
        <code>{rule.code}</code>
        <strong>{rule.name}</strong>
        <span class="rule-what dim clip">
          <CodeSpans text={rule.what} />
        </span>
        <span class="num">{number(rule.count)}</span>
      </summary>
      <div class="rule-body">
        <dl class="rule-words">
          <dt>What</dt>
          <dd>
            <CodeSpans text={rule.what} />
          </dd>
          <dt>Why</dt>
          <dd>
            <CodeSpans text={rule.why} />
          </dd>
          <dt>Fix</dt>
          <dd>
            <CodeSpans text={rule.fix} />
          </dd>
          <dt>Spec</dt>
          <dd>
            <TraceLink address={rule.url} words={rule.section} />
          </dd>
        </dl>
        <ol class="findings">
          {findings.slice(0, shown).map((finding, index) => (
            <li key={index}>
              <FindingPlace finding={finding} />
            </li>
          ))}
        </ol>
        {findings.length > shown && (
          <button type="button" class="button" onClick={() => setShown(shown + 50)}>
            {`Show ${Math.min(50, findings.length - shown)} more`}
          </button>
        )}
        {findings.length <= shown && rule.count > findings.length && (
          <p class="dim">{`${count(rule.count - findings.length, "more finding")} not listed.`}</p>
        )}
      </div>
    </details>
  );
}

/** Puts a rule that the user opened into the URL; a rule that the URL opened is already there. */
function follow(isOpenNow: boolean, wasOpen: boolean, name: string): void {
  if (isOpenNow === wasOpen) return;
  if (isOpenNow) go({ open: name }, "replace");
  else if (route.peek().open === name) go({ open: "" }, "replace");
}
