"""Edits that wait for a person on the page, from the first call to the history."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp.client import Client

from browser.assistants import replace_text
from browser.chromium import Page
from browser.serving import Serving
from support.waiting import BOUND

SHOWN = "document.querySelector('.review-detail .diff-view')?.shadowRoot?.querySelector('.cm-content')"

EDITING = "document.activeElement?.shadowRoot?.activeElement?.matches('.cm-content[contenteditable=true]')"


def make_serving(vault: Path, home: Path, port: int = 0) -> Serving:
    # A call waits for the person of the test however busy the machine is.
    (home / "config" / "vaultbridge").mkdir(parents=True)
    (home / "config" / "vaultbridge" / "config.toml").write_text("[limits]\nreview_seconds = 300\n", "utf-8")
    return Serving(vault, home, port)


async def switch_on(page: Page) -> None:
    """Switch review on, as a person does it; it stays on."""
    await page.run("location.hash = '#/review'")
    if "Review is off" in await page.text(".empty"):
        await page.click(".empty .accept")
    await page.until("document.querySelector('.empty').innerText.includes('Review is on')")


def begin_edit(client: Client, note: str, old: str, new: str) -> asyncio.Task[Any]:
    return asyncio.create_task(replace_text(client, note, old, new))


async def wait_for_proposal(page: Page, title: str) -> None:
    """Wait until a proposal is there with its texts, and Accept can be pressed."""
    await page.until(
        f"document.querySelector('#proposal-title')?.innerText.includes({json.dumps(title)}) && {SHOWN}"
        " && !document.querySelector('.detail-actions .accept').disabled"
    )


def read_history(serving: Serving) -> list[dict[str, Any]]:
    """The journal, as the command line lists it; newest first."""
    command = [sys.executable, "-m", "vaultbridge", "history", str(serving.vault), "--json"]
    done = subprocess.run(command, env=serving.env, capture_output=True, text=True, timeout=BOUND, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
