// What went wrong, why, and what to do; and the other states in which there is nothing to look at.

import type { ComponentChildren, JSX } from "preact";
import { problemOf } from "../api/backend";
import type { Progress } from "../api/types";
import { SafeText } from "../text/safe-text";
import { bytes } from "../text/units";

export function ProblemState({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element {
  const problem = problemOf(error);
  return (
    <div class="state" role="alert">
      <h2 class="error-text">
        <SafeText text={problem.error} />
      </h2>
      {problem.hint !== null && (
        <p>
          <SafeText text={problem.hint} />
        </p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function LoadingState({ what = "Loading", progress }: { what?: string; progress?: Progress | null }): JSX.Element {
  return (
    <div class="state" role="status" aria-busy="true">
      <p>{what}…</p>
      {progress == null ? <progress aria-label={what} /> : <ProgressBar label={what} progress={progress} />}
    </div>
  );
}

export function ProgressBar({ label, progress }: { label: string; progress: Progress }): JSX.Element {
  const total = Math.max(1, progress.total);
  return (
    <span class="progress">
      <progress aria-label={label} max={total} value={Math.min(progress.done, total)} />
      <span class="dim num">
        {bytes(progress.done)} of {bytes(progress.total)}
      </span>
    </span>
  );
}
