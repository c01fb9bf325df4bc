// A JSON Schema as a table of properties.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { SafeText } from "../text/safe-text";
import type { Place } from "./blocks";
import { type SchemaRow, schemaRows, typeOf } from "./schema-rows";

export function SchemaView({ doc, row }: Place): JSX.Element {
  const rows = useMemo(() => schemaRows(doc, row), [doc, row]);
  if (rows.length === 0) {
    return <p class="dim">{`No properties: ${typeOf(doc, row)}.`}</p>;
  }
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Schema">
      <table class="schema">
        <thead>
          <tr>
            <th scope="col">Property</th>
            <th scope="col">Type</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((property) => (
            <Property key={`${property.row}-${property.name}`} property={property} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Property({ property }: { property: SchemaRow }): JSX.Element {
  const { name, depth, type, isRequired, description, limits } = property;
  return (
    <tr>
      <th scope="row" style={{ paddingInlineStart: `${8 + depth * 16}px` }}>
        <code>
          <SafeText text={name} />
        </code>
        {isRequired && <span class="required">required</span>}
      </th>
      <td>
        <span class="schema-type">
          <SafeText text={type} />
        </span>
      </td>
      <td>
        {description !== null && (
          <div>
            <SafeText text={description.slice(0, 4000)} breaks="keep" />
          </div>
        )}
        {limits.map((limit, index) => (
          <div key={index} class="schema-limit">
            <SafeText text={limit} />
          </div>
        ))}
      </td>
    </tr>
  );
}
