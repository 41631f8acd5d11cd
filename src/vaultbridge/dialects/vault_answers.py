"""From a tool's thread to the client: what it answers, and how far it has come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from vaultbridge.dialects.mcp_values import BlobResource, Content, EmbeddedResource, Image, Text

if TYPE_CHECKING:
    from vaultbridge.dialects.mcp_provider import Context
    from vaultbridge.tools.answer import Content as AnswerPart


class ProgressRelay:
    """Called by a tool in its thread; of many reports only the newest is sent."""

    __slots__ = ("_context", "_loop", "_newest")

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._newest: tuple[float, float | None, str] | None = None

    def __call__(self, done: float, total: float | None, message: str) -> None:
        waiting, self._newest = self._newest, (done, total, message)
        if waiting is None:
            try:
                self._loop.call_soon_threadsafe(self._send)
            except RuntimeError:
                # The loop has closed: nobody waits any more.
                return

    def _send(self) -> None:
        newest, self._newest = self._newest, None
        if newest is not None:
            self._context.progress(newest[0], newest[1], newest[2] or None)


def content_of(part: AnswerPart) -> Content:
    """One part of an answer. A file comes with the address under which it is also a resource."""
    # Told apart by their fields, because importing the classes is too dear before the first answer and
    # inside of every call.
    if hasattr(part, "text"):
        return Text(text=part.text)
    from vaultbridge.dialects.vault_uris import uri_of
    from vaultbridge.tools.answer import Image as Picture

    if isinstance(part, Picture):
        return Image(data=part.data, mime_type=part.mime_type)
    uri = uri_of(part.vault, part.path)
    return EmbeddedResource(resource=BlobResource(uri=uri, blob=part.data, mime_type=part.mime_type))
