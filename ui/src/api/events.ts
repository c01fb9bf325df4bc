// Parses server-sent events from chunks of text.

/** Takes chunks of text, and returns the data of each complete event. */
export class EventReader {
  private rest = "";

  push(text: string): string[] {
    this.rest = (this.rest + text).replaceAll("\r\n", "\n");
    const events = this.rest.split("\n\n");
    this.rest = events.pop() ?? "";
    return events.map(dataOf).filter((data) => data !== "");
  }
}

function dataOf(event: string): string {
  return event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).replace(/^ /, ""))
    .join("\n");
}
