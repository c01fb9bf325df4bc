// What a view shows while its data is loading.

import type { JSX } from "preact";
import type { Progress } from "../../api/types";
import { ProblemState } from "../../shell/problem";
import type { Resource } from "../../state/resource";
import { bytes } from "../../text/units";

/** Placeholder lines for data that is loading. */
export function Skeleton({ label }: { label: string }): JSX.Element {
  return (
    <div class="waiting" role="status" aria-label={label}>
      {[70, 45, 60, 30, 55].map((width) => (
        <div key={width} class="skeleton waiting-line" style={{ width: `${width}%` }}>
          {label}
        </div>
      ))}
    </div>
  );
}

/** The progress of a running job; nothing once it is complete. */
export function ProgressLine({ progress, words }: { progress: Progress; words: string }): JSX.Element | null {
  if (progress.isComplete) return null;
  const part = progress.total > 0 ? progress.done / progress.total : 0;
  return (
    <div class="going" role="status">
      <span>{words}</span>
      <progress max={1} value={part} aria-label={words} />
      <span class="dim">{progress.total > 0 ? `${bytes(progress.done)} of ${bytes(progress.total)}` : ""}</span>
    </div>
  );
}

/** Shows fetched data, the error, or a placeholder. */
export function ResourceView<T>({ resource, label, children }: { resource: Resource<T>; label: string; children: (data: T) => JSX.Element }): JSX.Element {
  if (resource.data !== undefined) return children(resource.data);
  if (resource.error !== undefined) return <ProblemState error={resource.error} retry={resource.reload} />;
  return <Skeleton label={label} />;
}
