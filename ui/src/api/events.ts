// Server-sent events out of a stream of text, cut anywhere.

/** Takes text in pieces, and gives the data of each event that is complete. */
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
