"""What the editor socket needs of the activity: the lists, a feed, and control. `web/api` implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Feed(Protocol):
    """One front end's subscription."""

    def watch_trace(self, *, on: bool, json: bool) -> None: ...

    def close(self) -> None: ...


class ActivitySource(Protocol):
    def open_feed(self, notify: Callable[[str, dict[str, Any]], None]) -> Feed:
        """Tell a front end of everything, until the feed is closed."""
        ...

    async def list_assistants(self) -> dict[str, Any]:
        """`{assistants, pausedAll}`, as the page's API answers it."""
        ...

    async def list_entries(
        self, vault: str, *, limit: int, before: str = "", kinds: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What was done in a vault, newest first, `{entries, next, …}`, as the page's API answers it. Raises
        InvalidArgument."""
        ...

    async def control_named(self, action: str, name: str, *, revoke: bool) -> dict[str, Any]:
        """Pause, resume or disconnect the assistants with this id or name; all of them for "". Raises
        InvalidArgument."""
        ...
