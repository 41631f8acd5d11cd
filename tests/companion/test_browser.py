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

from browser.axe import find_barriers
from browser.chromium import Chromium, NoBrowser, Page, give_up
from companion.obsidian import FOLDER
from support.editor import Client
from support.node import NotInstallable, install_packages, skip_without_packages
from support.serve import Home, hosted
from support.waiting import ask_until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
PINNED = HERE / "npm"
TEXT = "".join(f"line {number}\n" for number in range(1, 21))
NEW = TEXT.replace("line 2\n", "line two <b>\n").replace("line 18\n", "")


class _Files(http.server.SimpleHTTPRequestHandler):
    """The companion's own files, and those of the stand-in for the app."""

    extensions_map = {  # noqa: RUF012 - as in the base class
        ".html": "text/html",
        ".css": "text/css",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        "": "text/plain",
    }

    def translate_path(self, path: str) -> str:
        if path.startswith("/npm/"):
            return str(install_packages("companion", PINNED) / "node_modules" / path.removeprefix("/npm/"))
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
async def server(tmp_path: Path) -> AsyncIterator[Home]:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Note.md").write_text(TEXT, "utf-8")
    async with hosted(tmp_path / "home", tmp_path / "vault") as server:
        yield server


@pytest.fixture
async def page(chromium: Chromium, files: str, server: Home) -> AsyncIterator[Page]:
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


async def press_tab(page: Page) -> str:
    """To the next element that keys reach; gives what it is called."""
    await page.key("Tab")
    name = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.closest('label, button')"
    )
    return str(await page.run(f"String({name}?.textContent ?? {name}).trim()"))


async def test_a_change_is_decided_with_keys_alone(page: Page, server: Home, tmp_path: Path) -> None:
    async with server.client() as client:
        asked = await propose(client, tmp_path, page)
        assert await page.run("document.activeElement.textContent") == "Note.md"
        assert await press_tab(page) == "Change 1 of 2, line 2"
        assert await press_tab(page) == "Only this: change 1"
        assert await press_tab(page) == "Change 1 of 2, line 2"  # its lines, which may have to be scrolled
        assert await press_tab(page) == "Change 2 of 2, line 18"
        await page.key(" ")
        assert await page.run("document.querySelectorAll('.vaultbridge-leftout').length") == 1
        # The card was drawn again, and the person is where they were.
        assert (
            await page.run("document.activeElement.closest('label').textContent.trim()")
            == "Change 2 of 2, line 18"
        )
        assert await press_tab(page) == "Only this: change 2"
        await press_tab(page)
        assert await press_tab(page) == "Accept 1 of 2 changes"
        await page.key("Enter")
        result = await client.end(asked)
        assert result["content"][1]["text"] == TEXT.replace("line 2\n", "line two <b>\n")
        await page.until("!document.querySelector('.vaultbridge-change')")
        assert await page.run("document.activeElement.textContent") == "No changes to review."


async def test_text_stays_text_and_screen_reader_text_is_not_visible(
    page: Page, server: Home, tmp_path: Path
) -> None:
    async with server.client() as client:
        await propose(client, tmp_path, page)
        assert await page.run("document.querySelectorAll('.vaultbridge-line b').length") == 0
        assert "line two <b>" in await page.text(".vaultbridge-plus")
        heard = "document.querySelector('.vaultbridge-spoken').getBoundingClientRect()"
        assert await page.run(f"[{heard}.width, {heard}.height]") == [1, 1]
        shown = "getComputedStyle(document.querySelector('.vaultbridge-plus')).backgroundColor"
        assert "8, 185, 78" in await page.run(shown)
        # Nothing is wider than a phone.
        await page.size(360, 640)
        assert await page.run("document.documentElement.scrollWidth <= 360")


