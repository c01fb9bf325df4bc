// The states of a view without data: an error, nothing to show, or loading.

import type { ComponentChildren, JSX } from "preact";
import { problemOf } from "../api/backend";
import type { Problem, Progress } from "../api/types";
import { Sentence } from "../text/code-spans";
import { bytes } from "../text/units";

export function ProblemText({ problem }: { problem: Problem }): JSX.Element {
  return (
    <>
      <h2 class="error-text">
        <Sentence text={problem.error} />
      </h2>
      {problem.hint !== null && (
        <p>
          <Sentence text={problem.hint} />
        </p>
      )}
    </>
  );
}

export function ProblemState({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element {
  return (
    <div class="state" role="alert">
      <ProblemText problem={problemOf(error)} />
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
