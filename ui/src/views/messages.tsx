// All messages, in order.

import type { JSX } from "preact";
import type { MessageRow } from "../api/types";
import { go, route } from "../router";
import { CallPanel } from "./parts/call-panel";
import { MessageList } from "./parts/message-list";

export function MessagesView(): JSX.Element {
  const { call } = route.value;
  return (
    <div class={call === null ? "split" : "split has-panel"}>
      <MessageList onOpen={openMessage} />
      {call !== null && <CallPanel />}
    </div>
  );
}

/** Opens the call of a message; a line without a call opens in the raw view. */
export function openMessage(row: MessageRow): void {
  if (row.call !== null) go({ call: row.call, at: row.trace });
  else go({ view: "raw", at: row.trace, line: row.line });
}
