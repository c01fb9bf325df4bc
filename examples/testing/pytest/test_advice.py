import pytest
from advice import advice
from mcp import Client, MCPError

pytestmark = pytest.mark.anyio


async def test_rain_takes_an_umbrella(replay):
    async with replay() as client:
        assert await advice(client, "Lisbon") == "Take an umbrella."


async def test_the_tool_responds_as_recorded(replay):
    async with replay() as client:
        result = await client.call_tool("weather", {"city": "Oslo"})
    assert not result.is_error
    assert result.structured_content == {"city": "Oslo", "celsius": 18.5, "sky": "light rain"}


async def test_over_http(listening):
    with listening() as url:
        async with Client(url) as client:
            assert await advice(client, "Lisbon") == "Take an umbrella."


async def test_every_recorded_call_is_made(replay):
    async with replay("--require-all") as client:
        await client.list_tools()
        for city in ["Lisbon", "Oslo"]:
            await advice(client, city)


async def test_a_server_that_fails(replay):
    async with replay("--fault", "tool:weather error=-32000", "--seed", "7") as client:
        assert await advice(client, "Lisbon") == "No forecast: look out of the window."


async def test_what_was_not_recorded_is_missed(listening):
    with listening(status=1) as url:
        async with Client(url) as client:
            with pytest.raises(MCPError, match='city was "Lisbon" and is "Graz"'):
                await client.call_tool("weather", {"city": "Graz"})
