// The result of a list method: tools, prompts, resources, roots or tasks.

import type { JSX } from "preact";
import { JsonPanel } from "../json/panel";
import { SafeText } from "../text/safe-text";
import { count, number } from "../text/units";
import { visible } from "../text/visible";
import type { Place } from "./blocks";

const LISTS: Record<string, string> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "roots/list": "roots",
  "tasks/list": "tasks",
};

const FIRST = 100;

/** The member of a method's result that holds the list, if there is one. */
export function listMember(method: string): string | null {
  return LISTS[method] ?? null;
}

/** The entries with their descriptions. */
export function Listing({ doc, row, method }: Place & { method: string }): JSX.Element {
  const list = doc.at(row, listMember(method) ?? "");
  if (list < 0 || doc.count(list) === 0) return <p class="dim">The list is empty.</p>;
  const entries = Array.from(doc.children(list).subarray(0, FIRST));
  return (
    <>
      <p class="dim">{count(doc.count(list), "entry").replace("entrys", "entries")}</p>
      <ul class="listing">
        {entries.map((entry) => (
          <Entry key={entry} doc={doc} row={entry} />
        ))}
      </ul>
      {doc.count(list) > FIRST && <p class="dim">{`${number(doc.count(list) - FIRST)} more in the raw JSON.`}</p>}
    </>
  );
}

function Entry({ doc, row }: Place): JSX.Element {
  const name = doc.stringAt(row, "name") ?? doc.stringAt(row, "taskId");
  const address = doc.stringAt(row, "uri") ?? doc.stringAt(row, "uriTemplate");
  const description = doc.stringAt(row, "description") ?? doc.stringAt(row, "title") ?? doc.stringAt(row, "status");
  return (
    <li>
      <details>
        <summary>
          <code class="listing-name">
            <SafeText text={name ?? address ?? "unnamed"} />
          </code>
          {name !== null && address !== null && (
            <code class="dim">
              <SafeText text={address} />
            </code>
          )}
          {description !== null && (
            <span class="listing-about clip">
              <SafeText text={description.slice(0, 400)} />
            </span>
          )}
        </summary>
        <JsonPanel doc={doc} row={row} label={visible(name ?? "the entry").slice(0, 100)} />
      </details>
    </li>
  );
}
