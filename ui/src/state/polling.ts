// Polls for data that is not complete yet.

import { useEffect } from "preact/hooks";
import type { Resource } from "./resource";

const PAUSE_MS = 250;

/** Reloads a resource shortly after each response until the data is complete. */
export function usePolling<T>(resource: Resource<T>, isComplete: (data: T) => boolean): void {
  const { data, reload } = resource;
  const isWanted = data !== undefined && !isComplete(data);
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setTimeout(reload, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [data, isWanted, reload]);
}
