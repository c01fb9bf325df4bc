// The HTTP exchange of a call.

import type { JSX } from "preact";
import type { HeaderField, HttpView } from "../../api/types";
import { SafeText } from "../../text/safe-text";
import { Section } from "../parts/section";

export function HttpExchange({ http }: { http: HttpView | null }): JSX.Element | null {
  if (http === null) return null;
  const isBad = http.status !== null && http.status >= 400;
  return (
    <Section title="HTTP">
      <p class="http-line">
        <code>{http.method ?? "?"}</code> <SafeText text={http.url ?? ""} />
        {http.status !== null && <span class={isBad ? "badge error" : "badge"}>{http.status}</span>}
      </p>
      <Headers title="Request headers" fields={http.requestHeaders} />
      <Headers title="Response headers" fields={http.responseHeaders} />
    </Section>
  );
}

function Headers({ title, fields }: { title: string; fields: readonly HeaderField[] }): JSX.Element | null {
  if (fields.length === 0) return null;
  return (
    <details>
      <summary>{`${title} (${fields.length})`}</summary>
      <dl class="fields headers">
        {fields.map((field, index) => (
          <div class="field" key={index}>
            <dt>
              <SafeText text={field.name} />
            </dt>
            <dd>
              <SafeText text={field.value} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
