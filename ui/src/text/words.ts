// The words of the page for what the API tells in short.

import type { Dir, MeanwhileKind } from "../api/types";

/** What a status means, in a sentence. */
const STATUS_MEANINGS: Record<string, string> = {
  ok: "There is a result.",
  "tool-error": "There is a result that says isError: the tool failed.",
  "protocol-error": "There is a JSON-RPC error.",
  "http-error": "There is an HTTP status of 400 or more and no message with it, or the server could not be reached.",
  cancelled: "Who asked cancelled it, and no answer came.",
  "timed-out": "It was given up because it took too long.",
  late: "An answer came after the cancellation.",
  disconnected: "The client went away before there was an answer.",
  "no-response": "There was no answer when the trace ended.",
  abandoned: "There can be no answer: its id was used again while it was open, or can't be repeated.",
};

/** A status with its code, if it has one; by the word that filters take. */
export function statusWords(status: string, code?: number | null): string {
  return code === null || code === undefined ? status : `${status} ${code}`;
}

/** What a status means. */
export function statusMeaning(status: string): string {
  return STATUS_MEANINGS[status] ?? status;
}

/** `ok`, `bad` or `quiet`: which colour a status has. */
export function statusTone(status: string, isError: boolean, isOpen = false): "ok" | "bad" | "quiet" | "open" {
  if (isOpen) return "open";
  if (isError) return "bad";
  return status === "ok" ? "ok" : "quiet";
}

/** Who asked whom. */
export function directionWords(direction: Dir): string {
  if (direction === "in") return "client → server";
  return direction === "out" ? "server → client" : "unknown direction";
}

/** The arrow of a direction, as in the terminal. */
export function arrow(direction: Dir): string {
  if (direction === "in") return "→";
  return direction === "out" ? "←" : "·";
}

/** What came while a call was open, as a noun. */
export function meanwhileWords(kind: MeanwhileKind): string {
  return kind === "cancellation" ? "cancelled" : kind;
}
