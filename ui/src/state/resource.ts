// A fetched resource: loading, then data or an error. A newer request aborts the older one.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export type Resource<T> = {
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload(): void;
};

type ResourceState<T> = { data: T | undefined; error: unknown; isLoading: boolean; of: readonly unknown[] };

/**
 * Fetches when `deps` change, and drops the old data. When only `refresh` changes, fetches again and keeps the old data until the
 * response arrives, so that live pages don't flicker.
 */
export function useResource<T>(
  fetcher: (signal: AbortSignal) => Promise<T>,
  deps: readonly unknown[],
  refresh: readonly unknown[] = [],
): Resource<T> {
  const [state, setState] = useState<ResourceState<T>>({ data: undefined, error: undefined, isLoading: true, of: deps });
  const [round, setRound] = useState(0);
  const latest = useRef(fetcher);
  latest.current = fetcher;

  useEffect(() => {
    const controller = new AbortController();
    setState((old) =>
      isSame(old.of, deps)
        ? { ...old, isLoading: true }
        : { data: undefined, error: undefined, isLoading: true, of: deps },
    );
    latest.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false, of: deps });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState((old) => ({ ...old, error, isLoading: false, of: deps }));
      },
    );
    return () => controller.abort();
  }, [...deps, ...refresh, round]);

  const reload = useCallback(() => setRound((n) => n + 1), []);
  // Until the effect has run, the state still belongs to the previous request.
  if (!isSame(state.of, deps)) return { data: undefined, error: undefined, isLoading: true, reload };
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, n) => Object.is(value, b[n]));
}
