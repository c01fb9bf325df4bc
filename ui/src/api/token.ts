// The token that lets this page talk to its server. It comes in the address once, and is kept out of sight after that.

const NAME = "wiretape-token";

/** Takes the token out of the address, if it is there, and keeps it. */
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
