// The words of the page for what the API tells in short.

import type { Dir, MeanwhileKind } from "../api/types";

/** What a status means, in a sentence. */
const STATUS_MEANINGS: Record<string, string> = {
  ok: "There is a result.",
  "tool-error": "There is a result that says isError: the tool failed.",
  "protocol-error": "There is a JSON-RPC error.",
  "http-error": "HTTP failed: a status without a message, a stream without an answer, or an unreachable server.",
  "timed-out": "It was given up because it took too long.",
  cancelled: "It was cancelled.",
  disconnected: "The client went away, or the recorder was stopped, before there was an answer.",
  crashed: "The server died while the call was open: it exited with an error, was killed, or broke the connection.",
  unanswered: "There was no answer when the recording ended, or its id was used again.",
  pending: "It is in flight.",
};

/** A status with its code, if it has one; by the word that filters take. */
export function statusWords(status: string, code?: number | null): string {
  return code === null || code === undefined ? status : `${status} ${code}`;
}

/** What a status means. */
export function statusMeaning(status: string): string {
  return STATUS_MEANINGS[status] ?? status;
}

/** Whether a call with this status has no answer that was waited for. */
export function isUnanswered(status: string): boolean {
  return ["timed-out", "cancelled", "disconnected", "crashed", "unanswered", "pending"].includes(status);
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
