// The traces on this machine, running recordings first.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Home } from "../api/types";
import { RowTable } from "../list/row-table";
import { useListRows } from "../list/use-rows";
import { go } from "../router";
import { EmptyState, LoadingState, ProblemState } from "../shell/problem";
import { backend } from "../state/backend";
import { hasOpened } from "../state/given";
import { useResource } from "../state/resource";
import { change } from "../state/set";
import { SafeText } from "../text/safe-text";
import { count, number } from "../text/units";
import { PendingCalls } from "./home/pending";
import { OpenBar } from "./parts/open-bar";
import { traceColumns } from "./parts/trace-columns";

export function HomeView(): JSX.Element {
  const [search, setSearch] = useState("");
  // A new search keeps the old rows until its response arrives.
  const { data, error, reload } = useResource(
    (signal) => backend.home(search, signal),
    [],
    [change.value?.home, search],
  );
  useGiven(data);
  if (data === undefined) {
    return error === undefined ? <LoadingState what="Loading traces" /> : <ProblemState error={error} retry={reload} />;
  }
  return <Traces home={data} search={search} onSearch={setSearch} />;
}

type TracesProps = { home: Home; search: string; onSearch(text: string): void };

function Traces({ home, search, onSearch }: TracesProps): JSX.Element {
  const [active, setActive] = useState<number | null>(null);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = useListRows(home.traces, home.total);
  const toggle = (key: string): void => {
    setSelected((old) => (old.includes(key) ? old.filter((other) => other !== key) : [...old, key]));
  };
  const columns = useMemo(() => traceColumns(selected, toggle), [selected]);
  return (
    <div class="home">
      <OpenBar search={search} onSearch={onSearch} selected={selected} onClear={() => setSelected([])} hasStore={home.hasStore} />
      <PendingCalls />
      <p class="list-facts" role="status">
        {facts(home)}
      </p>
      {home.total === 0 ? (
        <NothingRecorded />
      ) : home.found === 0 ? (
        <EmptyState title="No traces match this search." />
      ) : (
        <RowTable
          id="trace"
          label="Traces"
          rowHeight={40}
          columns={columns}
          rows={rows}
          active={active}
          onActive={setActive}
          onOpen={(trace) => go({ trace: [trace.key] })}
          isError={(trace) => (trace.errors ?? 0) > 0 || trace.failure !== null}
          classOf={(trace) => (trace.state === "running" ? "running" : "card")}
        />
      )}
      <Unreadable files={home.unreadable} />
    </div>
  );
}

/** The number of traces found, of the total. */
function facts(home: Home): string {
  const found = home.found === home.total ? count(home.total, "trace") : `${number(home.found)} of ${count(home.total, "trace")}`;
  return home.traces.length < home.found ? `${found}, showing the newest ${number(home.traces.length)}` : found;
}

function NothingRecorded(): JSX.Element {
  return (
    <EmptyState title="Nothing recorded yet.">
      <p>
        Put <code>wiretape record --</code> in front of your server's command:
      </p>
      <p>
        <code>wiretape record -- npx my-server</code>
      </p>
      <p>
        Or explore a sample with <code>wiretape demo</code>, or drop a trace file anywhere on this page.
      </p>
    </EmptyState>
  );
}

function Unreadable({ files }: { files: string[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <details class="unreadable">
      <summary>{count(files.length, "file")} can't be read</summary>
      <ul>
        {files.map((file) => (
          <li key={file}>
            <SafeText text={file} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function useGiven(home: Home | undefined): void {
  useEffect(() => {
    if (home === undefined || home.given.length === 0 || hasOpened()) return;
    go({ trace: home.given }, "replace");
  }, [home]);
}
