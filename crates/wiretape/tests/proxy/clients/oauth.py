"""Logs in to an MCP server with the Python SDK, uses it, lets the token expire, and uses it again. Prints what it got, a
JSON value a line.

oauth.py URL
"""

import asyncio
import html
import json
import re
import sys
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

CALLBACK = "http://localhost:9/callback"


def tell(step, value):
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(json.dumps([step, value], sort_keys=True), flush=True)


def origin(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Browser:
    """Follows redirects, keeps cookies for each site, and shows forms, which somebody submits."""

    def __init__(self):
        self.cookies = {}
        self.answer = None

    async def visit(self, method, url, data=None):
        headers = {"cookie": self.cookies[origin(url)]} if origin(url) in self.cookies else {}
        async with httpx2.AsyncClient() as client:
            response = await client.request(method, url, data=data, headers=headers)
        if cookie := response.headers.get("set-cookie"):
            self.cookies[origin(url)] = cookie.split(";")[0]
        return response

    async def browse(self, url):
        response = await self.visit("GET", url)
        while True:
            form = re.search(r'action="([^"]*)".*name="([^"]*)" value="([^"]*)"', response.text)
            if location := response.headers.get("location"):
                url = urljoin(url, location)
                if url.startswith(CALLBACK):
                    self.answer = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
                    return
                response = await self.visit("GET", url)
            elif form:
                tell("page", origin(url))
                action, name, value = form.groups()
                url = urljoin(url, action)
                response = await self.visit("POST", url, {name: html.unescape(value)})
            else:
                raise RuntimeError(f"the login ended at {response.status_code} {response.text}")

    async def callback(self):
        answer = self.answer
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))


class Storage:
    def __init__(self):
        self.tokens = None
        self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main(url):
    browser, storage = Browser(), Storage()
    metadata = OAuthClientMetadata(
        client_name="wiretape-tests", redirect_uris=[CALLBACK], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(url, metadata, storage, browser.browse, browser.callback)
    async with httpx2.AsyncClient(auth=auth) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tell("tools", await client.list_tools())
            tell("echo", await client.call_tool("echo", {"message": "before"}))
            before = storage.tokens.access_token
            await asyncio.sleep(3.5)
            tell("echo", await client.call_tool("echo", {"message": "after"}))
            tell("renewed", storage.tokens.access_token != before)


asyncio.run(main(*sys.argv[1:]))
