// Traces from the command line are opened once, so that going back to the list stays there.

const NAME = "wiretape-given";
let isDone = false;

/** Records that a trace was opened in this tab. */
export function noteOpened(): void {
  isDone = true;
  try {
    sessionStorage.setItem(NAME, "opened");
  } catch {
    // Without storage it lasts as long as the page.
  }
}

export function hasOpened(): boolean {
  try {
    return isDone || sessionStorage.getItem(NAME) !== null;
  } catch {
    return isDone;
  }
}
