"""The graph of a vault in a real browser: drawn, searched, filtered, opened, and read as a list."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from browser.chromium import Chromium, Page
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from support.files import write_vault

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PLACED = "document.getElementById('graph-canvas')?.dataset.state === 'placed'"

NOTES = {
    "Home.md": "[[Plan]] [[Seeds]] [[Ada]] [[日記]]\n",
    "Projects/Plan.md": "---\ntags: [project, spring]\n---\n[[Seeds]] [[Ada]] [[Unwritten idea]]\n",
    "Projects/Seeds.md": "#project [[Plan]]\n",
    "Projects/Old/Attic.md": "#project/old\n",
    "People/Ada.md": "#person\n",
    "People/Žofie.md": "#person [[Ada]]\n",
    "Daily/日記.md": "[[Žofie]] ![[picture.png]]\n",
    "picture.png": b"\x89PNG\r\n\x1a\n",
}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vaults") / "Garden", NOTES)
    serving = Serving(vault, tmp_path_factory.mktemp("home"))
    serving.index()
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        await page.run("location.hash = '#/graph'")
        await page.until(PLACED)
        yield page
        assert page.complaints() == []


async def count(page: Page) -> str:
    return await page.text("#graph-count")


async def test_a_note_that_was_found_is_in_the_middle_and_a_click_opens_it(page: Page) -> None:
    assert await count(page) == "7 notes, 9 links"
    await page.click("#graph-find")
    await page.type("pla")
    assert await page.text(".graph-found p") == "1 found"
    await page.key("Enter")
    assert await page.text(".graph-found p") == "1 of 1"
    assert await page.text(".graph-info strong") == "Plan"
    # The picture moves in the frame after the one that names the note.
    await page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    middle = await page.run(
        "(() => { const box = document.getElementById('graph-canvas').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        await page.ask(
            "Input.dispatchMouseEvent", type=kind, x=middle[0], y=middle[1], button="left", clickCount=1
        )
    await page.until("location.hash.split('?')[0] === '#/note/Projects/Plan.md'")
    await page.run("history.back()")
    await page.until(PLACED)


async def test_colours_by_folder_and_by_tag_have_a_legend_that_hides_and_shows(page: Page) -> None:
    names = "[...document.querySelectorAll('.graph-legend .name')].map((name) => name.textContent).join()"
    assert await page.run(names) == "Projects,People,Daily,Top of the vault"
    await page.click(".graph-legend button")
    assert (await count(page)).startswith("4 notes of 7")
    await page.click(".graph-legend button")
    assert (await count(page)).startswith("7 notes,")
    await page.click(".graph-panel .segments button:nth-child(2)")
    await page.until("location.hash.includes('colour=tag')")
    assert await page.run(names) == "#project,#person,No tag"


async def test_a_filter_stays_in_the_address_and_after_a_reload(page: Page) -> None:
    await page.click("#graph-filter")
    await page.type("tag:#project -attic")
    assert (await count(page)).startswith("2 notes of 7")
    await page.reload()
    await page.until(PLACED)
    assert (await count(page)).startswith("2 notes of 7")
    await page.run("location.hash = '#/graph?filter=nothing-like-it'")
    await page.click(".graph-none button")
    assert (await count(page)).startswith("7 notes,")


async def test_what_is_not_written_yet_and_attachments_are_shown_on_request(page: Page) -> None:
    await page.click(".graph-panel .check:nth-of-type(2) input")
    await page.until("document.getElementById('graph-count').innerText.startsWith('8 notes')")
    await page.click(".graph-panel .check:nth-of-type(3) input")
    await page.until("document.getElementById('graph-count').innerText.startsWith('9 notes')")
    assert "Unresolved" in await page.text(".graph-legend")
    await page.click(".graph-panel .check:nth-of-type(1) input")
    await page.until("document.getElementById('graph-count').innerText.startsWith('8 notes of 9')")


async def test_the_list_has_the_same_notes_as_links_for_the_keyboard(page: Page) -> None:
    await page.click(".graph-head .segments button:nth-child(2)")
    rows = "[...document.querySelectorAll('.graph-list th a')].map((link) => link.textContent)"
    await page.until(f"({rows}).length === 7")
    assert (await page.run(rows))[0] == "Home"
    await page.run("document.querySelector('.graph-list th a[href*=Ada]').focus()")
    await page.key("Enter")
    await page.until("location.hash.split('?')[0] === '#/note/People/Ada.md'")


async def test_around_a_note_shows_what_is_so_many_links_away(page: Page) -> None:
    await page.run(f"location.hash = '#/graph/People/{quote('Žofie.md')}?depth=1'")
    await page.until("document.querySelector('.graph-around')")
    await page.until("document.getElementById('graph-count').innerText.startsWith('3 notes')")
    await page.run(
        "(() => { const depth = document.querySelector('.graph-around select'); depth.value = '2';"
        " depth.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    await page.until("document.getElementById('graph-count').innerText.startsWith('5 notes')")
    await page.click(".graph-around a")
    await page.until("document.getElementById('graph-count').innerText.startsWith('7 notes')")


async def test_a_note_that_is_not_there_is_said_and_the_way_back_is_shown(page: Page) -> None:
    await page.run("location.hash = '#/graph/Nowhere.md'")
    assert "Nowhere" in await page.text(".failure")
    page.forget()  # The browser logs the 404.
    await page.click(".graph-alone a")
    await page.until(PLACED)


async def test_the_filters_are_beside_the_picture_when_the_window_becomes_wide(page: Page) -> None:
    shown = "document.getElementById('graph-filter').checkVisibility()"
    await page.until(shown)
    await page.size(390, 844)
    await page.until(f"!{shown}")
    await page.size(1280, 900)
    await page.until(shown)


LONG_FOLDERS = (
    "Minutes of the association of beekeepers in the valley, with everything that was decided",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
)


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
async def test_a_legend_of_long_names_stays_in_its_panel(
    chromium: Chromium, tmp_path: Path, size: tuple[int, int]
) -> None:
    vault = write_vault(
        tmp_path / "Long", {f"{name}/Note {name[0]}.md": "[[Home]]\n" for name in LONG_FOLDERS}
    )
    serving = Serving(vault, tmp_path / "home")
    serving.index()
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.size(*size)
            await page.until(CONNECTED)
            await page.run("location.hash = '#/graph'")
            await page.until(PLACED)
            await page.run("document.querySelector('.graph-panel').open = true")
            await keep_screenshot(page, f"graph-legend-{size[0]}")
            panel = "document.querySelector('.graph-panel')"
            assert await page.run(f"{panel}.scrollWidth <= {panel}.clientWidth")
            rows = await page.run(
                "[...document.querySelectorAll('.graph-legend button')].map((row) => [row.title,"
                " row.getBoundingClientRect().right, row.lastElementChild.getBoundingClientRect().right])"
            )
            edge = await page.run(f"{panel}.getBoundingClientRect().right")
            # The number of notes is beside the name, and the whole name can be read.
            assert {row[0] for row in rows} == {*LONG_FOLDERS}
            assert all(right <= edge and number <= right for _, right, number in rows)
            assert page.complaints() == []


RECORD = """
window.labels = [];
window.nodes = new Set();
const { fillText, arc } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const half = this.measureText(text).width / 2;
  labels.push([text, x - half, x + half, y, this.canvas.clientWidth, this.canvas.clientHeight]);
  fillText.call(this, text, x, y);
};
CanvasRenderingContext2D.prototype.arc = function (x, y, ...rest) {
  nodes.add(`${Math.round(x)} ${Math.round(y)}`);
  arc.call(this, x, y, ...rest);
};
"""
"""Every label and node that is drawn, and where."""

PAINTED = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"

FITTED = """(() => {
  const canvas = document.getElementById('graph-canvas');
  return innerWidth === %d && Math.abs(canvas.width - canvas.clientWidth * devicePixelRatio) < 1;
})()"""
"""The canvas has the size of its place in a window of this width."""

LABEL_HEIGHT = 14


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
async def test_no_label_is_cut_off_at_an_edge(page: Page, size: tuple[int, int]) -> None:
    draw = random.Random(size[0])
    await page.size(*size)
    # The first picture after a change of size may still be laid out for the former one.
    await page.until(FITTED % size[0])
    await page.run(PAINTED)
    await page.run(RECORD)
    await page.run("document.getElementById('graph-canvas').focus()")
    for _ in range(60):
        key = draw.choice(("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "-", "0"))
        await page.key(key)
        await page.run(PAINTED)
    labels = await page.run("labels")
    assert len(labels) > 60
    for text, left, right, top, width, height in labels:
        assert left >= 0 and right <= width and top >= 0 and top + LABEL_HEIGHT <= height, text


async def test_with_reduced_motion_only_the_first_and_the_last_layout_are_drawn(page: Page) -> None:
    await page.ask(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}]
    )
    await page.run(RECORD)
    await page.run("location.hash = '#/graph/People/Ada.md?depth=1'")
    await page.until(f"location.hash.includes('Ada') && {PLACED} && document.querySelector('.graph-around')")
    await page.run(PAINTED)
    # Four notes, in the layout of the graph before, in the first of their own and in the last.
    assert len(await page.run("[...nodes]")) <= 4 * 3 + 7
