"""The page's API as a page calls it: JSON with the owner's token, or with another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from support.waiting import ask_until


class PageApi:
    """`url` is the server's. `token` is sent with every request; "" sends none."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http = http
        self._url = url
        self._token = token

    def with_token(self, token: str) -> PageApi:
        return PageApi(self._http, self._url, token)

    async def ask(self, path: str, *, method: str = "GET", **options: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= options.pop("headers", {})
        url = f"{self._url}/page/api{path}"
        async with self._http.request(method, url, headers=headers, **options) as response:
            assert response.headers["Content-Type"].startswith("application/json"), await response.text()
            return response.status, await response.json()

    async def get(self, path: str, **query: Any) -> Any:
        status, body = await self.ask(path, params=query)
        assert status == 200, body
        return body

    async def post(self, path: str, **body: Any) -> Any:
        status, answer = await self.ask(path, method="POST", json=body)
        assert status == 200, answer
        return answer

    async def catch_refusal(self, path: str, *, method: str = "GET", **options: Any) -> tuple[int, str]:
        """The status and code of a request that must fail."""
        status, body = await self.ask(path, method=method, **options)
        assert status >= 400, body
        return status, body["error"]["code"]

    async def assistants(self, **fits: Any) -> list[dict[str, Any]]:
        """The assistants of whom all of this holds."""
        listed = (await self.get("/assistants"))["assistants"]
        return [entry for entry in listed if fits.items() <= entry.items()]

    async def assistant(self, **fits: Any) -> dict[str, Any]:
        (found,) = await self.assistants(**fits)
        return found

    async def until(self, holds: Callable[[], Awaitable[Any]]) -> Any:
        """Ask again until the answer is true."""
        return await ask_until(holds)
