// Two calls of the same trace, line by line.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CallDetail, Payload } from "../../api/types";
import { indented } from "../../json/format";
import { parseJson } from "../../json/parse";
import { go } from "../../router";
import { backend } from "../../state/backend";
import { useResource } from "../../state/resource";
import { keys } from "../../state/set";
import { lineDiff } from "../../text/line-diff";
import { LineDiff } from "../diff/line-diff";
import { CallLink } from "../parts/links";
import { Section } from "../parts/section";
import { ResourceView } from "../parts/states";

export function CompareCalls({ detail, other }: { detail: CallDetail; other: number }): JSX.Element {
  const { trace } = detail.row;
  const resource = useResource((signal) => backend.call(keys.value, trace, other, signal), [keys.value, trace, other]);
  const close = (
    <button type="button" class="button" onClick={() => go({ open: "" })}>
      Close
    </button>
  );
  return (
    <Section title={`Call ${other} compared with call ${detail.row.call}`} aside={close} class="compare">
      <ResourceView resource={resource} label="Loading the other call">
        {(before) => (
          <>
            <p>
              <CallLink at={trace} call={other}>{`Open call ${other}`}</CallLink>
            </p>
            <Part title="Request" before={before.request} after={detail.request} />
            <Part title="Response" before={before.response} after={detail.response} />
          </>
        )}
      </ResourceView>
    </Section>
  );
}

function Part({ title, before, after }: { title: string; before: Payload | null; after: Payload | null }): JSX.Element {
  const lines = useMemo(() => lineDiff(body(before), body(after)), [before, after]);
  const isSame = lines !== null && lines.every((line) => line.kind === "same" || line.kind === "skipped");
  return (
    <>
      <h3>{title}</h3>
      {isSame ? <p class="dim">Identical.</p> : <LineDiff lines={lines} />}
    </>
  );
}

/** The part to compare, without the JSON-RPC id, which always differs. */
function body(payload: Payload | null): string {
  if (payload === null) return "no response";
  const doc = parseJson(payload.text);
  const row = ["params", "result", "error"].map((name) => doc.at(0, name)).find((at) => at >= 0);
  return indented(doc, row ?? 0);
}
