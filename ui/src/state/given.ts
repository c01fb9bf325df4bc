// The traces that the program was started with are opened once: who goes back to the list wants to be there.

const NAME = "wiretape-given";
let isDone = false;

/** Something was opened in this tab. */
export function noteOpened(): void {
  isDone = true;
  try {
    sessionStorage.setItem(NAME, "opened");
  } catch {
    // Without storage it holds as long as the page.
  }
}

export function hasOpened(): boolean {
  try {
    return isDone || sessionStorage.getItem(NAME) !== null;
  } catch {
    return isDone;
  }
}
