"""Every screen of the page, on a phone and on a desk, light and dark: it fits, nothing stands in anybody's
way, and a picture of it is kept to look at."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote

import pytest

from browser.assistants import over_http, over_stdio, replace_text
from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from support.files import write_vault

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
SHELL = ROOT / "web" / "src" / "shell.tsx"

SIZES = ((390, 844), (1280, 900))
SCHEMES = ("light", "dark")

OBJECTS = (
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>",
)
PDF = b"%PDF-1.4\n" + b"".join(b"%d 0 obj%sendobj\n" % numbered for numbered in enumerate(OBJECTS, 1))
PDF += b"trailer<</Root 1 0 R/Size 4>>\nstartxref\n0\n%%EOF\n"
"""One empty page; a viewer finds the objects without a table of where they are."""

FILES: dict[str, str | bytes] = {
    "Empty.canvas": "",
    "Empty.base": "views:\n  - type: table\n    name: Nothing\n    filters: file.name == 'nowhere'\n",
    "Broken.base": "views:\n  - type: table\n    name: [unfinished\n",
    "Attachments/list.txt": "plain text\n",
    "Attachments/letter.pdf": PDF,
    "Attachments/bell.mp3": b"ID3\x03\x00\x00\x00\x00\x00\x00",
    ".obsidian/daily-notes.json": json.dumps({"folder": "Daily", "format": "[today]"}),
    ".obsidian/bookmarks.json": json.dumps(
        {"items": [{"type": "file", "path": "Projects/Moth garden.md", "ctime": 1}]}
    ),
}


class Screen(NamedTuple):
    address: str
    awaited: str
    """What is there when the screen is."""
    key: str = ""
    """A key that opens it at this address, with Control if it is `k`."""
    press: tuple[str, ...] = ()
    """What is pressed to open it at this address."""
    is_part: bool = False
    """Of a document that is examined at another address; only its picture is taken."""


def note(path: str, query: str = "") -> str:
    return f"note/{quote(path)}{query}"


SURVEY = "Projects/Light pollution survey.md"
EDITOR = "document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"
DIFF = "document.querySelector('.diff-view')?.shadowRoot?.querySelector('.cm-content')"
PLACED = "document.getElementById('graph-canvas')?.dataset.state === 'placed'"


def is_visible(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})?.checkVisibility()"


FIRST = {
    "first-home": Screen("", is_visible(".invite")),
    "first-activity": Screen("activity", is_visible(".timeline .empty")),
    "first-protocol": Screen("activity/protocol", is_visible(".empty")),
    "first-statistics": Screen("activity/statistics", is_visible(".empty")),
    "first-review": Screen("review", is_visible(".review-on")),
    "first-decided": Screen("review?show=decided", is_visible(".empty")),
}
"""Before any assistant has come: what somebody sees who has just installed it."""

SCREENS = {
    "home": Screen("", is_visible(".waiting")),
    "note": Screen(note(SURVEY), is_visible(".backlinks")),
    "note-syntax": Screen(note("Reference/Syntax garden.md"), is_visible(".note-body")),
    "note-outline": Screen(note(SURVEY, "?to=Method"), is_visible(".note-body")),
    "note-missing": Screen(note("Not there.md"), is_visible(".empty")),
    "note-menu": Screen(note(SURVEY), is_visible("[role=menu]"), press=(".menu-button",)),
    "rename": Screen(note(SURVEY), is_visible("dialog[open] input"), press=(".menu-button", "#rename")),
    "delete": Screen(note(SURVEY), is_visible("dialog[open]"), press=(".menu-button", "#delete")),
    "editor": Screen(note(SURVEY, "?edit=1"), EDITOR),
    "base": Screen(note("Observatory.base"), is_visible(".base-table")),
    "base-cards": Screen(note("Observatory.base", "?view=Best%20nights"), is_visible(".base-card")),
    "base-empty": Screen(note("Empty.base"), is_visible(".base-none")),
    "base-broken": Screen(note("Broken.base"), is_visible(".failure, .base-problem")),
    "canvas": Screen(note("Spring plan.canvas"), is_visible(".canvas-card .note-body h1")),
    "canvas-empty": Screen(note("Empty.canvas"), is_visible(".empty")),
    "picture": Screen(note("Attachments/m81-sketch.png"), is_visible(".attachment img")),
    "document": Screen(note("Attachments/letter.pdf"), is_visible(".attachment")),
    "sound": Screen(note("Attachments/bell.mp3"), is_visible(".attachment")),
    "text-file": Screen(note("Attachments/list.txt"), is_visible(".note-page pre.md-code, pre.md-code")),
    "folder": Screen("folder/Projects", is_visible(".folder-list")),
    "search": Screen("search?q=light+pollution", is_visible(".hit")),
    "search-exact": Screen("search?q=survey&kind=exact", is_visible(".hit")),
    "search-none": Screen("search?q=xyzzyqwert&kind=exact", is_visible(".empty, .search-none")),
    "search-empty": Screen("search", is_visible(".search-field")),
    "capture": Screen("capture", is_visible("#capture-text")),
    "graph": Screen("graph", PLACED),
    "graph-tags": Screen("graph?colour=tag", PLACED),
    "graph-list": Screen("graph?as=list", is_visible(".graph-list")),
    "graph-around": Screen(f"graph/{quote(SURVEY)}", PLACED),
    "graph-missing": Screen("graph/Nowhere.md", is_visible(".failure")),
    "activity": Screen("activity", is_visible(".entry")),
    "protocol": Screen("activity/protocol", is_visible(".messages")),
    "statistics": Screen("activity/statistics", is_visible(".statistics-table")),
    "review-list": Screen("review", is_visible(".review-list li")),
    "review": Screen("review/p1", DIFF),
    "decided": Screen("review?show=decided", is_visible(".review-decided li")),
    "settings": Screen(
        "settings", is_visible("#settings-assistants .rows") + " && " + is_visible("#settings-doctor strong")
    ),
    **{
        f"settings-{name}": Screen(f"settings/{name}", is_visible(f"#settings-{name}"), is_part=True)
        for name in (
            *("vaults", "review", "assistants", "tokens"),
            *("browsers", "privacy", "doctor", "server"),
        )
    },
    "nowhere": Screen("nowhere", is_visible(".empty")),
    "keys": Screen("review", is_visible("dialog.keys"), key="?"),
    "switcher": Screen("", is_visible(".switcher [role=option]"), key="k"),
    "new-note": Screen("", is_visible("#new-title"), press=("[aria-label='New note']",)),
}


TOO_WIDE = """[document.documentElement, ...document.querySelectorAll('body *')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.checkVisibility()
    && (element === document.documentElement
      || ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
    && !element.matches('pre, .base-table, .md-table, .scroll, .settings-nav, .canvas-card, .assistants ul'))
  .map((element) => `too wide: ${element.cloneNode().outerHTML}`)"""
"""What has to be scrolled to the side, except for tables, code and the like, which may be wider."""


async def look(page: Page, name: str, screen: Screen) -> dict[str, list[str]]:
    """What is wrong with a screen, by size and colours."""
    problems: dict[str, list[str]] = {}
    for width, height in SIZES:
        await page.size(width, height)
        if screen.is_part:
            await page.run("location.hash = '#/settings'")
        await page.run(f"location.hash = {json.dumps('#/' + screen.address)}")
        for pressed in screen.press:
            await page.click(pressed)
        if screen.key:
            await page.until("document.querySelector('main .loading') === null")
            await page.key(screen.key, control=screen.key == "k")
        await page.until(screen.awaited)
        for scheme in SCHEMES:
            await page.colours(scheme)
            await page.until(
                "document.getAnimations().every((animation) => animation.playState !== 'running')"
            )
            await keep_screenshot(page, f"{name}-{width}-{scheme}")
            found = await page.run(TOO_WIDE)
            paper = await page.run("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, paper[4:-1].split(","))) < 200) is (scheme == "dark")
            if not screen.is_part:
                # The other colours change nothing but the contrast.
                only = ["color-contrast"] if scheme != SCHEMES[0] else []
                # A canvas is shown whole at first; what is too small to hit there can be brought nearer.
                skip = ["target-size"] if ".canvas-card" in screen.awaited else []
                found += await find_barriers(page, skip=skip, only=only)
            if found:
                problems[f"{name} at {width}, {scheme}"] = found
        if screen.key or screen.press:
            await page.key("Escape")
            await page.until(f"!({screen.awaited})")
            # It is hidden at once, but opens again only when its view has heard that it was closed.
            await page.until("document.querySelector('dialog.keys') === null")
    return problems


@asynccontextmanager
async def assistants(page: Page, serving: Serving) -> AsyncIterator[None]:
    """Somebody has worked with the vault, and three proposals wait."""
    async with over_stdio(serving) as desktop, over_http(serving) as cursor, serving.assistant() as code:
        for query in ("light pollution", "moths", "clock"):
            await cursor.call_tool("obsidian_search", {"query": query})
        await cursor.call_tool("obsidian_read_note", {"name": "Moth garden"})
        await cursor.call_tool("obsidian_read_note", {"name": "Nowhere at all"})
        await replace_text(
            desktop, "Reference/Glossary.md", "the nights we keep free", "the nights that we keep free"
        )
        await page.run("location.hash = '#/review'")
        await page.click(".review-on .accept")
        await page.until("document.querySelector('.empty').innerText.includes('Review is on')")
        decided = asyncio.create_task(
            replace_text(cursor, "Home.md", "a small public observatory", "an observatory")
        )
        await page.until(
            is_visible("#proposal-title")
            + " && document.querySelector('.detail-actions .reject:not(:disabled)')"
        )
        await page.press("r")
        await decided
        calls = [
            asyncio.create_task(
                replace_text(
                    desktop,
                    SURVEY,
                    "at twelve places around the hill",
                    "at fourteen places around the hill and the moor",
                )
            ),
            asyncio.create_task(
                replace_text(
                    cursor, "Projects/Moth garden.md", "A strip of forty metres", "A strip of sixty metres"
                )
            ),
        ]
        await serving.propose(code, "Garden/Hedgehog corridor.md", "# Hedgehogs\n\nEverything is new here.\n")
        await page.until("document.querySelectorAll('.review-list li').length === 3")
        while await page.run("document.querySelector('.notice')"):
            await page.click(".notice .bare")
        try:
            yield
        finally:
            for call in calls:
                call.cancel()


def classify_screen(address: str) -> tuple[str, ...]:
    """What kind of screen an address leads to: the same for every note, folder or proposal."""
    path, _, query = address.removeprefix("#/").partition("?")
    view, _, rest = unquote(path).partition("/")
    asked = sorted(set(parse_qs(query)) & {"edit", "show", "as"})
    if view == "note":
        suffix = Path(rest).suffix.lower()
        rest = suffix if suffix in (".canvas", ".base", ".png") else ".md"
    elif view not in ("activity", "settings"):
        rest = "one" if rest else ""
    return view, rest, *asked


LINKS = """[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))
  .filter((to) => to?.startsWith('#/'))"""


async def test_every_screen_fits_and_nothing_is_in_the_way(chromium: Chromium, tmp_path: Path) -> None:
    vault = tmp_path / "Nightjar Hill"
    shutil.copytree(ROOT / "examples" / "sample-vault", vault)
    write_vault(vault, FILES)
    config = tmp_path / "home" / "config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[limits]\nreview_seconds = 600\n", "utf-8")
    serving = Serving(vault, tmp_path / "home")
    serving.index()
    problems: dict[str, list[str]] = {}
    links: set[str] = set()
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            for name, screen in FIRST.items():
                problems |= await look(page, name, screen)
            async with assistants(page, serving):
                for name, screen in SCREENS.items():
                    problems |= await look(page, name, screen)
                    links |= set(await page.run(LINKS))
            assert [
                complaint
                for complaint in page.complaints()
                if "responded with a status of 4" not in complaint
            ] == []
    assert problems == {}
    walked = {classify_screen(screen.address) for screen in SCREENS.values()}
    assert {classify_screen(link) for link in links} - walked == set(), (
        "a link leads to a screen that was not looked at"
    )


def test_every_view_of_the_page_is_looked_at() -> None:
    shell = SHELL.read_text("utf-8")
    views = set(re.findall(r"\{ name: '(\w+)'", shell)) | {""}
    within = re.search(r"VAULT_ADDRESSES = \[(.*?)\]", shell)
    assert within is not None
    views |= set(re.findall(r"'(\w+)'", within[1]))
    assert views - {classify_screen(screen.address)[0] for screen in SCREENS.values()} == set()
