// A flat object as a list of names and values.

import type { JSX } from "preact";
import { Kind } from "../json/columns";
import type { JsonDocument } from "../json/document";
import { JsonPanel } from "../json/panel";
import { SafeText } from "../text/safe-text";
import { visible } from "../text/visible";
import { TextBlock } from "./text-block";

const MAX_FIELDS = 50;
const SHORT_TEXT = 300;
const SHORT_JSON = 60;

type FieldsProps = { doc: JsonDocument; row: number; label: string; without?: readonly string[] };

/** Names and values; a tree if the value is not an object or has too many members. */
export function Fields({ doc, row, label, without = [] }: FieldsProps): JSX.Element {
  if (doc.kind(row) !== Kind.Object || doc.count(row) > MAX_FIELDS) return <JsonPanel doc={doc} row={row} label={label} />;
  const members = Array.from(doc.children(row)).filter((child) => !without.includes(doc.key(child) ?? ""));
  if (members.length === 0) return <p class="dim">{`No ${label}.`}</p>;
  return (
    <dl class="fields">
      {members.map((child) => (
        <div class="field" key={child}>
          <dt>
            <SafeText text={doc.key(child) ?? ""} />
          </dt>
          <dd>
            <FieldValue doc={doc} row={child} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FieldValue({ doc, row }: { doc: JsonDocument; row: number }): JSX.Element {
  const label = visible(doc.key(row) ?? "value").slice(0, 100);
  const text = doc.string(row);
  if (text !== null) return isShort(text) ? <Short text={text} /> : <TextBlock text={text} label={label} />;
  const [from, to] = doc.span(row);
  if (doc.count(row) > 0 && to - from > SHORT_JSON) return <JsonPanel doc={doc} row={row} label={label} depth={1} />;
  return (
    <code class={doc.isContainer(row) ? undefined : "json-number"}>
      <SafeText text={doc.source(row)} />
    </code>
  );
}

function isShort(text: string): boolean {
  return text.length <= SHORT_TEXT && !text.includes("\n");
}

function Short({ text }: { text: string }): JSX.Element {
  if (text === "") return <span class="dim">(empty string)</span>;
  return <SafeText text={text} />;
}
