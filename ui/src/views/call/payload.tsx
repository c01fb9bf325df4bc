// The JSON of a request or a response: as a person wants it, or raw.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallRow, Payload } from "../../api/types";
import { Answer } from "../../content/result";
import { Question } from "../../content/question";
import type { JsonDocument } from "../../json/document";
import { JsonPanel } from "../../json/panel";
import { useJson } from "../../json/use-json";
import { backend } from "../../state/backend";
import { keys } from "../../state/set";
import { saveFile } from "../../text/copy";
import { bytes } from "../../text/units";
import { LineLink } from "../parts/links";
import { Section } from "../parts/section";
import { Waiting } from "../parts/states";

type PayloadProps = { payload: Payload; row: CallRow; side: "request" | "response"; isRaw: boolean };

export function PayloadSection({ payload, row, side, isRaw }: PayloadProps): JSX.Element {
  const doc = useJson(payload.text);
  return (
    <Section
      title={titleOf(side, isRaw, row, doc)}
      class="payload"
      aside={
        <span class="dim">
          {`${bytes(payload.bytes)} · `}
          <LineLink at={row.trace} line={payload.line} />
        </span>
      }
    >
      {payload.isCut && <CutNotice payload={payload} row={row} side={side} />}
      {doc === null ? (
        <Waiting label="Reading" />
      ) : isRaw ? (
        <JsonPanel key={payload.line} doc={doc} label={`the ${side}`} depth={4} isCut={payload.isCut} />
      ) : side === "request" ? (
        <Question doc={doc} method={row.method} />
      ) : (
        <Answer doc={doc} method={row.method} />
      )}
    </Section>
  );
}

function titleOf(side: "request" | "response", isRaw: boolean, row: CallRow, doc: JsonDocument | null): string {
  if (isRaw) return side === "request" ? "Request" : "Response";
  if (side === "request") return row.method === "tools/call" || row.method === "prompts/get" ? "Arguments" : "Params";
  return doc !== null && doc.at(0, "error") >= 0 ? "Error" : "Result";
}

/** The payload whole: fetched if what is here is only its beginning. */
export async function wholeText(payload: Payload, row: CallRow): Promise<string> {
  return payload.isCut ? backend.payload(keys.value, row.trace, payload.line, row.call) : payload.text;
}

function CutNotice({ payload, row, side }: Omit<PayloadProps, "isRaw">): JSX.Element {
  const [state, setState] = useState<"idle" | "busy" | "failed">("idle");
  const save = async (): Promise<void> => {
    setState("busy");
    try {
      saveFile(`call-${row.call}-${side}.json`, await backend.payloadFile(keys.value, row.trace, payload.line, row.call));
      setState("idle");
    } catch {
      setState("failed");
    }
  };
  return (
    <div class="notice warn" role="note">
      <span>{`It is ${bytes(payload.bytes)} long. This is its beginning, ${bytes(payload.text.length)}.`}</span>
      <button type="button" class="button" disabled={state === "busy"} onClick={() => void save()}>
        {state === "busy" ? "Downloading…" : "Download the whole"}
      </button>
      {state === "failed" && <span class="error-text">That did not work.</span>}
    </div>
  );
}
