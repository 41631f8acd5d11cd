"""Reviewing changes on the page, in a real browser, with an assistant on the real IDE socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving, decided
from support.files import write_vault
from support.ports import held_port

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PLAN = "# Plan\n\nBuy seeds.\nWater the garden.\nCall Ada.\n" + "".join(f"Line {n}\n" for n in range(6, 40))


def new_vault(folder: Path) -> Path:
    return write_vault(folder, {"Plan.md": PLAN})


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("home")
    serving = Serving(new_vault(tmp_path_factory.mktemp("vaults") / "Garden"), home)
    serving.index()
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        await page.go(serving.url + "/#/review")
        await page.until("document.getElementById('changes')")
        yield page
        assert page.complaints() == []


# the token


async def test_the_token_leaves_the_address_at_once_and_no_request_shows_it(
    page: Page, serving: Serving
) -> None:
    assert await page.run("location.href") == serving.url + "/#/review"
    await page.reload()
    await page.until(CONNECTED)
    assert await page.text("#vault") == "Garden"
    assert len(page.requested()) > 5
    origins = (serving.url, serving.url.replace("http", "ws", 1))
    assert all(url.startswith(origins) and serving.token not in url for url in page.requested())


async def test_without_a_token_it_says_how_to_get_the_link(chromium: Chromium, serving: Serving) -> None:
    async with chromium.page(serving.url + "/") as page:
        assert "vaultbridge page VAULT" in await page.text(".empty:has([role=alert])")
        assert not any(url.startswith("ws") for url in page.requested())
        # The link pasted into the same tab is enough.
        await page.go(serving.link())
        await page.until(CONNECTED)


async def test_a_wrong_token_is_reported_and_not_tried_again(chromium: Chromium, serving: Serving) -> None:
    async with chromium.page(serving.url + "/#token=wrong") as page:
        assert "token is missing or wrong" in await page.text("[role=alert]")
        assert await page.run("document.getElementById('state').dataset.state") == "refused"
        assert sum(url.startswith("ws") for url in page.requested()) == 1


# changes


async def test_a_change_is_shown_with_its_words_and_accepted_as_proposed(
    page: Page, serving: Serving
) -> None:
    async with serving.assistant() as client:
        proposed = PLAN.replace("Water the garden", "Water the roses")
        waiting = await serving.propose(client, "Plan.md", proposed)
        assert await page.text(".change h3") == "Plan.md"
        assert await page.run("document.querySelector('.change del').textContent") == "garden"
        assert await page.run("document.querySelector('.change ins').textContent") == "roses"
        await page.until("document.title.startsWith('(1) ')")
        assert "unchanged lines" in await page.text(".gap button")
        await page.click(".change .accept")
        assert await decided(client, waiting) == ["FILE_SAVED", proposed]
        await page.until("!document.querySelector('.change')")
        await page.until("!document.title.startsWith('(')")
    # The client writes, not the page.
    assert (serving.vault / "Plan.md").read_text("utf-8") == PLAN


async def test_a_rejection_is_reported_to_the_assistant(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "New.md", "# New\n")
        assert "a new note" in await page.text(".change header")
        await page.click(".change .reject")
        assert await decided(client, waiting) == ["DIFF_REJECTED", "New.md"]
        await page.until("!document.querySelector('.change')")


async def test_an_edit_is_seen_as_a_change_and_accepted_with_its_line_ends(
    page: Page, serving: Serving
) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Windows.md", "one\r\ntwo\r\nthree\n")
        await page.click(".change footer button:nth-child(3)")
        await page.until("document.activeElement.matches('.change textarea')")
        await page.run("document.activeElement.setSelectionRange(3, 3)")
        await page.type(" and a half\nmore")
        await page.click(".change footer button:nth-child(3)")
        await page.until("document.querySelector('.change td.text')")
        assert "edited by you" in await page.text(".change header")
        assert "one and a half" in await page.text(".change table")
        await page.click(".change .accept")
        assert await decided(client, waiting) == [
            "FILE_SAVED",
            "one and a half\r\nmore\r\ntwo\r\nthree\n",
        ]


async def test_an_edit_can_be_discarded(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "New.md", "proposed\n")
        await page.click(".change footer button:nth-child(3)")
        await page.type("something else ")
        await page.click(".change footer button:nth-child(3)")
        await page.click(".change footer button:nth-child(4)")
        await page.until("!document.querySelector('.change header .tag')")
        await page.click(".change .accept")
        assert await decided(client, waiting) == ["FILE_SAVED", "proposed\n"]


async def test_invisible_characters_are_named(page: Page, serving: Serving) -> None:
    """Directions and zero-width characters can make a line read as what it is not."""
    async with serving.assistant() as client:
        sly = PLAN.replace("Call Ada.\n", "Call \u202eAda\u200b.\r\n").rstrip("\n")
        await serving.propose(client, "Plan.md", sly)
        await page.until("document.querySelectorAll('.unseen').length === 4")
        named = await page.run("[...document.querySelectorAll('.unseen')].map((node) => node.textContent)")
        assert named == ["U+202E", "U+200B", "CR LF", "no line end"]


async def test_hidden_lines_and_both_layouts_show_the_whole_change(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        await serving.propose(client, "Plan.md", PLAN.replace("Line 20\n", "Line twenty\n"))
        await page.until("document.querySelector('.diff.beside')")
        await page.click(".gap button")
        await page.until("document.querySelectorAll('.gap').length === 1")
        assert "Buy seeds." in await page.text(".diff")
        await page.click("#layout")
        await page.until("document.querySelector('.diff:not(.beside)')")
        assert "Buy seeds." in await page.text(".diff")
        assert await page.run("document.querySelectorAll('.diff tr:has(.minus) + tr:has(.plus)').length") == 1
        await page.size(700, 800)
        await page.click(".gap button")
        await page.until("!document.querySelector('.gap')")
        shown = await page.run(
            "[...document.querySelectorAll('td.text:not(.minus)')].map((cell) => cell.innerText).join('|')"
        )
        assert shown.count("|") == PLAN.count("\n") - 1


async def test_every_part_of_a_huge_change_can_be_reached(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Long.md", "".join(f"row {n}\n" for n in range(4000)))
        await page.until("document.querySelectorAll('.change td.text').length >= 1500")
        assert await page.run("document.querySelectorAll('.change td.text').length") < 2000
        for _ in range(2):
            await page.click(".change .gap button")
        await page.until("document.querySelectorAll('.change td.text').length === 4000")
        await page.click(".change .reject")
        assert (await decided(client, waiting))[0] == "DIFF_REJECTED"


async def test_a_change_decided_elsewhere_disappears_and_an_unused_edit_is_reported(
    page: Page, serving: Serving
) -> None:
    async with serving.assistant() as client:
        await serving.propose(client, "New.md", "text\n")
        await page.click(".change footer button:nth-child(3)")
        await page.type("mine ")
        await page.click(".change footer button:nth-child(3)")
        await client.tool("close_tab", tab_name="New.md")
        assert "Your edit of New.md was not used" in await page.text("[role=alert]")
        await page.until("!document.querySelector('.change')")


def save(note: Path, data: bytes) -> None:
    """In one step, as editors do: the page may look at any time, and an empty note is another one."""
    passing = note.with_name(f".{note.name}")
    passing.write_bytes(data)
    passing.replace(note)


WITHOUT_POLLING = "window.setInterval = () => 0"


async def test_text_written_into_a_note_while_its_change_waits_is_kept(page: Page, serving: Serving) -> None:
    """It was lost without a word: the assistant got the text it had proposed for the older note."""
    note = serving.vault / "Waiting.md"
    note.write_bytes(PLAN.encode())
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Waiting.md", PLAN.replace("Buy seeds.", "Buy bulbs."))
        await page.until("document.querySelector('.change')")
        save(note, PLAN.replace("Line 30\n", "Line 30, by hand\n").encode())
        assert "is kept" in await page.text(".change .moved")
        assert "edited by you" not in await page.text(".change header")
        await page.click(".change .accept")
        both = PLAN.replace("Buy seeds.", "Buy bulbs.").replace("Line 30\n", "Line 30, by hand\n")
        assert await decided(client, waiting) == ["FILE_SAVED", both]


async def test_a_rebased_change_cannot_be_accepted_before_it_was_seen(page: Page, serving: Serving) -> None:
    note = serving.vault / "Pressed.md"
    note.write_bytes(PLAN.encode())
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=WITHOUT_POLLING)
    await page.reload()
    await page.until(CONNECTED)
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Pressed.md", PLAN.replace("Buy seeds.", "Buy bulbs."))
        await page.until("document.querySelector('.change')")
        save(note, PLAN.replace("Buy seeds.", "Buy trees.").encode())
        await page.click(".change .accept")
        assert "would remove" in await page.text(".change .moved")
        assert await page.run("document.querySelector('.diff .minus del').textContent") == "trees"
        assert not waiting.done()
        await page.click(".change .accept")
        assert await decided(client, waiting) == ["FILE_SAVED", PLAN.replace("Buy seeds.", "Buy bulbs.")]


async def test_an_edit_is_rebased_when_the_note_changes(page: Page, serving: Serving) -> None:
    note = serving.vault / "Edited.md"
    note.write_bytes(b"one\r\ntwo\r\nthree\r\nfour\r\n")
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Edited.md", "one\ntwo\nthree\nfour\nfive\n")
        await page.click(".change footer button:nth-child(3)")
        await page.type("mine, ")
        save(note, b"one\r\ntwo\r\nthree, by hand\r\nfour\r\n")
        await page.click(".change footer button:nth-child(3)")
        assert "is kept" in await page.text(".change .moved")
        assert "edited by you" in await page.text(".change header")
        await page.click(".change .accept")
        assert await decided(client, waiting) == [
            "FILE_SAVED",
            "mine, one\ntwo\nthree, by hand\nfour\nfive\n",
        ]


async def test_the_keyboard_suffices_and_the_focus_moves_to_the_next_change(
    page: Page, serving: Serving
) -> None:
    async with serving.assistant() as client:
        first = await serving.propose(client, "A.md", "a\n")
        await page.until("document.querySelectorAll('.change').length === 1")
        second = await serving.propose(client, "B.md", "b\n")
        await page.until("document.querySelectorAll('.change').length === 2")
        for _ in range(12):
            if await page.run("document.activeElement.matches('.change .accept')"):
                break
            await page.key("Tab")
        await page.key("Enter")
        assert await decided(client, first) == ["FILE_SAVED", "a\n"]
        await page.until("document.activeElement.textContent === 'B.md'")
        await page.key("Tab")
        await page.key("Tab")
        await page.key("Tab")
        await page.key("Enter")
        assert await decided(client, second) == ["DIFF_REJECTED", "B.md"]
        await page.until("document.activeElement.id === 'changes'")


HELD_READINGS = """
  window.readings = 0;
  window.holding = false;
  const ask = window.fetch;
  window.fetch = async (address, options) => {
    const answer = await ask(address, options);
    if (!String(address).endsWith('read_note/call') || options.body.includes('"lines"')) return answer;
    window.readings++;
    if (window.holding) await new Promise((go) => (window.letGo = go));
    return answer;
  };
