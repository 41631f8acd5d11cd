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
"""Messages of one answer."""

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
        everything = self._activity.list_trace()
        found = [
            one
            for one in everything
            if one.number > after
            and assistant in ("", one.client.id)
            and method in ("", one.method, one.tool)
            and direction in ("", one.direction)
        ]
        return {
            # Without a place to continue from, the newest; with one, the next.
            "messages": [viewer.render_message(one) for one in (found[:limit] if after else found[-limit:])],
            "last": everything[-1].number if everything else 0,
            "json": self._activity.json_wanted > 0,
        }

    async def show_message(self, call: PageCall) -> dict[str, Any]:
        given = call.part("number")
        number = int(given) if given.isascii() and given.isdigit() and len(given) < 16 else -1
        message = next((one for one in self._activity.list_trace() if one.number == number), None)
        if message is None:
            raise ApiFailure(
                404, "NOT_FOUND", f"Message {given[:20]} is not remembered.", hint="Only the last ones are."
            )
        text = message.json
        why = "" if text is not None else "Nobody was watching with JSON when this message passed."
        return {
            "n": number,
            "json": None if text is None else _SECRETS.sub("…", text[:JSON_KEPT_CHARS]),
            "cut": text is not None and len(text) > JSON_KEPT_CHARS,
            "why": why,
        }

    async def show_stats(self, call: PageCall) -> dict[str, Any]:
        activity = self._activity
        activity.count_ended()
        counters = activity.counters or Counters()
        whole = counters.total
        return {
            "since": activity.since,
            "calls": whole.calls,
            "failed": whole.failed,
            "bytesIn": counters.bytes_in,
            "bytesOut": counters.bytes_out,
            "connected": sum(one.is_connected and one.is_known for one in activity.list_clients()),
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
