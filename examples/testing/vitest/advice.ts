// The code under test: gets the weather and advises what to take.

import type { Client } from "@modelcontextprotocol/sdk/client/index.js";

export async function advice(client: Client, city: string): Promise<string> {
  try {
    const result = await client.callTool({ name: "weather", arguments: { city } });
    const { sky } = result.structuredContent as { sky: string };
    return sky.includes("rain") ? "Take an umbrella." : "Leave the umbrella at home.";
  } catch {
    return "No forecast: look out of the window.";
  }
}
