// Asks again for what is not complete yet.

import { useEffect } from "preact/hooks";
import type { Resource } from "./resource";

const PAUSE_MS = 250;

/** While an answer is not whole yet, asks again a moment after it came. */
export function useAgain<T>(resource: Resource<T>, isWhole: (data: T) => boolean): void {
  const { data, reload } = resource;
  const isWanted = data !== undefined && !isWhole(data);
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setTimeout(reload, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [data, isWanted, reload]);
}
