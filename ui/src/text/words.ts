// Texts for the names that the API uses.

import type { Dir, MeanwhileKind } from "../api/types";

/** The meaning of each status, for tooltips. */
const STATUS_MEANINGS: Record<string, string> = {
  ok: "The call returned a result.",
  "tool-error": "The tool reported an error (isError).",
  "protocol-error": "The response is a JSON-RPC error.",
  "http-error": "HTTP failed: a status without a message, a stream without a response, or an unreachable server.",
  "timed-out": "The call timed out.",
  cancelled: "The call was cancelled.",
  disconnected: "The client disconnected, or the recorder was stopped, before there was a response.",
  crashed: "The server died during the call: it exited with an error, was killed, or dropped the connection.",
  unanswered: "There was no response when the recording ended, or the request ID was reused.",
  pending: "The call is in flight.",
};

/** The status by its name in filters, with the error code if there is one. */
export function statusWords(status: string, code?: number | null): string {
  return code === null || code === undefined ? status : `${status} ${code}`;
}

/** The meaning of a status. */
export function statusMeaning(status: string): string {
  return STATUS_MEANINGS[status] ?? status;
}

/** Whether a call with this status has no response. */
export function isUnanswered(status: string): boolean {
  return ["timed-out", "cancelled", "disconnected", "crashed", "unanswered", "pending"].includes(status);
}

/** The color of a status. */
export function statusTone(status: string, isError: boolean, isOpen = false): "ok" | "bad" | "quiet" | "open" {
  if (isOpen) return "open";
  if (isError) return "bad";
  return status === "ok" ? "ok" : "quiet";
}

/** The direction of a request. */
export function directionWords(direction: Dir): string {
  if (direction === "in") return "client → server";
  return direction === "out" ? "server → client" : "unknown direction";
}

/** The arrow of a direction, as in the terminal. */
export function arrow(direction: Dir): string {
  if (direction === "in") return "→";
  return direction === "out" ? "←" : "·";
}

/** The kind of a message during a call. */
export function meanwhileWords(kind: MeanwhileKind): string {
  if (kind === "answer") return "response";
  return kind === "cancellation" ? "cancelled" : kind;
}
