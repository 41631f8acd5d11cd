"""Activity in a real browser: what assistants did, the diff and Undo of a change, protocol, statistics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from browser.assistants import over_http, over_stdio, read_result_text, replace_text
from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from support.files import write_vault
from support.waiting import BOUND

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

GARDEN = "# Plan\n\nWater the garden.\n"

NOTES = {**{f"Plan {n}.md": GARDEN for n in range(1, 5)}, "Žofie.md": "A friend.\n", "Other.md": "Else.\n"}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vaults") / "Garden", NOTES)
    serving = Serving(vault, tmp_path_factory.mktemp("home"))
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        await page.run("location.hash = '#/activity'")
        yield page
        assert page.complaints() == []


def has(selector: str, text: str) -> str:
    """An expression: some element has this text."""
    chosen = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return f"{chosen}.some((element) => element.innerText.replace(/\\s+/g, ' ').includes({json.dumps(text)}))"


async def test_what_an_assistant_does_appears_in_words_and_a_change_is_undone(
    page: Page, serving: Serving
) -> None:
    async with over_http(serving, "writer") as client:
        await client.call_tool("obsidian_read_note", {"path": "Žofie.md"})
        await page.until(has(".entry", "writer read Žofie.md"))
        await replace_text(client, "Plan 1.md", "Water the garden", "Water the roses")
        await page.until(has(".assistant", "Plan 1.md"))
        await client.call_tool("obsidian_read_note", {"path": "Not there.md"})
        await page.until(has(".entry", "read_note failed File not found."))
        await page.run("location.hash = '#/activity?note=Plan 1.md'")
        await page.until(f"document.querySelectorAll('.entry').length === 1 && {has('.entry', 'Plan 1.md')}")
        await page.click(".entry[data-kind=change] button[aria-expanded]")
        diff = "document.querySelector('.entry-change .diff-view')?.shadowRoot"
        await page.until(f"{diff}?.textContent.includes('roses')")
        await keep_screenshot(page, "activity-change")
        await page.click(".entry[data-kind=change] .entry-actions button:nth-of-type(2)")
        await page.until("document.querySelector('.notice.good')")
        assert (serving.vault / "Plan 1.md").read_text("utf-8") == GARDEN
        await page.until(has(".entry", "Undone by change"))
        await page.click(".notice.good button")
        await page.until(has(".notice", "The change was redone."))
        assert "roses" in (serving.vault / "Plan 1.md").read_text("utf-8")


async def test_entries_that_arrive_while_the_list_loads_are_not_lost(page: Page, serving: Serving) -> None:
    await page.until("document.querySelector('.timeline') && !document.querySelector('.timeline .loading')")
    async with over_http(serving, "early") as client:
        await client.call_tool("obsidian_read_note", {"path": "Žofie.md"})
        # It came as news, because the list was there before; so it will not come as news again.
        await page.until(has(".entry", "early read Žofie.md"))
        await page.run("location.hash = '#/review'")
        await page.until("!document.querySelector('.entry')")
        async with page.holding("*/activity?*", answered=True) as held:
            await page.run("location.hash = '#/activity'")
            await asyncio.wait_for(held, BOUND)
            await client.call_tool("obsidian_read_note", {"path": "Other.md"})
            await page.until(has(".entry", "early read Other.md"))
            assert not await page.run(has(".entry", "early read Žofie.md"))
        await page.until(has(".entry", "early read Žofie.md"))
        assert await page.run(has(".entry", "early read Other.md"))


async def test_an_undo_that_would_overwrite_asks_first(page: Page, serving: Serving) -> None:
    async with over_http(serving, "hasty") as client:
        await replace_text(client, "Plan 2.md", "Water the garden", "Water the roses")
    (serving.vault / "Plan 2.md").write_text("Mine.\n", "utf-8")
    await page.run("location.hash = '#/activity?note=Plan 2.md'")
    await page.until(f"document.querySelectorAll('.entry').length === 1 && {has('.entry', 'Plan 2.md')}")
    await page.click(".entry[data-kind=change] .entry-actions button:nth-of-type(2)")
    await page.until("document.querySelector('.entry .banner.warn')")
    assert (serving.vault / "Plan 2.md").read_text("utf-8") == "Mine.\n"
    await page.click(".entry .banner.warn .reject")
    await page.until("document.querySelector('.notice.good')")
    assert (serving.vault / "Plan 2.md").read_text("utf-8") == GARDEN
    page.forget()  # The browser logs the 409.


async def test_filters_are_in_the_address_and_hold_for_what_comes(page: Page, serving: Serving) -> None:
    async with over_http(serving, "filtered") as client:
        await client.call_tool("obsidian_read_note", {"path": "Plan 3.md"})
        await replace_text(client, "Plan 3.md", "garden", "roses")
        await page.until(has(".entry", "filtered read Plan 3.md"))
        await page.click(".filters input")
        await page.type("Plan 3.md")
        await page.until("location.hash.includes('note=Plan+3.md')")
        await page.until("document.querySelectorAll('.entry').length === 2")
        await page.run("location.hash = '#/activity?kind=changes&note=Plan 3.md'")
        await page.until("document.querySelectorAll('.entry').length === 1")
        await client.call_tool("obsidian_read_note", {"path": "Plan 3.md"})
        await client.call_tool("obsidian_read_note", {"path": "Other.md"})
        await replace_text(client, "Plan 3.md", "roses", "tulips")
        await page.until("document.querySelectorAll('.entry[data-kind=change]').length === 2")
        assert await page.run("document.querySelectorAll('.entry').length") == 2
        await page.reload()
        await page.until("document.querySelectorAll('.entry').length === 2")
        await page.run("location.hash = '#/activity?note=Nothing like it'")
        await page.click(".timeline .empty button")
        page.forget()  # The browser logs the 404.
        await page.until(has(".entry", "filtered read Other.md"))


async def test_one_press_pauses_one_assistant_or_all_and_cuts_them_off(page: Page, serving: Serving) -> None:
    async with over_stdio(serving, "first") as first, over_http(serving, "second") as second:
        for client in (first, second):
            await client.call_tool("obsidian_read_note", {"path": "Other.md"})
        await page.until(f"{has('.assistant', 'first')} && {has('.assistant', 'second')}")
        await keep_screenshot(page, "activity-assistants")
        assert await find_barriers(page) == []
        await page.click(".assistants > header button")
        await page.until("!document.querySelector('.assistant[data-state=connected]')")
        for client in (first, second):
            refused = await client.call_tool("obsidian_read_note", {"path": "Other.md"})
            assert refused.is_error and "paused" in read_result_text(refused)
        await page.click(".assistants > header button")
        await page.until("!document.querySelector('.assistant[data-state=paused]')")
        cards = "[...document.querySelectorAll('.assistant')]"
        title = "card.querySelector('h3').innerText"  # Its text may say "1 second ago".
        card = await page.run(f"{cards}.find((card) => {title} === 'second').dataset.id")
        await page.click(f".assistant[data-id={card}] .assistant-actions button")
        await page.until("document.querySelectorAll('.assistant[data-state=paused]').length === 1")
        assert (await second.call_tool("obsidian_read_note", {"path": "Other.md"})).is_error
        assert not (await first.call_tool("obsidian_read_note", {"path": "Other.md"})).is_error
        await page.click(".assistant[data-state=paused] .reject")
        await page.until(
            "document.querySelector('.assistant[data-state=paused] .tag')?.innerText === 'disconnected'"
        )
        await page.until(has(".notice.good", "second is disconnected"))
        await page.click(".assistant[data-state=paused] .assistant-actions button")
        await page.until("!document.querySelector('.assistant[data-state=paused]')")


async def test_a_late_answer_to_a_press_does_not_restore_the_old_state(page: Page, serving: Serving) -> None:
    async with over_http(serving, "late") as client:
        await client.call_tool("obsidian_read_note", {"path": "Other.md"})
        await page.until(has(".assistant[data-state=connected]", "late"))
        cards = "[...document.querySelectorAll('.assistant')]"
        card = await page.run(
            f"{cards}.find((card) => card.querySelector('h3').innerText === 'late').dataset.id"
        )
        state = f"document.querySelector('.assistant[data-id={card}]')?.dataset.state"
        async with page.holding("*/assistants/*", answered=True) as held:
            await page.click(f".assistant[data-id={card}] .assistant-actions button")
            await asyncio.wait_for(held, BOUND)
            # The server has paused it, and says so to every page; then somebody else resumes it.
            await page.until(f"{state} === 'paused'")
            serving.run("resume", "late", "--vault", str(serving.vault), "--json")
            await page.until(f"{state} === 'connected'")
        await page.until(has(".notice.good", "late is paused"))
        assert await page.run(state) == "connected"


async def test_pausing_all_is_seen_while_nobody_is_connected(page: Page, serving: Serving) -> None:
    await page.until("document.querySelector('.assistants')")
    serving.run("pause", "--vault", str(serving.vault), "--json")
    await page.until(has(".assistants .banner.warn", "All assistants are paused"))
    serving.run("resume", "--vault", str(serving.vault), "--json")
    await page.until("!document.querySelector('.assistants .banner.warn')")


async def test_the_protocol_shows_messages_as_they_pass_and_json_on_demand(
    page: Page, serving: Serving
) -> None:
    await page.run("location.hash = '#/activity/protocol'")
    await page.click(".protocol .check input")
    await page.until("document.querySelector('.protocol .check input:checked:not([aria-busy=true])')")
    await page.click(".protocol-actions button:nth-of-type(2)")
    async with over_http(serving, "traced") as client:
        await client.call_tool("obsidian_read_note", {"path": "Žofie.md"})
        await page.until(has(".messages tr[data-direction=in]", "read_note"))
        await page.until(has(".messages tr[data-direction=out]", "read_note"))
        await page.click(".messages tr[data-direction=in][data-type=request] button")
        await page.until("document.querySelector('.message-json')")
        await page.click(".filters input")
        await page.type("read_note")
        await page.until(f"!({has('.messages tbody tr', 'initialize')})")
        await page.click(".messages tr[data-direction=out] button")
        await page.until("document.querySelector('.message-json pre')?.innerText.includes('A friend.')")
        await keep_screenshot(page, "activity-protocol")
        assert await find_barriers(page) == []
        await page.click(".protocol-actions button:nth-of-type(2)")
        await page.until("!document.querySelector('.messages')")
        await page.click(".protocol-actions button:nth-of-type(1)")
        await client.call_tool("obsidian_read_note", {"path": "Other.md"})
        assert not await page.run("!!document.querySelector('.messages')")
        await page.click(".protocol-actions button:nth-of-type(1)")
        await page.until(has(".messages", "read_note"))


async def test_messages_that_were_cleared_while_they_were_loading_do_not_appear(
    page: Page, serving: Serving
) -> None:
    async with over_http(serving, "loaded") as client:
        await client.call_tool("obsidian_read_note", {"path": "Žofie.md"})
        # A call is recorded a moment after its answer, and would be sent as new to a page that watches.
        await page.until(has(".entry", "loaded read Žofie.md"))
        async with page.holding("*/trace?*") as held:
            await page.run("location.hash = '#/activity/protocol'")
            await asyncio.wait_for(held, BOUND)
            await page.click(".protocol-actions button:nth-of-type(2)")
        await page.until("!document.querySelector('.protocol .loading')")
        await client.call_tool("obsidian_tags", {})
        await page.until(has(".messages tr", "tags"))
        assert not await page.run(has(".messages tr", "read_note"))


async def test_the_numbers_count_calls_and_draw_how_long_they_took(page: Page, serving: Serving) -> None:
    async with over_http(serving, "counted") as client:
        for text in ("one", "two", "three"):
            await client.call_tool("obsidian_links", {"name": "Žofie.md"})
            await client.call_tool("obsidian_links", {"name": f"Nothing like {text}.md"})
        await page.run("location.hash = '#/activity/statistics'")
        await page.until(has(".statistics-table tr", "links 6 3"))
        assert await page.run("document.querySelectorAll('.plot .hit').length") == 60
        await keep_screenshot(page, "activity-numbers")
        assert await find_barriers(page) == []


async def test_before_anything_has_happened_the_page_says_what_would_appear(
    chromium: Chromium, tmp_path: Path
) -> None:
    serving = Serving(write_vault(tmp_path / "New", NOTES), tmp_path / "home")
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.run("location.hash = '#/activity'")
            assert "No activity yet" in await page.text(".timeline .empty")
            assert "No assistant is connected" in await page.text(".assistants-none")
            for part, words in (("protocol", "No messages yet"), ("statistics", "No calls yet")):
                await page.run(f"location.hash = '#/activity/{part}'")
                assert words in await page.text(".empty")


async def test_what_was_lost_of_the_journal_is_said_above_the_list(
    chromium: Chromium, tmp_path: Path
) -> None:
    serving = Serving(write_vault(tmp_path / "Lost", NOTES), tmp_path / "home")
    with serving.running():
        async with over_http(serving, "writer") as client:
            await replace_text(client, "Plan 1.md", "Water the garden", "Water the roses")
        (journal,) = (tmp_path / "home").rglob("journal.sqlite")
        journal.unlink()
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.run("location.hash = '#/activity'")
            await page.until(has(".timeline .banner.warn", "The journal was gone: changes up to 1"))
            assert "vaultbridge doctor --fix" in await page.text(".timeline .banner.warn code")
            await keep_screenshot(page, "activity-lost")
            assert await find_barriers(page) == []
