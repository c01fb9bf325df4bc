// Above the list of traces: search, open files, and compare or merge the selected traces.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "../../keys";
import { go, href } from "../../router";
import { openFiles } from "../../state/open";
import { number } from "../../text/units";

type OpenBarProps = {
  search: string;
  onSearch(text: string): void;
  selected: readonly string[];
  onClear(): void;
  hasStore: boolean;
};

export function OpenBar({ search, onSearch, selected, onClear, hasStore }: OpenBarProps): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => box.current?.focus(),
    Escape: () => {
      if (search !== "") onSearch("");
      else if (selected.length > 0) onClear();
      else box.current?.blur();
    },
  });
  const [a, b] = selected;
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
      {selected.length > 0 && (
        <span class="marked" role="status">
          {number(selected.length)} selected
          {selected.length === 2 && a !== undefined && b !== undefined && (
            <button type="button" class="primary" onClick={() => go({ diff: [a, b] })}>
              Compare
            </button>
          )}
          <button type="button" class={selected.length > 2 ? "primary" : ""} onClick={() => go({ trace: [...selected] })}>
            {selected.length === 1 ? "Open" : "Merge"}
          </button>
          <button type="button" class="quiet" onClick={onClear}>
            Clear
          </button>
        </span>
      )}
      <span class="top-space" />
      {hasStore && (
        <a class="button" href={href({ view: "activity" })}>
          Activity
        </a>
      )}
      <button type="button" class={selected.length > 0 ? "" : "primary"} onClick={() => picker.current?.click()}>
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
