"""From a tool's thread to the client."""

from __future__ import annotations

import asyncio
from typing import Any

from vaultbridge.protocols.mcp import values as mcp_values
from vaultbridge.protocols.mcp.vault.tool_calls import ProgressRelay, to_content
from vaultbridge.tools.base import answer


class Heard:
    def __init__(self) -> None:
        self.reports: list[Any] = []

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self.reports.append((done, total, message))


def test_each_kind_of_content_becomes_its_own() -> None:
    assert to_content(answer.TextPart("a")) == mcp_values.TextContent(text="a")
    picture = answer.ImagePart(b"p", "image/png", "V", "a/p.png")
    assert to_content(picture) == mcp_values.ImageContent(data=b"p", mime_type="image/png")
    file = mcp_values.BlobResource(uri="obsidian://vault/V/a/d.pdf", blob=b"d", mime_type="application/pdf")
    assert to_content(
        answer.FilePart(b"d", "application/pdf", "V", "a/d.pdf")
    ) == mcp_values.EmbeddedResource(resource=file)


async def test_of_many_reports_the_newest_is_sent_and_the_last_is_never_lost() -> None:
    heard = Heard()
    relay = ProgressRelay(heard, asyncio.get_running_loop())  # type: ignore[arg-type]

    def work() -> None:
        for done in range(1, 1001):
            relay(done, 1000, "reading" if done < 1000 else "")

    await asyncio.to_thread(work)
    await asyncio.sleep(0)
    assert heard.reports[-1] == (1000, 1000, None)
    assert [report[0] for report in heard.reports] == sorted({report[0] for report in heard.reports})


def test_a_report_after_the_end_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    heard = Heard()
    ProgressRelay(heard, loop)(1, 2, "")  # type: ignore[arg-type]
    assert heard.reports == []
