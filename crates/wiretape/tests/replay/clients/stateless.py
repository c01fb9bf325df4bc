"""Drives the conformance server with the Python SDK in the stateless era, and prints what it got, a JSON value a line.

stateless.py URL
"""

import asyncio
import json
import sys

import mcp
import mcp.types as types
from mcp.client.streamable_http import streamable_http_client


def tell(step, value):
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(json.dumps([step, value], sort_keys=True), flush=True)


async def attempt(step, call):
    try:
        tell(step, await call)
    except Exception as error:
        tell(step, {"exception": type(error).__name__, "message": str(error)})


async def sample(context, params):
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Zoë"})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="some")])


async def main(url):
    progress = []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    handlers = dict(sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots)
    async with mcp.Client(streamable_http_client(url), **handlers) as client:
        tell("version", client.protocol_version)
        tools = await client.list_tools()
        tell("tools", tools)
        for tool in tools.tools:
            call = client.call_tool(tool.name, {}, progress_callback=on_progress)
            await attempt(tool.name, asyncio.wait_for(call, 20))
        tell("progress", progress)
        await attempt("resources", client.list_resources())
        prompts = await client.list_prompts()
        for prompt in prompts.prompts:
            await attempt(prompt.name, client.get_prompt(prompt.name, {"arg1": "a", "arg2": "b"}))


asyncio.run(main(*sys.argv[1:]))
