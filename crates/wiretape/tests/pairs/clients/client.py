"""Drives an MCP server with the Python SDK, of either major version, over HTTP or stdio, and prints what it got, a JSON
value a line.

client.py streamable|sse URL SCENARIO
client.py stdio '["COMMAND", "ARGUMENT", …]' SCENARIO
"""

import asyncio
import contextlib
import json
import os
import re
import sys

import mcp
import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FIRST = not hasattr(mcp, "Client")


def tell(step, value):
    def plain(value):
        if hasattr(value, "model_dump"):
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        return [plain(one) for one in value] if isinstance(value, list) else value

    text = json.dumps([step, plain(value)], sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<date>", text)
    print(re.sub(r"\d{1,2}:\d\d:\d\d( [AP]M)?", "<time>", text), flush=True)


async def attempt(step, call):
    try:
        tell(step, await call)
    except Exception as error:
        tell(step, {"exception": type(error).__name__, "message": str(error)})


async def until(condition, limit=20):
    for _ in range(limit * 100):
        if condition():
            return
        await asyncio.sleep(0.01)


async def sample(context, params):
    said = [message.content.text for message in params.messages]
    content = types.TextContent(type="text", text=f"you said {said}")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Zoë", "check": True})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="some")])


def connect(kind, url):
    if kind == "stdio":
        command, *args = json.loads(url)
        return stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))
    return sse_client(url) if kind == "sse" else streamable_http_client(url)


@contextlib.asynccontextmanager
async def session(kind, url, log):
    async def on_log(params):
        log.append(params)

    handlers = dict(
        sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots, logging_callback=on_log
    )
    transport = connect(kind, url)
    if FIRST:
        async with transport as streams, ClientSession(streams[0], streams[1], **handlers) as client:
            tell("version", (await client.initialize()).protocolVersion)
            yield client
    else:
        async with mcp.Client(transport, **handlers) as client:
            tell("version", client.protocol_version)
            yield client


async def settle(client, log):
    """The server asks for roots soon after the beginning, of its own accord, and the SDK fails when it is closed while
    the server talks. If the server asks before the stream is there, it asks again when roots are listed."""
    await until(lambda: "Roots updated" in str(log), 3)
    roots = await client.call_tool("get-roots-list", {})
    await until(lambda: "Roots updated" in str(log))
    return roots


async def features(kind, url):
    log, progress = [], []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    async with session(kind, url, log) as client:
        tell("roots", await settle(client, log))
        tell("tools", sorted(tool.name for tool in (await client.list_tools()).tools))
        tell("echo", await client.call_tool("echo", {"message": "Grüße, 日本語, 🦀, \u2028, \x00"}))
        await attempt("bad arguments", client.call_tool("get-sum", {"a": "x"}))
        await attempt("no such tool", client.call_tool("no-such-tool", {}))
        arguments = {"duration": 0.4, "steps": 4}
        tell("long", await client.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress))
        await until(lambda: len(progress) == 4)
        tell("progress", progress)
        tell("sampling", await client.call_tool("trigger-sampling-request", {"prompt": "hello"}))
        tell("elicitation", await client.call_tool("trigger-elicitation-request", {}))
        tell("resources", await client.list_resources())
        await attempt("no such resource", client.read_resource("demo://no/such/resource"))
        tell("prompt", await client.get_prompt("args-prompt", {"city": "Wien", "state": "Österreich"}))
        tell("together", await asyncio.gather(*(client.call_tool("echo", {"message": f"number {n}"}) for n in range(20))))
        tell("log", sorted({one.model_dump_json(by_alias=True) for one in log}))


# What tools, prompts and templates of the server with everything are asked with.
OF_TOOLS = {
    "echo": {"message": "hello"},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-structured-content": {"location": "Chicago"},
    "get-sum": {"a": 2, "b": 3.5},
    "gzip-file-as-resource": {"name": "x.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"},
    "simulate-research-query": {"topic": "tea"},
    "trigger-long-running-operation": {"duration": 0.2, "steps": 2},
    "trigger-sampling-request": {"prompt": "hello"},
}
OF_PROMPTS = {
    "args-prompt": {"city": "Wien", "state": "Wien"},
    "completable-prompt": {"department": "Engineering", "name": "Alice"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}
OF_TEMPLATES = ["demo://resource/dynamic/text/1", "demo://resource/dynamic/blob/2"]


async def everything(kind, url):
    log = []
    async with session(kind, url, log) as client:
        await settle(client, log)
        for tool in (await client.list_tools()).tools:
            # What was turned on is turned off again.
            for _ in range(2 if tool.name.startswith("toggle") else 1):
                await attempt(tool.name, client.call_tool(tool.name, OF_TOOLS.get(tool.name, {})))
        for prompt in (await client.list_prompts()).prompts:
            await attempt(prompt.name, client.get_prompt(prompt.name, OF_PROMPTS.get(prompt.name)))
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        for uri in [*uris, *OF_TEMPLATES]:
            await attempt(uri, client.read_resource(uri))
        tell("templates", await client.list_resource_templates())


async def cancel(kind, url):
    async with session(kind, url, []) as client:
        started = asyncio.Event()

        async def on_progress(done, total, message):
            started.set()

        arguments = {"duration": 2, "steps": 10}
        call = client.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress)
        task = asyncio.create_task(call)
        await started.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        tell("cancelled", task.cancelled())
        tell("after", await client.call_tool("echo", {"message": "still here"}))
        # This server does not stop, and the SDK fails when it is closed while the server talks.
        await asyncio.sleep(2.5)


async def crowd(kind, url):
    async def talk(number):
        log = []
        async with session(kind, url, log) as client:
            await settle(client, log)
            return [await client.call_tool("echo", {"message": f"{number}: {n}"}) for n in range(10)]

    tell("crowd", list(await asyncio.gather(*(talk(number) for number in range(6)))))


async def main(kind, url, scenario):
    await {"features": features, "all": everything, "cancel": cancel, "crowd": crowd}[scenario](kind, url)


asyncio.run(main(*sys.argv[1:]))
