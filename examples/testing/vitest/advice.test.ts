import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, onTestFinished, test } from "vitest";

import { advice } from "./advice.js";

const TRACE = fileURLToPath(new URL("../weather.jsonl", import.meta.url));

/** Plays the trace back. At the end, `misses` reports requests that were not recorded. */
async function start(...options: string[]) {
  const directory = mkdtempSync(join(tmpdir(), "replay-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const report = join(directory, "report.json");
  const args = ["replay", TRACE, "--strict", "--report", report, ...options];
  const client = new Client({ name: "advice", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: "wiretape", args }));
  const end = async () => {
    await client.close();
    const [{ misses, unused }] = JSON.parse(readFileSync(report, "utf8")).traces;
    return { misses: misses.map((miss: { message: string }) => miss.message), unused };
  };
  return { client, end };
}

/** The same for most tests: a miss fails the test even if the agent treats the error like a response. */
async function replay(...options: string[]) {
  const { client, end } = await start(...options);
  onTestFinished(async () => expect((await end()).misses).toEqual([]));
  return client;
}

test("rain takes an umbrella", async () => {
  const client = await replay();
  expect(await advice(client, "Lisbon")).toBe("Take an umbrella.");
});

test("the tool responds as recorded", async () => {
  const client = await replay();
  const result = await client.callTool({ name: "weather", arguments: { city: "Oslo" } });
  expect(result.isError).toBeFalsy();
  expect(result.structuredContent).toEqual({ city: "Oslo", celsius: 18.5, sky: "light rain" });
});

test("every recorded call is made", async () => {
  const { client, end } = await start("--require-all");
  await client.listTools();
  for (const city of ["Lisbon", "Oslo"]) await advice(client, city);
  expect(await end()).toEqual({ misses: [], unused: 0 });
});

test("a server that fails", async () => {
  const client = await replay("--fault", "tool:weather error=-32000", "--seed", "7");
  expect(await advice(client, "Lisbon")).toBe("No forecast: look out of the window.");
});

test("what was not recorded is missed", async () => {
  const { client, end } = await start();
  const graz = { name: "weather", arguments: { city: "Graz" } };
  await expect(client.callTool(graz)).rejects.toThrow('city was "Lisbon" and is "Graz"');
  expect((await end()).misses).toHaveLength(1);
});
