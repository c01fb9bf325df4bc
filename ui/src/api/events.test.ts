import { expect, test } from "vitest";
import { EventReader } from "./events";

test("events are the same however the stream is cut", () => {
  const stream = 'data: {"a":1}\n\n: still here\n\ndata:one\ndata: two\r\n\r\nevent: x\ndata: 3\n\n';
  const expected = ['{"a":1}', "one\ntwo", "3"];
  for (const size of [1, 2, 3, 7, 100]) {
    const reader = new EventReader();
    const found: string[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.slice(at, at + size)));
    expect(found).toEqual(expected);
  }
});
