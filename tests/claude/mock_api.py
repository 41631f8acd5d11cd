"""A stand-in for the model on loopback: answers `POST /v1/messages` by a script, and keeps what it was asked.

A prompt decides by its words: `WRITE <path> <text>` and `EDIT <path> <old> <new>` make the model call those
tools (`%20` stands for a space), anything else is answered with a sentence. After a tool's result it says
so and stops.
"""

from __future__ import annotations

import json
import re
from typing import Any

from aiohttp import web


class MockModel:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.port = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_route("*", "/{rest:.*}", self._nothing)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def has_seen(self, text: str) -> bool:
        """Whether any request held this text."""
        return any(text in json.dumps(body, ensure_ascii=False) for body in self.asked)

    async def _nothing(self, request: web.Request) -> web.Response:
        return web.json_response({"error": {"type": "not_found_error", "message": "none"}}, status=404)

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        block = self._reply(body)
        if not body.get("stream"):
            return web.json_response(_make_message(block, len(self.asked)))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in _make_events(block, len(self.asked)):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response

    def _reply(self, body: dict[str, Any]) -> dict[str, Any]:
        # The client may put messages of other roles behind the person's.
        content = next((m["content"] for m in reversed(body["messages"]) if m["role"] == "user"), "")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if any(block.get("type") == "tool_result" for block in blocks):
            return {"type": "text", "text": "The tool has answered."}
        text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
        tools = {tool.get("name") for tool in body.get("tools", [])}
        if (wanted := re.search(r"WRITE (\S+) (\S+)", text)) and "Write" in tools:
            return self._call("Write", file_path=wanted[1], content=wanted[2] + "\n")
        if (wanted := re.search(r"EDIT (\S+) (\S+) (\S+)", text)) and "Edit" in tools:
            return self._call("Edit", file_path=wanted[1], old_string=wanted[2], new_string=wanted[3])
        return {"type": "text", "text": "Understood."}

    def _call(self, name: str, *, file_path: str, **arguments: str) -> dict[str, Any]:
        given = {"file_path": file_path.replace("%20", " "), **arguments}
        return {"type": "tool_use", "id": f"toolu_{len(self.asked)}", "name": name, "input": given}


def _make_message(block: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _make_events(block: dict[str, Any], number: int) -> list[dict[str, Any]]:
    whole = _make_message(block, number)
    empty: dict[str, Any]
    if block["type"] == "text":
        empty = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]
