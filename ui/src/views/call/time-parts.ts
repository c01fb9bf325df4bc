// Where the time of a call went.

import type { CallRow, Dir, Meanwhile } from "../../api/types";

/** A part of the time. */
export interface TimePart {
  who: "asked" | "person" | "other";
  words: string;
  us: number;
  /** From 0 to 1. */
  share: number;
}

/** The parts of a call's time, without those that are nothing; none if it was not answered. */
export function timeParts(row: CallRow): TimePart[] {
  const all = row.latencyUs;
  if (all === null) return [];
  const person = Math.min(row.personUs, all);
  const other = Math.min(row.clientUs, all - person);
  const asked = all - person - other;
  const parts: TimePart[] = [
    { who: "asked", words: `the ${answerer(row.direction)}'s own time`, us: asked, share: 0 },
    { who: "other", words: `the ${asker(row.direction)} answered requests`, us: other, share: 0 },
    { who: "person", words: "a person was asked", us: person, share: 0 },
  ];
  return parts
    .filter((part) => part.us > 0 || part.who === "asked")
    .map((part) => ({ ...part, share: all > 0 ? part.us / all : 1 }));
}

function answerer(direction: Dir): string {
  return direction === "out" ? "client" : "server";
}

function asker(direction: Dir): string {
  return direction === "out" ? "server" : "client";
}

/** A mark on the bar: when something came, from 0 to 1. */
export interface Tick {
  at: number;
  item: Meanwhile;
}

/** What came meanwhile, as marks on the bar of the call. */
export function ticks(row: CallRow, meanwhile: readonly Meanwhile[]): Tick[] {
  const all = row.latencyUs ?? Math.max(1, ...meanwhile.map((item) => item.afterUs ?? 0));
  return meanwhile.flatMap((item) =>
    item.afterUs === null || all <= 0 ? [] : [{ at: Math.min(1, item.afterUs / all), item }],
  );
}