async def test_typed_text_goes_into_the_form(page: Page, server: Home, tmp_path: Path) -> None:
    async with server.client() as client:
        asked = await propose(client, tmp_path, page)
        await page.click(".vaultbridge-change footer [data-part='edit Note.md']")
        await page.until("document.activeElement.tagName === 'TEXTAREA'")
        await page.run("document.activeElement.select()")
        await page.type("mine\r\nall of it\n")
        await page.click(".vaultbridge-change footer [data-part='accept']")
        result = await client.end(asked)
        assert result["content"][1]["text"] == "mine\nall of it\n"


async def test_nothing_stands_in_the_way_of_a_screen_reader(page: Page, server: Home, tmp_path: Path) -> None:
    async with server.client() as client:
        await propose(client, tmp_path, page)
        # The page around the review is the test's own.
        around = ["landmark-one-main", "page-has-heading-one", "region", "heading-order"]
        for press in ("edit Note.md", "show"):
            assert await find_barriers(page, skip=around) == []
            await page.click(f".vaultbridge-change [data-part='{press}']")
            await page.until(
                f"Boolean(document.querySelector('textarea')) === {str(press != 'show').lower()}"
            )
        for name in ("Reviewed", "Activity"):
            tabs = "[...document.querySelectorAll('nav button')]"
            await page.run(f"{tabs}.find((tab) => tab.textContent === '{name}').click()")
            await page.until("document.querySelector('.vaultbridge-list, .vaultbridge-quiet')")
            assert await find_barriers(page, skip=around) == []


async def test_somebody_typing_stays_where_they_were_when_the_note_changes(
    page: Page, server: Home, tmp_path: Path
) -> None:
    async with server.client() as client:
        await propose(client, tmp_path, page)
        await page.click(".vaultbridge-change footer [data-part='edit Note.md']")
        await page.until("document.activeElement.tagName === 'TEXTAREA'")
        await page.run("document.activeElement.setSelectionRange(3, 3)")
        # In one step: a note that is empty for a moment would leave no place for the cursor.
        (tmp_path / "saved").write_text(TEXT + "elsewhere\n", "utf-8")
        (tmp_path / "saved").replace(tmp_path / "vault" / "Note.md")
        await page.until("document.querySelector('textarea').value.endsWith('elsewhere\\n')")
        await page.type("TYPED")
        assert (await page.run("document.querySelector('textarea').value")).startswith("linTYPEDe 1\n")


# The editor is a real CodeMirror.

LONG = "".join(f"line {number} 🧀 end\n" for number in range(1, 201))


@pytest.fixture
async def editor(chromium: Chromium, files: str, server: Home, tmp_path: Path) -> AsyncIterator[Page]:
    """The app with `Long.md` open in CodeMirror."""
    try:
        install_packages("companion", PINNED)
    except NotInstallable as reason:
        skip_without_packages(reason)
    (tmp_path / "vault" / "Long.md").write_text(LONG, "utf-8")
    async with chromium.page(files) as page:
        address = f"http://127.0.0.1:{server.port}"
        settings = {"automatic": False, "address": address, "token": server.token, "openReview": True}
        notes = {"Note.md": TEXT, "Long.md": LONG}
        await page.run(f"start({json.dumps(settings)}, {json.dumps(notes)}, true)")
        await page.until("plugin.connection.state === 'connected'")
        await page.run("app.workspace.getLeaf('tab').openFile(app.vault.getFileByPath('Long.md'))")
        await page.until("document.querySelector('.cm-content')")
        yield page
        assert page.complaints() == []


async def wait_for_selection(client: Client, text: str) -> dict[str, Any]:
    while True:
        params = await client.next("selection_changed")
        if params["text"] == text and str(params["filePath"]).endswith("Long.md"):
            return params


async def test_what_is_selected_with_keys_arrives_at_the_assistant(editor: Page, server: Home) -> None:
    async with server.client() as client:
        await wait_for_selection(client, "")
        await editor.click(".cm-line")
        await editor.key("Home")
        for _ in range(8):  # A character of two units is one press.
            await editor.key("ArrowRight", shift=True)
        params = await wait_for_selection(client, "line 1 🧀")
        assert params["selection"]["start"] == {"line": 0, "character": 0}
        assert params["selection"]["end"] == {"line": 0, "character": 9}
        await editor.key("ArrowDown", shift=True)
        params = await client.next("selection_changed")
        assert params["selection"]["end"]["line"] == 1
        await editor.key("ArrowRight")
        while (await client.next("selection_changed"))["text"]:
            pass


