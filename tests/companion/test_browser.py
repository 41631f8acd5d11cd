"""The review in a real browser: a real document and socket, keys instead of clicks, and what can be seen."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.chromium import Chromium, NoBrowser, Page, give_up
from companion.obsidian import FOLDER
from support.editor import Client
from support.serve import Served, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
TEXT = "".join(f"line {number}\n" for number in range(1, 21))
NEW = TEXT.replace("line 2\n", "line two <b>\n").replace("line 18\n", "")


class _Files(http.server.SimpleHTTPRequestHandler):
    """The companion's own files, and those of the stand-in for the app."""

    extensions_map = {".html": "text/html", ".css": "text/css", "": "text/plain"}  # noqa: RUF012

    def translate_path(self, path: str) -> str:
        name = Path(path.partition("?")[0]).name
        folder = HERE if (HERE / name).is_file() else FOLDER
        return str(folder / name)

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/browser.html"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    try:
        with Chromium.started(tmp_path_factory.mktemp("chromium")) as chromium:
            yield chromium
    except NoBrowser as reason:
        give_up(reason)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Note.md").write_text(TEXT, "utf-8")
    async with served(tmp_path / "home", tmp_path / "vault") as server:
        yield server


@pytest.fixture
async def page(chromium: Chromium, files: str, server: Served) -> AsyncIterator[Page]:
    async with chromium.page(files) as page:
        address = f"http://127.0.0.1:{server.port}"
        settings = {"automatic": False, "address": address, "token": server.token, "openReview": True}
        await page.run(f"start({json.dumps(settings)}, {json.dumps({'Note.md': TEXT})})")
        await page.until("plugin.connection.state === 'connected'")
        yield page
        assert page.complaints() == []


async def propose(client: Client, tmp_path: Path, page: Page) -> Any:
    note = str(tmp_path / "vault" / "Note.md")
    arguments = {"old_file_path": note, "new_file_path": note, "new_file_contents": NEW, "tab_name": "tab"}
    asked = await client.begin("tools/call", name="openDiff", arguments=arguments)
    await page.until("document.querySelectorAll('.vaultbridge-hunk').length === 2")
    return asked


async def tab(page: Page) -> str:
    """To the next element that keys reach; gives what it is called."""
    await page.key("Tab")
    name = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.closest('label, button')"
    )
    return str(await page.run(f"String({name}?.textContent ?? {name}).trim()"))


async def test_a_change_is_decided_with_keys_alone(page: Page, server: Served, tmp_path: Path) -> None:
    async with server.client() as client:
        asked = await propose(client, tmp_path, page)
        assert await page.run("document.activeElement.textContent") == "Note.md"
        assert await tab(page) == "Change 1 of 2, line 2"
        assert await tab(page) == "Only change 1"
        assert await tab(page) == "Change 1 of 2, line 2"  # its lines, which may have to be scrolled
        assert await tab(page) == "Change 2 of 2, line 18"
        await page.key(" ")
        assert await page.run("document.querySelectorAll('.vaultbridge-left').length") == 1
        # The card was drawn again, and the person is where they were.
        assert (
            await page.run("document.activeElement.closest('label').textContent.trim()")
            == "Change 2 of 2, line 18"
        )
        assert await tab(page) == "Only change 2"
        await tab(page)
        assert await tab(page) == "Accept 1 of 2 changes"
        await page.key("Enter")
        result = await client.end(asked)
        assert result["content"][1]["text"] == TEXT.replace("line 2\n", "line two <b>\n")
        await page.until("!document.querySelector('.vaultbridge-change')")
        assert await page.run("document.activeElement.textContent") == "No change is waiting."


async def test_text_stays_text_and_screen_reader_text_is_not_visible(
    page: Page, server: Served, tmp_path: Path
) -> None:
    async with server.client() as client:
        await propose(client, tmp_path, page)
        assert await page.run("document.querySelectorAll('.vaultbridge-line b').length") == 0
        assert "line two <b>" in await page.text(".vaultbridge-plus")
        heard = "document.querySelector('.vaultbridge-heard').getBoundingClientRect()"
        assert await page.run(f"[{heard}.width, {heard}.height]") == [1, 1]
        shown = "getComputedStyle(document.querySelector('.vaultbridge-plus')).backgroundColor"
        assert "8, 185, 78" in await page.run(shown)
        # Nothing is wider than a phone.
        await page.size(360, 640)
        assert await page.run("document.documentElement.scrollWidth <= 360")


async def test_typed_text_goes_into_the_form(page: Page, server: Served, tmp_path: Path) -> None:
    async with server.client() as client:
        asked = await propose(client, tmp_path, page)
        await page.click(".vaultbridge-change footer [data-part='edit Note.md']")
        await page.until("document.activeElement.tagName === 'TEXTAREA'")
        await page.run("document.activeElement.select()")
        await page.type("mine\r\nall of it\n")
        await page.click(".vaultbridge-change footer [data-part='accept']")
        result = await client.end(asked)
        assert result["content"][1]["text"] == "mine\nall of it\n"
