// Addresses in traces: only those of the web are links, and all are shown as they are.

import type { JSX } from "preact";
import { SafeText } from "../text/safe-text";

/** The address, if it is one that may be followed. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const { protocol, href } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}

/** A link with its words; the address stands beside them, so that words can't pretend to be another. */
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
