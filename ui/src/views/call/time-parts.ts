// Splits the duration of a call by who took the time.

import type { CallRow, Dir, Meanwhile } from "../../api/types";

/** A part of the duration. The callee answers the call, the caller sent it; the user is asked by elicitation. */
export interface TimePart {
  who: "callee" | "caller" | "user";
  words: string;
  us: number;
  /** From 0 to 1. */
  share: number;
}

/** The non-empty parts of a call's duration; none if there was no response. */
export function timeParts(row: CallRow): TimePart[] {
  const all = row.latencyUs;
  if (all === null) return [];
  const user = Math.min(row.personUs, all);
  const caller = Math.min(row.clientUs, all - user);
  const callee = all - user - caller;
  const parts: TimePart[] = [
    { who: "callee", words: calleeOf(row.direction), us: callee, share: 0 },
    { who: "caller", words: callerOf(row.direction), us: caller, share: 0 },
    { who: "user", words: "waiting for user", us: user, share: 0 },
  ];
  return parts
    .filter((part) => part.us > 0 || part.who === "callee")
    .map((part) => ({ ...part, share: all > 0 ? part.us / all : 1 }));
}

function calleeOf(direction: Dir): string {
  return direction === "out" ? "client" : "server";
}

function callerOf(direction: Dir): string {
  return direction === "out" ? "server" : "client";
}

/** A tick on the bar; `at` is its position from 0 to 1. */
export interface Tick {
  at: number;
  item: Meanwhile;
}

/** The messages during the call, as ticks on its bar. */
export function ticks(row: CallRow, meanwhile: readonly Meanwhile[]): Tick[] {
  const all = row.latencyUs ?? Math.max(1, ...meanwhile.map((item) => item.afterUs ?? 0));
  return meanwhile.flatMap((item) =>
    item.afterUs === null || all <= 0 ? [] : [{ at: Math.min(1, item.afterUs / all), item }],
  );
}
