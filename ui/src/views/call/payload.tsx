// A request or a response, readable or as raw JSON.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallRow, Payload } from "../../api/types";
import { RequestContent } from "../../content/request";
import { ResponseContent } from "../../content/response";
import type { JsonDocument } from "../../json/document";
import { JsonPanel } from "../../json/panel";
import { useJson } from "../../json/use-json";
import { backend } from "../../state/backend";
import { keys } from "../../state/set";
import { saveFile } from "../../text/copy";
import { bytes } from "../../text/units";
import { LineLink } from "../parts/links";
import { Section } from "../parts/section";
import { Skeleton } from "../parts/states";

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
        <Skeleton label="Loading" />
      ) : isRaw ? (
        <JsonPanel key={payload.line} doc={doc} label={`the ${side}`} depth={4} isCut={payload.isCut} />
      ) : side === "request" ? (
        <RequestContent doc={doc} method={row.method} />
      ) : (
        <ResponseContent doc={doc} method={row.method} />
      )}
    </Section>
  );
}

function titleOf(side: "request" | "response", isRaw: boolean, row: CallRow, doc: JsonDocument | null): string {
  if (isRaw) return side === "request" ? "Request" : "Response";
  if (side === "request") return row.method === "tools/call" || row.method === "prompts/get" ? "Arguments" : "Params";
  return doc !== null && doc.at(0, "error") >= 0 ? "Error" : "Result";
}

/** The complete payload, fetched if only its beginning is here. */
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
      <span>{`Showing the first ${bytes(payload.text.length)} of ${bytes(payload.bytes)}.`}</span>
      <button type="button" class="button" disabled={state === "busy"} onClick={() => void save()}>
        {state === "busy" ? "Downloading…" : "Download all"}
      </button>
      {state === "failed" && <span class="error-text">The download failed.</span>}
    </div>
  );
}
