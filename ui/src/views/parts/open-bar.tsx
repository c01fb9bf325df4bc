// Above the traces: search, open a file, compare or merge what is marked.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "../../keys";
import { go, href } from "../../router";
import { openFiles } from "../../state/open";

type OpenBarProps = {
  search: string;
  onSearch(text: string): void;
  marked: readonly string[];
  onClear(): void;
  hasStore: boolean;
};

export function OpenBar({ search, onSearch, marked, onClear, hasStore }: OpenBarProps): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => box.current?.focus(),
    Escape: () => {
      if (search !== "") onSearch("");
      else if (marked.length > 0) onClear();
      else box.current?.blur();
    },
  });
  const [a, b] = marked;
  return (
    <div class="open-bar">
      <input
        ref={box}
        type="search"
        class="home-search"
        aria-label="Search traces"
        placeholder="Search traces   ( / )"
        value={search}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
      {marked.length > 0 && (
        <span class="marked" role="status">
          {marked.length} marked
          {marked.length === 2 && a !== undefined && b !== undefined && (
            <button type="button" class="primary" onClick={() => go({ diff: [a, b] })}>
              Compare
            </button>
          )}
          <button type="button" class={marked.length > 2 ? "primary" : ""} onClick={() => go({ trace: [...marked] })}>
            {marked.length === 1 ? "Open" : "Merge"}
          </button>
          <button type="button" class="quiet" onClick={onClear}>
            Clear
          </button>
        </span>
      )}
      <span class="top-space" />
      {hasStore && (
        <a class="button" href={href({ view: "store" })}>
          Store
        </a>
      )}
      <button type="button" class={marked.length > 0 ? "" : "primary"} onClick={() => picker.current?.click()}>
        Open files…
      </button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Open files"
        onChange={(event) => {
          void openFiles(Array.from(event.currentTarget.files ?? []));
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}