"""
"""The page is given the whole text of a note late, as on a slow line."""


async def test_a_slow_check_of_the_note_does_not_disturb_a_person_who_began_to_edit(
    page: Page, serving: Serving
) -> None:
    note = serving.vault / "Slow.md"
    note.write_bytes(b"one\ntwo\nthree\n")
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=HELD_READINGS)
    await page.reload()
    await page.until(CONNECTED)
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Slow.md", "one\ntwo\nthree\nfour\n")
        await page.until("window.readings")
        await page.run("window.holding = true")
        save(note, b"by hand\none\ntwo\nthree\n")
        await page.until("Boolean(window.letGo)")
        await page.click(".change footer button:nth-child(3)")
        await page.until("document.activeElement.matches('.change textarea')")
        await page.run("document.activeElement.setSelectionRange(99, 99)")
        await page.type("mine\n")
        # By the time of an answer to another question the page has made of this one what it will.
        await page.run("window.holding = false, window.letGo(), fetch('/page/app.js').then(() => 0)")
        assert await page.run("document.querySelector('.change textarea')?.value.endsWith('mine\\n')")
        await page.click(".change footer button:nth-child(3)")
        assert "is kept" in await page.text(".change .moved")
        await page.click(".change .accept")
        assert await decided(client, waiting) == ["FILE_SAVED", "by hand\none\ntwo\nthree\nfour\nmine\n"]


OVERTAKEN_LIST = """
  window.WebSocket = class extends WebSocket {
    set onmessage(act) {
      super.onmessage = ({ data }) => {
        const { result } = JSON.parse(data);
        if (result?.diffs) {
          const say = (method, params) => act({ data: JSON.stringify({ jsonrpc: '2.0', method, params }) });
          const texts = (id) => ({ path: `${id}.md`, oldText: '', newText: id });
          const diff = (id) => ({ id, client: 'c', tabName: 't', ...texts(id) });
          say('diffOpened', diff('new'));
          say('diffClosed', { id: 'old', reason: 'accepted' });
          result.diffs.push(diff('old'));
          act({ data: JSON.stringify({ ...JSON.parse(data), result }) });
        } else act({ data });
      };
    }
  };
