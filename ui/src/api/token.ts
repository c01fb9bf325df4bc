// The token that authorises this page. It arrives in the address once, and is removed from it right away.

const NAME = "wiretape-token";

/** Moves the token from the address to the storage, if there is one. */
export function takeToken(): void {
  const rest: string[] = [];
  let token: string | undefined;
  for (const part of location.hash.replace(/^#/, "").split("&")) {
    if (part.startsWith("token=")) token = part.slice("token=".length);
    else if (part !== "") rest.push(part);
  }
  if (token === undefined) return;
  try {
    localStorage.setItem(NAME, token);
  } catch {
    memory = token;
  }
  const hash = rest.length > 0 ? `#${rest.join("&")}` : "";
  history.replaceState(null, "", location.pathname + location.search + hash);
}

/** Where no storage is allowed, the token lasts as long as the page. */
let memory = "";

export function token(): string {
  try {
    return localStorage.getItem(NAME) ?? memory;
  } catch {
    return memory;
  }
}
