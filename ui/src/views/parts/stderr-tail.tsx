// The last lines that a failed server wrote to standard error.

import type { JSX } from "preact";
import { SafeText } from "../../text/safe-text";

export function StderrTail({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <pre class="stderr-tail" role="group" aria-label="The server's last lines on standard error">
      {lines.map((line, at) => (
        <div key={at}>
          <SafeText text={line === "" ? " " : line} />
        </div>
      ))}
    </pre>
  );
}
