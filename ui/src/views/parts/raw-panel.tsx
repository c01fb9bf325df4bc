// One line of a file: its beginning at once, more of it on demand, all of it as a file.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RawLine } from "../../api/types";
import { go } from "../../router";
import { EmptyState, ProblemState } from "../../shell/problem";
import { backend } from "../../state/backend";
import { useResource } from "../../state/resource";
import { keys } from "../../state/set";
import { safePieces } from "../../text/safe-text";
import { bytes } from "../../text/units";
import { saveFile } from "../../text/copy";

/** How many characters each "Show more" adds to the page. */
const STEP_CHARS = 50_000;
/** Longer lines can only be downloaded: showing them would freeze the page. */
const LONGEST_SHOWN = 4_000_000;

export function RawPanel({ at, line }: { at: number; line: number }): JSX.Element {
  const { data, error, reload } = useResource(
    async (signal) => (await backend.raw(keys.value, at, { from: line - 1, limit: 1 }, signal)).lines[0] ?? null,
    [keys.value, at, line],
  );
  return (
    <aside class="call-panel" aria-label={`Line ${line}`}>
      <div class="call-panel-bar">
        <strong>Line {line}</strong>
        {data != null && <span class="dim">{bytes(data.bytes)}</span>}
        {data != null && <LineActions at={at} line={data} />}
        <button type="button" class="quiet icon" aria-label="Close" onClick={() => go({ line: null })}>
          ✕
        </button>
      </div>
      <div class="call-panel-body">
        {error !== undefined && <ProblemState error={error} retry={reload} />}
        {data === null && <EmptyState title={`There is no line ${line} in this trace.`} />}
        {data != null && <LineText key={line} at={at} line={data} />}
      </div>
    </aside>
  );
}

function LineActions({ at, line }: { at: number; line: RawLine }): JSX.Element {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(line.isCut ? await backend.line(keys.value, at, line.line) : line.text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 1500);
  };
  const save = async (): Promise<void> => {
    saveFile(`line-${line.line}.json`, await backend.lineFile(keys.value, at, line.line));
  };
  return (
    <>
      {line.bytes <= LONGEST_SHOWN && (
        <button type="button" onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      )}
      <button type="button" onClick={() => void save()}>
        Download
      </button>
    </>
  );
}

function LineText({ at, line }: { at: number; line: RawLine }): JSX.Element {
  const [whole, setWhole] = useState<string | null>(line.isCut ? null : line.text);
  const [shown, setShown] = useState(STEP_CHARS);
  const text = (whole ?? line.text).slice(0, shown);
  const more = async (): Promise<void> => {
    if (whole === null) setWhole(await backend.line(keys.value, at, line.line));
    else setShown(shown + STEP_CHARS);
  };
  const isAll = whole !== null && whole.length <= shown;
  return (
    <>
      <pre class="raw-text">{safePieces(text, "escape")}</pre>
      {!isAll && line.bytes <= LONGEST_SHOWN && (
        <button type="button" class="raw-more" onClick={() => void more()}>
          Show more ({bytes(line.bytes)} total)
        </button>
      )}
      {!isAll && line.bytes > LONGEST_SHOWN && (
        <p class="raw-more dim">Showing only the beginning of {bytes(line.bytes)}. Download the line to see the rest.</p>
      )}
    </>
  );
}
