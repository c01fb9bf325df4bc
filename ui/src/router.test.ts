import { expect, test } from "vitest";
import { changed, formatRoute, isFetched, parseRoute } from "./router";

const roundTrip = (url: string): string => {
  const [search = "", hash = ""] = url.split("#");
  return formatRoute(parseRoute(search, hash === "" ? "" : `#${hash}`, false));
};

test.each([
  "",
  "?trace=demo#view=timeline",
  "?trace=a;b#view=calls&filter=tool%3Asearch*%20status%3Aerror&sort=-latency&call=7&at=1",
  "?trace=a%3Bb;c#view=raw&line=12",
  "?trace=https://a.example/x.jsonl;abc#view=timeline&from=1794747605133963&to=1794747609133963",
  "?diff=a;b#status=changed,added",
  "?live=ws://127.0.0.1:4000/live#view=timeline",
  "#view=activity&minutes=60",
])("%s survives", (url) => {
  expect(decodeURIComponent(roundTrip(url))).toBe(decodeURIComponent(url));
});

test("the old name of the activity view still works", () => {
  expect(parseRoute("", "#view=store&minutes=60", false)).toMatchObject({ view: "activity", minutes: 60 });
  expect(roundTrip("#view=store")).toBe("#view=activity");
});

test("a key may hold what separates keys", () => {
  expect(parseRoute("?trace=a%3Bb;c", "", false).trace).toEqual(["a;b", "c"]);
  expect(parseRoute(formatRoute({ ...parseRoute("", "", false), trace: ["a;b&c=#d", "e"] }), "", false).trace).toEqual([
    "a;b&c=#d",
    "e",
  ]);
});

test("invalid parts are ignored", () => {
  const route = parseRoute("?trace=a&x", "#view=nowhere&call=-1&line=x&filter=%zz", false);
  expect(route).toMatchObject({ view: "timeline", call: null, line: null, filter: "%zz" });
  expect(parseRoute("?diff=a", "", false)).toMatchObject({ diff: null, view: "home" });
  expect(parseRoute("", "#view=calls", false).view).toBe("home");
  expect(parseRoute("", "#view=calls", true).view).toBe("calls");
  expect(parseRoute("", "", true).view).toBe("timeline");
});

test("another view keeps the filter, another trace nothing", () => {
  const route = parseRoute("?trace=a", "#view=calls&filter=x&sort=name&call=3&from=1&to=2", false);
  expect(changed(route, { view: "messages" })).toMatchObject({ filter: "x", call: null, sort: "", fromUs: 1, toUs: 2 });
  expect(changed(route, { view: "call", call: 4 })).toMatchObject({ view: "call", call: 4 });
  expect(changed(route, { call: 5 })).toMatchObject({ view: "calls", call: 5, sort: "name" });
  expect(changed(route, { trace: ["b"] })).toMatchObject({ trace: ["b"], filter: "", view: "timeline", fromUs: null });
  expect(changed(route, { diff: ["a", "b"] })).toMatchObject({ trace: [], view: "diff" });
  expect(changed(route, { view: "home", trace: [], diff: null, live: null })).toMatchObject({ view: "home", trace: [] });
});

test("web addresses are not paths", () => {
  expect(isFetched("https://a.example/x")).toBe(true);
  expect(isFetched("/home/ada/x.jsonl")).toBe(false);
  expect(isFetched("javascript:alert(1)")).toBe(false);
});
