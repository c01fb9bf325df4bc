// The keyboard shortcuts and the filter syntax, in a dialog.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { KEY_HELP } from "../keys";

export function Help({ onClose }: { onClose(): void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={onClose}
      onKeyDown={(event) => {
        if (event.key === "?") dialog.current?.close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="help-head">
        <h2 id="help-title">Keyboard shortcuts</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </div>
      <div class="help-groups">
        {KEY_HELP.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([names, does]) => (
                <div key={names}>
                  <dt>
                    {names.split(", ").map((name) => (
                      <kbd key={name}>{name}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="dim">
        In a filter, all terms must match: <code>tool:search*</code> <code>status:error</code>{" "}
        <code>latency&gt;200ms</code> <code>text:"over quota"</code>. A <code>!</code> before a term negates it.
      </p>
    </dialog>
  );
}
