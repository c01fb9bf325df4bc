// The open call, beside a list, or over it on narrow screens.

import type { JSX } from "preact";
import { go, href, route } from "../../router";
import { CallView } from "../call";

export function CallPanel(): JSX.Element {
  const { call, at, show } = route.value;
  return (
    <aside class="call-panel" aria-label={`Call ${call}`}>
      <div class="call-panel-bar">
        <a href={href({ view: "call", call, at, show })}>Full page</a>
        <span class="dim">
          <kbd>[</kbd> <kbd>]</kbd> previous and next · <kbd>Esc</kbd> close
        </span>
        <button
          type="button"
          class="quiet icon"
          aria-label="Close"
          onClick={() => go({ call: null, show: "" })}
        >
          ✕
        </button>
      </div>
      <div class="call-panel-body">
        <CallView />
      </div>
    </aside>
  );
}
