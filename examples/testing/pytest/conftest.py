"""The recorded server, played back: a replay of its own for each test."""

import os
import re
import subprocess
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mcp import Client, StdioServerParameters

TRACE = Path(__file__).parent.parent / "weather.jsonl"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def replay(request, tmp_path):
    """Over stdio: `async with replay() as client`. Options are those of `wiretape replay`."""
    report = Path(os.environ.get("REPORTS", tmp_path)) / f"{request.node.name}.xml"

    @asynccontextmanager
    async def start(*options):
        args = ["replay", str(TRACE), "--strict", "--report", str(report), *options]
        async with Client(StdioServerParameters(command="wiretape", args=args)) as client:
            yield client
        # A miss fails the test even if the agent treats the error like a response.
        failures = [failure.get("message") for failure in ElementTree.parse(report).iter("failure")]
        assert not failures, "; ".join(failures)

    return start


@pytest.fixture
def listening():
    """Over HTTP: `with listening() as url`. The replay's exit code must be 0, or the given one."""

    @contextmanager
    def start(*options, status=0):
        command = ["wiretape", "replay", TRACE, "--strict", "--listen", "127.0.0.1:0", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                first = process.stderr.readline()
                assert "listening on" in first, first
                yield re.search(r"http://\S+", first).group()
            finally:
                process.terminate()
                output = process.stderr.read()
        assert process.returncode == status, output

    return start
