// The messages of prompts and sampling requests, with their roles.

import type { JSX } from "preact";
import { SafeText } from "../text/safe-text";
import { number } from "../text/units";
import { Blocks, type Place } from "./blocks";

const MAX_MESSAGES = 40;

export function Messages({ doc, row }: Place): JSX.Element {
  if (row < 0 || doc.count(row) === 0) return <p class="dim">No messages.</p>;
  const messages = doc.children(row);
  return (
    <ol class="messages">
      {Array.from(messages.subarray(0, MAX_MESSAGES), (message) => (
        <li key={message}>
          <p class="message-role">
            <SafeText text={doc.stringAt(message, "role") ?? "no role"} />
          </p>
          {doc.at(message, "content") >= 0 && <Blocks doc={doc} row={doc.at(message, "content")} />}
        </li>
      ))}
      {messages.length > MAX_MESSAGES && <li class="dim">{`${number(messages.length - MAX_MESSAGES)} more in the raw JSON.`}</li>}
    </ol>
  );
}
