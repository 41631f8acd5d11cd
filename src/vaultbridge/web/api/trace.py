"""`/trace` and `/stats`: the messages of all protocols, and how many calls took how long. For the owner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.activity.clients import JSON_KEPT_CHARS
from vaultbridge.activity.counters import BUCKETS_MS, Counters
from vaultbridge.errors import InvalidArgument
from vaultbridge.web.api.routes import ApiFailure, PageApi, PageCall

if TYPE_CHECKING:
    from vaultbridge.activity.clients import Activity
    from vaultbridge.web.api.assistants import AssistantsView

LIMIT: Final = 500
"""The most messages in one answer."""

_SECRETS: Final = re.compile(r"vbt_[\w-]{20,}|(?<=\")[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\")")
"""What looks like a token: ours, and the UUIDs of lock files. A client may send one where it does not
belong."""


class TraceRoutes:
    def __init__(self, assistants: AssistantsView) -> None:
        self._assistants = assistants

    @property
    def _activity(self) -> Activity:
        return self._assistants.activity

    async def list_messages(self, call: PageCall) -> dict[str, Any]:
        assistant, method, direction = call.text("assistant"), call.text("method"), call.text("direction")
        if direction not in ("", "in", "out"):
            raise InvalidArgument(
                f"direction is {direction[:40]!r}.", argument="direction", hint="in or out."
            )
        after = call.number("after", 0)
        limit = call.number("limit", 200, least=1, most=LIMIT)
        viewer = await self._assistants.make_viewer(call)
        messages = self._activity.list_trace()
        matching = [
            message
            for message in messages
            if message.number > after
            and assistant in ("", message.client.id)
            and method in ("", message.method, message.tool)
            and direction in ("", message.direction)
        ]
        return {
            # Without `after` the newest messages, with it the next ones.
            "messages": [
                viewer.render_message(message)
                for message in (matching[:limit] if after else matching[-limit:])
            ],
            "last": messages[-1].number if messages else 0,
            "json": self._activity.json_wanted > 0,
        }

    async def show_message(self, call: PageCall) -> dict[str, Any]:
        text = call.part("number")
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1
        message = next(
            (candidate for candidate in self._activity.list_trace() if candidate.number == number), None
        )
        if message is None:
            raise ApiFailure(
                404, "NOT_FOUND", f"Message {text[:20]} is not stored.", hint="Only the most recent ones are."
            )
        json = message.json
        why = "" if json is not None else "The JSON of this message was not recorded."
        return {
            "n": number,
            "json": None if json is None else _SECRETS.sub("…", json[:JSON_KEPT_CHARS]),
            "cut": json is not None and len(json) > JSON_KEPT_CHARS,
            "why": why,
        }

    async def show_stats(self, call: PageCall) -> dict[str, Any]:
        activity = self._activity
        activity.count_ended()
        counters = activity.counters or Counters()
        total = counters.total
        return {
            "since": activity.since,
            "calls": total.calls,
            "failed": total.failed,
            "bytesIn": counters.bytes_in,
            "bytesOut": counters.bytes_out,
            "connected": sum(client.is_connected and client.is_known for client in activity.list_clients()),
            "buckets": BUCKETS_MS,
            "methods": [row.render() for row in counters.methods],
            "tools": [row.render() for row in counters.tools],
            "assistants": [{"id": row.name, **row.render()} for row in counters.clients],
            "minutes": counters.render_minutes(),
        }


def add_trace_routes(api: PageApi, assistants: AssistantsView) -> None:
    routes = TraceRoutes(assistants)
    api.get("/trace", routes.list_messages, owner=True)
    api.get("/trace/{number}", routes.show_message, owner=True)
    api.get("/stats", routes.show_stats, owner=True)
