"""Drives an MCP server with the Python SDK and prints what it got, a JSON value a line.

client.py everything|time COMMAND ARGS...
"""

import asyncio
import json
import os
import re
import sys

from mcp import Client, StdioServerParameters


def tell(step, value):
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = json.dumps([step, value], sort_keys=True)
    # The only thing that differs between two runs: what day it is.
    print(re.sub(r"\d{4}-\d\d-\d\d(T[\d:.+-]*\w*)?", "<date>", text), flush=True)


async def attempt(step, call):
    try:
        tell(step, await call)
    except Exception as error:
        tell(step, {"exception": type(error).__name__, "message": str(error)})


async def everything(client):
    progress = []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    tell("version", client.protocol_version)
    tell("tools", await client.list_tools())
    tell("echo", await client.call_tool("echo", {"message": "Grüße, 日本語, 🦀, \u2028, \x00"}))
    tell("secret", await client.call_tool("echo", {"message": "it is " + os.environ["A_SECRET"]}))
    tell("sum", await client.call_tool("get-sum", {"a": 12345678901234, "b": -0.5}))
    await attempt("bad arguments", client.call_tool("get-sum", {"a": "x"}))
    await attempt("no such tool", client.call_tool("no-such-tool", {}))
    await attempt("structured", client.call_tool("get-structured-content", {"location": "New York"}))
    await attempt("image", client.call_tool("get-tiny-image", {}))
    arguments = {"duration": 0.2, "steps": 4}
    tell("long", await client.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress))
    resources = await client.list_resources()
    tell("resources", resources)
    tell("templates", await client.list_resource_templates())
    for resource in resources.resources[:3]:
        tell("resource", await client.read_resource(resource.uri))
    await attempt("no such resource", client.read_resource("demo://no/such/resource"))
    tell("prompts", await client.list_prompts())
    tell("prompt", await client.get_prompt("args-prompt", {"city": "Wien", "state": "Österreich"}))
    await attempt("no such prompt", client.get_prompt("no-such-prompt"))
    echoes = [client.call_tool("echo", {"message": f"number {n}"}) for n in range(20)]
    for echo in await asyncio.gather(*echoes):
        tell("together", echo)
    tell("progress", progress)


async def time(client):
    tell("version", client.protocol_version)
    tell("tools", await client.list_tools())
    arguments = {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}
    tell("convert", await client.call_tool("convert_time", arguments))
    await attempt("bad zone", client.call_tool("convert_time", {**arguments, "source_timezone": "Mars/Base"}))
    await attempt("bad arguments", client.call_tool("get_current_time", {}))
    await attempt("no such tool", client.call_tool("no-such-tool", {}))


async def main(what, command, *arguments):
    server = StdioServerParameters(command=command, args=list(arguments), env=dict(os.environ))
    async with Client(server) as client:
        await {"everything": everything, "time": time}[what](client)


asyncio.run(main(*sys.argv[1:]))
