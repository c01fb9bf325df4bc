// The outcome of a call.

import type { JSX } from "preact";
import { statusMeaning, statusTone, statusWords } from "../../text/words";

type StatusProps = { status: string; isError: boolean; isOpen?: boolean; code?: number | null };

export function Status({ status, isError, isOpen = false, code = null }: StatusProps): JSX.Element {
  const tone = statusTone(status, isError, isOpen);
  return (
    <span class={`status status-${tone}`} title={statusMeaning(isOpen ? "pending" : status)}>
      {isOpen ? "pending…" : statusWords(status, code)}
    </span>
  );
}
