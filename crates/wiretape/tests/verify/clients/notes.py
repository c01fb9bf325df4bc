"""Talks with the server of notes, over stdio: notes.py COMMAND ARGUMENT…"""

import asyncio
import os
import sys

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def sample(context, params):
    content = types.TextContent(type="text", text="knock, knock")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def main(command, *args):
    parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(parameters) as streams, ClientSession(*streams, sampling_callback=sample) as client:
        await client.initialize()
        await client.list_tools()
        await client.call_tool("greet", {"name": "Ada"})
        await client.call_tool("now", {})
        note = (await client.call_tool("begin", {"title": "Lisbon"})).content[0].text
        await client.call_tool("title", {"note": note})
        await client.call_tool("joke", {})
        await client.call_tool("write", {"text": "x"})


asyncio.run(main(*sys.argv[1:]))