"""
"""In the moment in which the bridge made its list, one change came and another was decided."""


async def test_a_notification_that_overtakes_the_list_of_waiting_changes_counts(page: Page) -> None:
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=OVERTAKEN_LIST)
    await page.reload()
    await page.until(CONNECTED)
    await page.until("document.querySelector('.change')")
    titles = "[...document.querySelectorAll('.change h3')].map((title) => title.textContent)"
    await page.until(f"JSON.stringify({titles}) === '[\"new.md\"]'")


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


async def test_the_page_reconnects_when_the_server_is_back(
    chromium: Chromium, tmp_path: Path, port: int
) -> None:
    serving = Serving(new_vault(tmp_path / "Back"), tmp_path, port)
    with serving.running():
        link = serving.link()
        opening = chromium.page(link)
        page = await opening.__aenter__()
        await page.until(CONNECTED)
        await page.go(serving.url + "/#/review")
        await page.until("document.getElementById('changes')")
    try:
        await page.until("document.getElementById('state').dataset.state === 'lost'")
        assert "Trying again" in await page.text("#state")
        with serving.running():
            assert serving.url + "/" == link.partition("#")[0]
            await page.until(CONNECTED)
            async with serving.assistant() as client:
                waiting = await serving.propose(client, "New.md", "after\n")
                await page.click(".change .accept")
                assert await decided(client, waiting) == ["FILE_SAVED", "after\n"]
    finally:
        await opening.__aexit__(None, None, None)


KEPT_SOCKETS = (
    "window.sockets = []; window.WebSocket = class extends WebSocket "
    "{ constructor(...args) { super(...args); window.sockets.push(this); } };"
)


async def test_an_edit_that_was_begun_survives_a_lost_connection(page: Page, serving: Serving) -> None:
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=KEPT_SOCKETS)
    await page.reload()
    await page.until(CONNECTED)
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "New.md", "proposed\n")
        await page.click(".change footer button:nth-child(3)")
        await page.type("mine, ")
        await page.run("window.sockets[0].close()")
        await page.until("window.sockets.length === 2")
        await page.until(CONNECTED)
        assert await page.run("document.querySelectorAll('.change').length") == 1
        await page.type("all mine, ")
        await page.click(".change .accept")
        assert (await decided(client, waiting))[1].replace("proposed\n", "") == "mine, all mine, "


# looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_the_page_fits_the_window_and_the_preferred_colours(
    page: Page, serving: Serving, scheme: str, width: int, tmp_path: Path
) -> None:
    async with serving.assistant() as client:
        await serving.propose(
            client, "Plan.md", PLAN.replace("Ada", "Grace " * 30 + "https://a.example/" + "x" * 300)
        )
        await page.size(width, 800)
        await page.colours(scheme)
        await page.until("document.querySelector('.change')")
        assert await page.run("document.documentElement.scrollWidth <= innerWidth")
        picture = await page.picture()
        assert picture.startswith(b"\x89PNG")
        assert int.from_bytes(picture[16:20]) == width
        (tmp_path / "page.png").write_bytes(picture)
        # Text and paper differ by the 4.5 to 1 that WCAG 2.2 asks for, wherever there is text.
        poor = await page.run("""(() => {
          const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((n) => n / 255)
            .map((n) => n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const paper = (node) => { const colour = getComputedStyle(node).backgroundColor;
            return colour !== 'rgba(0, 0, 0, 0)' ? colour : paper(node.parentElement); };
          return [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility() &&
            !node.matches('.hidden-text, :disabled') &&
            [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
            .map((node) => {
              const both = [light(getComputedStyle(node).color), light(paper(node))];
              const [a, b] = both.sort((x, y) => y - x);
              return [(a + 0.05) / (b + 0.05), node.className, node.textContent.slice(0, 30)]; })
            .filter(([contrast]) => contrast < 4.5);
        })()""")
        assert poor == []
        dark = await page.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, dark[4:-1].split(","))) < 200) is (scheme == "dark")


async def test_every_control_has_a_name_and_every_id_is_unique(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        await serving.propose(client, "Plan.md", PLAN + "more\n")
        await page.click(".change footer button:nth-child(3)")
        tree = (await page.ask("Accessibility.getFullAXTree"))["nodes"]
        roles = {"button", "textbox", "searchbox", "checkbox", "link", "region", "article"}
        nameless = [
            node
            for node in tree
            if not node.get("ignored")
            and node["role"].get("value") in roles
            and not node.get("name", {}).get("value")
        ]
        assert nameless == []
        assert await page.run(
            "(() => { const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);"
            "return ids.length === new Set(ids).size; })()"
        )
