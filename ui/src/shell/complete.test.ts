import { expect, test } from "vitest";
import { complete, withWord } from "./complete";

const known = { tools: ["search_files", "read file"], methods: ["tools/call"], servers: ["files", "web"] };
const inserts = (text: string, caret = text.length): string[] =>
  complete(text, caret, known).options.map((option) => option.insert);

test("fields come first", () => {
  expect(inserts("")).toContain("tool:");
  expect(inserts("la")).toEqual(["latency>"]);
  expect(inserts("tool:x !st")).toEqual(["!status:"]);
});

test("then what is known", () => {
  expect(inserts("tool:sea")).toEqual(["search_files "]);
  expect(inserts("tool:re")).toEqual(['"read file" ']);
  expect(inserts("status:tool-error,pro")).toEqual(["protocol-error "]);
  expect(inserts("server:")).toEqual(["files ", "web "]);
  expect(complete("dir:in tool:sea", 15, known)).toMatchObject({ from: 12, to: 15 });
  expect(inserts("id:4")).toEqual([]);
});

test("a word replaces the one of its name", () => {
  expect(withWord("tool:a server:x status:ok", "server", "files")).toBe("tool:a status:ok server:files");
  expect(withWord('text:"a b" server:x', "server", "")).toBe('text:"a b"');
  expect(withWord("", "server", "my files")).toBe('server:"my files"');
});
