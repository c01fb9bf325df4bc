// The order of the tools.

import type { ToolRow } from "../../api/types";

/** The columns that the table can be sorted by. */
export type ToolColumn =
  | "name"
  | "calls"
  | "errors"
  | "mean"
  | "p50"
  | "p95"
  | "p99"
  | "bytes"
  | "definition"
  | "tokens";

const VALUES: Record<ToolColumn, (row: ToolRow) => number | string> = {
  name: (row) => row.name,
  calls: (row) => row.calls,
  errors: (row) => row.errors,
  mean: (row) => row.meanUs ?? -1,
  p50: (row) => row.p50Us ?? -1,
  p95: (row) => row.p95Us ?? -1,
  p99: (row) => row.p99Us ?? -1,
  bytes: (row) => row.requestBytes + row.responseBytes,
  definition: (row) => row.definitionTokens ?? -1,
  tokens: (row) => row.resultTokens ?? -1,
};

/** The rows sorted by the column that `sort` names, descending with a leading `-`; in their given order for an unknown column. */
export function sortedTools(rows: readonly ToolRow[], sort: string): ToolRow[] {
  const isDown = sort.startsWith("-");
  const value = VALUES[(isDown ? sort.slice(1) : sort) as ToolColumn] as ((row: ToolRow) => number | string) | undefined;
  if (value === undefined) return [...rows];
  const sign = isDown ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** The sort order after a click on a column heading: numbers start with the largest. */
export function nextSort(column: ToolColumn, sort: string): string {
  const first = column === "name" ? "name" : `-${column}`;
  const second = column === "name" ? "-name" : column;
  return sort === first ? second : first;
}

/** The key of a tool in the URL: its name, and its trace if that is not the first. */
export function toolKey(row: ToolRow): string {
  const side = row.direction === "out" ? "←" : "";
  return row.trace === 0 ? `${side}${row.name}` : `${row.trace}:${side}${row.name}`;
}

/** The tools that were listed but never called, and the tokens of their definitions. */
export function unusedTools(rows: readonly ToolRow[]): { rows: ToolRow[]; tokens: number } {
  const unused = rows.filter((row) => row.calls === 0);
  return { rows: unused, tokens: unused.reduce((sum, row) => sum + (row.definitionTokens ?? 0), 0) };
}
