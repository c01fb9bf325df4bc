"""The code under test: gets the weather and advises what to take."""

from mcp import Client, MCPError


async def advice(client: Client, city: str) -> str:
    try:
        result = await client.call_tool("weather", {"city": city})
    except MCPError:
        return "No forecast: look out of the window."
    rain = "rain" in result.structured_content["sky"]
    return "Take an umbrella." if rain else "Leave the umbrella at home."
