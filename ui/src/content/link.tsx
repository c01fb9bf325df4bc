// Addresses in traces: only http and https addresses become links, and every address is shown in full.

import type { JSX } from "preact";
import { SafeText } from "../text/safe-text";

/** The address, if it is safe to link to. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const { protocol, href } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}

/** A link with its text, and the address next to it, so that the text can't fake another address. */
export function TraceLink({ address, words }: { address: string; words?: string }): JSX.Element {
  const href = webAddress(address);
  const isNamed = words !== undefined && words !== "" && words !== address;
  if (href === null) {
    return (
      <span class="trace-address">
        {isNamed && <SafeText text={`${words} `} />}
        <code>
          <SafeText text={address} />
        </code>
      </span>
    );
  }
  return (
    <span class="trace-address">
      <a href={href} rel="noreferrer noopener" target="_blank" referrerpolicy="no-referrer">
        <SafeText text={isNamed ? words : address} />
      </a>
      {isNamed && (
        <span class="link-target">
          {" "}
          <SafeText text={address} />
        </span>
      )}
    </span>
  );
}
