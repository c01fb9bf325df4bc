"""Records the real server once: python record.py"""

import asyncio

from advice import advice
from mcp import Client, StdioServerParameters

SERVER = ["wiretape", "sample-server"]
RECORD = ["record", "--out", "recorded", "--label", "weather", "--", *SERVER]


async def main():
    async with Client(StdioServerParameters(command="wiretape", args=RECORD)) as client:
        await client.list_tools()
        print(await advice(client, "Lisbon"))
        print(await advice(client, "Oslo"))


asyncio.run(main())
