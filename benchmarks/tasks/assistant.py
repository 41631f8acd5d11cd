"""A scripted assistant: calls tools and keeps what a model would have to read and write for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from stdio_client import Client


class NotPossible(Exception):
    """The server has no tools for this."""


class Assistant:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0
        self.errors: list[str] = []
        self.texts: list[str] = []
        """What was sent and what came back, a text for each call."""

    def call(self, tool: str, /, **arguments: Any) -> str:
        answer = self._client.call(tool, arguments)
        self.calls += 1
        sent = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
        self.texts.append(f"{sent}\n{answer.text}")
        if answer.refused:
            self.errors.append(f"{tool}: {answer.text[:300]}")
        return answer.text

    def forget(self) -> None:
        """What was called so far belongs to the preparation."""
        self.calls = 0
        self.errors.clear()
        self.texts.clear()


Script = Mapping[str, Callable[[Assistant], str | None]]
"""How an assistant that has read a server's list of tools fulfils each request, by the request's name. Of a
request that asks for something, it returns the answer for the person.

A script knows what the person said, which day it is and what its calls answered: nothing else of the vault.
"""


def describe_tools(tools: list[dict[str, Any]]) -> str:
    """The list as a model gets it: clients pass on a tool's name, its description and its schema."""
    kept = [
        {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools
    ]
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
