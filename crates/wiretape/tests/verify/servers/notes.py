"""A server with a few tools; the environment says what is another than it was.

CHANGED=greet    `greet` answers otherwise
CHANGED=schema   `greet` wants another argument
CHANGED=broken   `greet` fails
WRITTEN=FILE     where `write` writes
"""

import datetime
import os
import uuid

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent, ToolAnnotations

changed = os.environ.get("CHANGED", "")
server = FastMCP("notes")
reads = ToolAnnotations(readOnlyHint=True)
made = {}


def greet(name: str) -> str:
    if changed == "broken":
        raise ValueError("nobody is here")
    return f"Good day, {name}" if changed == "greet" else f"Hello, {name}"


def greet_politely(name: str, title: str) -> str:
    return f"Hello, {title} {name}"


if changed == "schema":
    server.add_tool(greet_politely, name="greet", description="Greets", annotations=reads)
else:
    server.add_tool(greet, description="Greets", annotations=reads)


@server.tool(annotations=reads)
def now() -> dict:
    """The time, a token of the day, and how long this has been running"""
    moment = datetime.datetime.now(datetime.timezone.utc)
    return {"iso": moment.isoformat(), "seconds": moment.timestamp(), "said": f"It is {moment:%H:%M:%S}", "id": str(uuid.uuid4())}


@server.tool(annotations=reads)
def begin(title: str) -> str:
    """Begins a note, which is forgotten when the server ends"""
    name = f"note-{uuid.uuid4().hex[:12]}"
    made[name] = title
    return name


@server.tool(annotations=reads)
def title(note: str) -> str:
    """The title of a note that was begun"""
    return made[note]


@server.tool(annotations=reads)
async def joke(context: Context) -> str:
    """Asks the client's model for a joke"""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="a joke, please"))
    answer = await context.session.create_message([message], max_tokens=50)
    return f"Here is one: {answer.content.text}"


@server.tool()
def write(text: str) -> str:
    """Writes something that stays"""
    with open(os.environ["WRITTEN"], "a", encoding="utf-8") as file:
        file.write(text)
    return "written"


server.run()
