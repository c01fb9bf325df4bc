// Searches a document in steps between frames.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JsonDocument } from "./document";
import { type Search, searchStep } from "./search";

export type SearchState = {
  query: string;
  hits: number[];
  at: number;
  isDone: boolean;
  ask(query: string): void;
  step(by: number): void;
};

/** `onHit` receives the row to show. */
export function useSearch(doc: JsonDocument, root: number, onHit: (row: number) => void): SearchState {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<Search>({ hits: [], next: null });
  const [at, setAt] = useState(0);
  const tell = useRef(onHit);
  tell.current = onHit;

  useEffect(() => {
    const wanted = query.toLowerCase();
    let search: Search = { hits: [], next: wanted === "" ? null : root };
    let timer: ReturnType<typeof setTimeout> | undefined;
    setAt(0);
    const run = (): void => {
      const isFirst = search.hits.length === 0;
      search = searchStep(doc, wanted, search);
      setFound(search);
      if (isFirst && search.hits[0] !== undefined) tell.current(search.hits[0]);
      if (search.next !== null) timer = setTimeout(run, 0);
    };
    run();
    return () => clearTimeout(timer);
  }, [doc, root, query]);

  const step = (by: number): void => {
    const { hits } = found;
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    tell.current(hits[next] ?? 0);
  };
  return { query, hits: found.hits, at, isDone: found.next === null, ask: setQuery, step };
}