async def test_typing_makes_the_note_unsaved_until_it_is_saved(editor: Page, server: Home) -> None:
    async def is_dirty(client: Client) -> bool:
        tabs = json.loads((await client.tool("getOpenEditors"))[0])["tabs"]
        return [tab["isDirty"] for tab in tabs if tab["label"] == "Long.md"] == [True]

    async with server.client() as client:
        await editor.click(".cm-line")
        assert not await is_dirty(client)
        await editor.type("typed ")
        await ask_until(lambda: is_dirty(client))
        assert await editor.run("app.workspace.activeEditor.editor.getLine(0).includes('typed')")
        note = json.loads((await client.tool("getOpenEditors"))[0])["tabs"][0]["uri"]
        assert note.endswith("Long.md")
        await editor.run("app.workspace.activeEditor.save()")

        async def is_saved() -> bool:
            return not await is_dirty(client)

        await ask_until(is_saved)


async def test_a_place_that_an_assistant_opens_is_selected_and_in_sight(
    editor: Page, server: Home, tmp_path: Path
) -> None:
    async with server.client() as client:
        assert not await editor.run("document.querySelector('.note').textContent.includes('line 150 ')")
        path = str(tmp_path / "vault" / "Long.md")
        await client.tool("openFile", filePath=path, startText="line 150", endText="line 151 🧀")
        chosen = "app.workspace.activeEditor.editor"
        await editor.until(
            f"{chosen}.getRange({chosen}.getCursor('from'), {chosen}.getCursor('to')) === "
            "'line 150 🧀 end\\nline 151 🧀'"
        )
        await editor.until(
            "[...document.querySelectorAll('.cm-line')].some((line) => "
            "line.textContent.startsWith('line 150 ') && line.getBoundingClientRect().top < innerHeight)"
        )


async def test_somebody_who_is_typing_gets_a_notice_and_anybody_else_the_review(
    editor: Page, server: Home, tmp_path: Path
) -> None:
    """By the focus of the real editor."""
    note = str(tmp_path / "vault" / "Note.md")
    arguments = {"old_file_path": note, "new_file_path": note, "new_file_contents": NEW, "tab_name": "tab"}
    async with server.client() as client:
        await editor.click(".cm-line")
        await editor.until("app.workspace.activeEditor.editor.hasFocus()")
        await client.begin("tools/call", name="openDiff", arguments=arguments)
        await editor.until("document.body.textContent.includes('proposes a change to Note.md')")
        assert await editor.run("document.querySelectorAll('.vaultbridge-change').length") == 0
        assert await editor.run("document.activeElement.className.includes('cm-content')")
        await client.tool("close_tab", tab_name="tab")
        await editor.run("document.activeElement.blur()")
        await client.begin("tools/call", name="openDiff", arguments=arguments)
        await editor.until("document.querySelectorAll('.vaultbridge-hunk').length === 2")


async def test_a_plugin_that_is_switched_off_hears_nothing_of_the_editor(editor: Page, server: Home) -> None:
    async with server.client() as client:
        await wait_for_selection(client, "")
        await editor.run(
            "window.heard = 0; const schedule = plugin.reports.schedule;"
            "plugin.reports.schedule = function () { heard++; schedule.call(this); };"
        )
        await editor.click(".cm-line")
        await editor.key("Home")
        await editor.key("ArrowRight", shift=True)
        await wait_for_selection(client, "l")
        before = await editor.run("heard")
        assert before > 0
        await editor.run("plugin.unload()")
        await editor.key("ArrowRight", shift=True)
        await editor.type("x")
        await editor.until("app.workspace.leaves[0].view.getViewData().includes('x')")
        assert await editor.run("heard") == before
