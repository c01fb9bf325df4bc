// A clock for what changes by itself.

import { useEffect, useState } from "preact/hooks";

const SECOND_MS = 1000;

/** Counts seconds while it is active and the page is visible. */
export function useTick(isActive: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!isActive) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTick((n) => n + 1);
    }, SECOND_MS);
    return () => clearInterval(timer);
  }, [isActive]);
  return tick;
}
