// The filter: text that parses goes into the URL at once; a mistake is shown with its position.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import { FilterError, parse } from "../report/filter";
import { filterText, go } from "../router";
import { knownNames } from "../state/names";
import { traceSet } from "../state/set";
import { Sentence } from "../text/code-spans";
import { complete, type Completion } from "./complete";

const NO_COMPLETION: Completion = { from: 0, to: 0, options: [] };
const SETTLE_MS = 200;

export function FilterBox(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const [text, setText] = useState(filterText.value);
  const [offered, setOffered] = useState(NO_COMPLETION);
  const [chosen, setChosen] = useState(-1);
  const mistake = mistakeIn(text);

  // Shows the filter of the URL, unless the user is typing something that is not in the URL yet.
  useEffect(() => {
    if (timer.current === 0) setText((old) => (old.trim() === filterText.value ? old : filterText.value));
  }, [filterText.value]);

  const apply = (next: string, how: "push" | "replace"): void => {
    window.clearTimeout(timer.current);
    timer.current = 0;
    if (mistakeIn(next) === null && next.trim() !== filterText.peek()) go({ filter: next.trim() }, how);
  };
  const edit = (next: string, caret: number): void => {
    setText(next);
    const servers = traceSet.peek()?.traces.map((trace) => trace.label) ?? [];
    setOffered(complete(next, caret, { ...knownNames(), servers }));
    setChosen(-1);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => apply(next, "replace"), SETTLE_MS);
  };
  const close = (): void => {
    setOffered(NO_COMPLETION);
    setChosen(-1);
  };
  const take = (index: number): void => {
    const option = offered.options[index];
    if (option === undefined) return;
    const next = text.slice(0, offered.from) + option.insert + text.slice(offered.to);
    const caret = offered.from + option.insert.length;
    edit(next, caret);
    // A complete term closes the list; a field without a value keeps it open.
    if (option.insert.endsWith(" ")) close();
    input.current?.focus();
    requestAnimationFrame(() => input.current?.setSelectionRange(caret, caret));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const count = offered.options.length;
    if (event.key === "ArrowDown" && count > 0) setChosen((chosen + 1) % count);
    else if (event.key === "ArrowUp" && count > 0) setChosen((chosen + count) % (count + 1) - 1 < 0 ? count - 1 : chosen - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(chosen);
    else if (event.key === "Enter") {
      apply(text, "push");
      close();
    } else if (event.key === "Escape" && count > 0) close();
    else if (event.key === "Escape" && text !== "") {
      setText("");
      apply("", "push");
    } else if (event.key === "Escape") input.current?.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  useKeys({
    "/": () => {
      input.current?.focus();
      input.current?.select();
    },
  });

  const isOpen = offered.options.length > 0;
  return (
    <div class="filter-box">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Filter"
        aria-expanded={isOpen}
        aria-controls={isOpen ? "filter-options" : undefined}
        aria-autocomplete="list"
        aria-activedescendant={chosen >= 0 ? `filter-option-${chosen}` : undefined}
        aria-invalid={mistake !== null && !isOpen}
        aria-describedby={mistake === null ? undefined : "filter-mistake"}
        placeholder="Filter: tool:search* status:error latency>200ms   ( / )"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => edit(event.currentTarget.value, event.currentTarget.selectionStart ?? 0)}
        onFocus={(event) => {
          if (event.currentTarget.value === "") edit("", 0);
        }}
        onBlur={() => {
          if (timer.current !== 0) apply(text, "replace");
          close();
        }}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <ul id="filter-options" role="listbox" aria-label="Suggestions" class="filter-options">
          {offered.options.map((option, index) => (
            <li
              key={option.insert}
              id={`filter-option-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                take(index);
              }}
            >
              <code>{option.insert}</code> <span class="dim">{option.about}</span>
            </li>
          ))}
        </ul>
      )}
      {mistake !== null && !isOpen && <Mistake text={text} mistake={mistake} />}
    </div>
  );
}

function Mistake({ text, mistake }: { text: string; mistake: FilterError }): JSX.Element {
  const [from, to] = charSpan(text, mistake.span);
  return (
    <div id="filter-mistake" class="filter-mistake" role="alert">
      <code>
        {text.slice(0, from)}
        <mark>{text.slice(from, to) || " "}</mark>
        {text.slice(to)}
      </code>
      <p>
        <Sentence text={mistake.message} />
      </p>
    </div>
  );
}

function mistakeIn(text: string): FilterError | null {
  try {
    parse(text);
    return null;
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}

/** Converts a span of bytes to a span of characters. */
export function charSpan(text: string, [from, to]: [number, number]): [number, number] {
  const bytes = new TextEncoder().encode(text);
  const length = (end: number): number => new TextDecoder().decode(bytes.subarray(0, end)).length;
  return [length(from), length(to)];
}
