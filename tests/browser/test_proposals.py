"""A person decides on the page: real clients over stdio, `/mcp` and the IDE socket propose changes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from browser.assistants import over_http, over_stdio, read_result_text
from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.proposals import (
    EDITING,
    begin_edit,
    make_serving,
    read_history,
    switch_on,
    wait_for_proposal,
)
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from support.editor import finish_call
from support.files import write_vault
from support.ports import held_port
from support.waiting import BOUND

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PLAN = "# Plan\n\nBuy seeds.\nWater the garden.\nCall Ada.\n" + "".join(f"Line {n}\n" for n in range(6, 60))

WAITING = "document.querySelectorAll('.review-list li').length"

UNDO = ".notice.good button:not(.bare)"

UNDONE = "[...document.querySelectorAll('.notice')].some((notice) => notice.innerText.includes('was undone'))"


NOTES = {"Plan.md": PLAN, "Ideas.md": "One idea.\n", "Letter.md": "Dear Ada,\n", "日記/一.md": "雨。\n"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("review")
    serving = make_serving(write_vault(folder / "Garden", NOTES), folder / "home")
    with serving.running():
        yield serving


@pytest.fixture
def running(served: Serving) -> Serving:
    """With the notes as they were in the beginning; every test decides on all that it proposes."""
    write_vault(served.vault, NOTES)
    return served


@pytest.fixture
async def page(chromium: Chromium, running: Serving) -> AsyncIterator[Page]:
    async with chromium.page(running.link()) as page:
        await page.until(CONNECTED)
        await switch_on(page)
        yield page
        assert page.complaints() == []


def read_note(serving: Serving, note: str) -> str:
    return (serving.vault / note).read_text("utf-8")


@pytest.mark.parametrize("assistant", [over_stdio, over_http])
async def test_an_edit_of_a_client_waits_until_the_page_accepts_and_can_be_undone(
    page: Page, running: Serving, assistant: Any
) -> None:
    connect: AbstractAsyncContextManager[Client] = assistant(running, "scripted")
    async with connect as client:
        waiting = begin_edit(client, "Plan.md", "Water the garden", "Water the roses")
        await wait_for_proposal(page, "Plan.md")
        assert not waiting.done()
        assert read_note(running, "Plan.md") == PLAN
        assert await page.text(".review-list h2") == "scripted"
        assert (await page.run("document.title")).startswith("(1) ")
        await page.press("a")
        result = await waiting
        assert not result.is_error, read_result_text(result)
        assert read_note(running, "Plan.md") == PLAN.replace("Water the garden", "Water the roses")
        await page.until("document.querySelector('.empty')")
        await page.click(UNDO)
        await page.until(UNDONE)
        assert read_note(running, "Plan.md") == PLAN


async def test_a_rename_is_called_one_and_the_moved_note_is_shown_as_moved(
    chromium: Chromium, tmp_path: Path
) -> None:
    links = {f"N{number}.md": "see [[Search]]\n" for number in range(1, 4)}
    vault = write_vault(tmp_path / "Notes", {"Search.md": "# Search\n", **links})
    serving = make_serving(vault, tmp_path / "home")
    with serving.running():
        async with chromium.page(serving.link()) as page, over_http(serving) as client:
            await page.until(CONNECTED)
            await switch_on(page)
            arguments = {"name": "Search", "to": "Find notes"}
            waiting = asyncio.create_task(client.call_tool("obsidian_move_note", arguments))
            await wait_for_proposal(page, "Rename Search → Find notes, and update links in 3 notes")
            moved = await page.text("[aria-label='Find notes.md']")
            assert "moved from Search.md" in moved and "content stays the same" in moved
            assert "byte" not in moved
            _, shown, _ = run_command(serving, "diffs")
            assert shown.startswith("p1  Rename Search → Find notes, and update links in 3 notes  (")
            await page.press("a")
            assert not (await waiting).is_error
            assert (vault / "N1.md").read_text("utf-8") == "see [[Find notes]]\n"
            refused = begin_edit(client, "N2.md", "see", "look at")
            await wait_for_proposal(page, "N2.md")
            await page.press("r")
            assert (await refused).is_error
            await page.run("location.hash = '#/activity/statistics'")
            tools = "document.querySelector('.statistics-table')?.innerText"
            await page.until(f"{tools}?.includes('edit_note')")
            rows = await page.run(
                "[...document.querySelectorAll('.statistics-table tbody tr')].map((row) => "
                "[...row.cells].slice(0, 3).map((cell) => cell.innerText.trim()))"
            )
            assert all(failed in ("", "0") for _, _, failed in rows), rows
            run_command(serving, "rename", "Find notes", "Found")
            await page.run("location.hash = '#/activity'")
            await page.until(
                "document.querySelector('.timeline').innerText.replaceAll('\\n', ' ').includes("
                "'You renamed Find notes.md to Found.md, and updated links in 3 notes')"
            )


def run_command(serving: Serving, command: str, *arguments: str) -> tuple[int, str, str]:
    words = [sys.executable, "-m", "vaultbridge", command, "-v", str(serving.vault), *arguments]
    done = subprocess.run(words, env=serving.env, capture_output=True, text=True, timeout=BOUND, check=True)
    return done.returncode, done.stdout, done.stderr


async def test_a_rejection_reaches_the_client_and_nothing_is_written(page: Page, running: Serving) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "日記/一.md", "雨。", "晴れ。")
        await wait_for_proposal(page, "日記/一.md")
        await page.press("r")
        result = await waiting
        assert result.is_error
        assert "reject" in read_result_text(result).lower()
        assert read_note(running, "日記/一.md") == "雨。\n"


async def test_what_a_person_edits_first_is_what_is_written(page: Page, running: Serving) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Ideas.md", "One idea.", "Two ideas.")
        await wait_for_proposal(page, "Ideas.md")
        await page.press("e")
        await page.until(EDITING)
        await page.type("Mine: ")
        # Letters are text now, not keys of the view.
        await page.type("a")
        await page.key("Escape")
        await page.until("document.querySelector('.detail-file .tag').innerText === 'edited by you'")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Ideas.md") == "Mine: aTwo ideas.\n"


async def test_an_edit_that_was_begun_is_brought_onto_a_note_that_another_program_changes(
    page: Page, running: Serving
) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Plan.md", "Line 50\n", "Line fifty\n")
        await wait_for_proposal(page, "Plan.md")
        before = read_note(running, "Plan.md")
        await page.press("e")
        await page.until(EDITING)
        await page.type("Mine: ")
        await page.until("document.querySelector('.detail-file .tag').innerText === 'edited by you'")
        note = running.vault / "Plan.md"
        note.write_text(before + "Written by another program.\n", "utf-8")
        await page.until("document.querySelector('.review-detail .banner.warn')")
        await page.until("!document.querySelector('.detail-actions .accept').disabled")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        # What is typed begins where the change is.
        mine = before.replace("Line 50\n", "Mine: Line fifty\n")
        expected = mine + "Written by another program.\n"
        assert read_note(running, "Plan.md") == expected


async def test_an_edit_of_lines_that_another_program_wrote_says_what_it_would_replace(
    page: Page, running: Serving
) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Ideas.md", read_note(running, "Ideas.md"), "Two ideas.\n")
        await wait_for_proposal(page, "Ideas.md")
        await page.press("e")
        await page.until(EDITING)
        await page.type("Mine: ")
        (running.vault / "Ideas.md").write_text("Theirs.\n", "utf-8")
        await page.until("document.querySelector('.review-detail .banner.bad')")
        await page.until("!document.querySelector('.detail-actions .accept').disabled")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Ideas.md") == "Mine: Two ideas.\n"


async def test_one_hunk_of_several_is_taken(page: Page, running: Serving) -> None:
    async with over_http(running) as client:
        text = PLAN.replace("Buy seeds", "Buy bulbs").replace("Line 50\n", "Line fifty\n")
        arguments = {"path": "Plan.md", "op": "write", "content": text}
        waiting = asyncio.create_task(client.call_tool("obsidian_edit_note", arguments))
        await wait_for_proposal(page, "Plan.md")
        await page.until("document.querySelectorAll('.hunks > div').length === 2")
        await page.click(".hunks > div:nth-of-type(2) button")
        await page.until("document.querySelector('.detail-actions .accept').innerText.includes('1 of 2')")
        await keep_screenshot(page, "review-hunks")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Plan.md") == PLAN.replace("Line 50\n", "Line fifty\n")


async def test_a_text_written_after_leaving_out_a_hunk_is_what_is_written(
    page: Page, running: Serving
) -> None:
    """Also when it is the text that was proposed."""
    async with over_http(running) as client:
        text = PLAN.replace("Buy seeds", "Buy bulbs") + "The end."
        arguments = {"path": "Plan.md", "op": "write", "content": text}
        waiting = asyncio.create_task(client.call_tool("obsidian_edit_note", arguments))
        await wait_for_proposal(page, "Plan.md")
        await page.click(".hunks > div:nth-of-type(1) button")
        await page.until("document.querySelector('.detail-actions .accept').innerText.includes('1 of 2')")
        await page.click(".detail-tools button")  # shows the whole text, also its unchanged end
        await page.press("e")
        await page.until(EDITING)
        await page.key("End", control=True)
        await page.type("The end.")
        await page.key("Escape")
        await page.until("!document.querySelector('.detail-actions .accept').innerText.includes('1 of 2')")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Plan.md") == text


async def test_keys_go_through_the_proposals_and_the_help_names_them(page: Page, running: Serving) -> None:
    async with over_http(running) as client:
        first = begin_edit(client, "Ideas.md", "One", "An")
        await wait_for_proposal(page, "Ideas.md")
        second = begin_edit(client, "Letter.md", "Dear", "Dearest")
        await page.until(f"{WAITING} === 2")
        await page.press("j")
        await wait_for_proposal(page, "Letter.md")
        await page.press("k")
        await wait_for_proposal(page, "Ideas.md")
        await page.press("?")
        await page.until("document.querySelector('dialog.keys[open]')")
        assert "Reject" in await page.text("dialog.keys")
        await page.key("Escape")
        await page.until("!document.querySelector('dialog.keys')")
        await page.run("history.back()")
        await wait_for_proposal(page, "Letter.md")
        await page.press("a")
        assert not (await second).is_error
        await wait_for_proposal(page, "Ideas.md")
        await page.press("r")
        assert (await first).is_error
    assert read_note(running, "Letter.md") == "Dearest Ada,\n"
    assert read_note(running, "Ideas.md") == "One idea.\n"


async def test_all_of_an_assistant_are_accepted_after_a_question_and_undone_together(
    page: Page, running: Serving
) -> None:
    async with over_http(running) as client:
        calls = [begin_edit(client, "Ideas.md", "One", "An"), begin_edit(client, "Letter.md", "Dear", "Hi")]
        await page.until(f"{WAITING} === 2")
        await page.click(".review-list header button")
        assert "2 proposals" in await page.text(".review-confirm")
        await page.click(".review-confirm .accept")
        for call in calls:
            assert not (await call).is_error
        await page.until("document.querySelector('.notice.good')?.innerText.includes('2 proposals')")
        assert (read_note(running, "Ideas.md"), read_note(running, "Letter.md")) == (
            "An idea.\n",
            "Hi Ada,\n",
        )
        await page.click(UNDO)
        await page.until(UNDONE)
        await page.run("location.hash = '#/review?show=decided'")
        for place in (1, 2):
            tag = f"document.querySelector('.review-decided li:nth-child({place}) .tag')"
            await page.until(f"{tag}?.innerText === 'Accepted, undone'")
    assert (read_note(running, "Ideas.md"), read_note(running, "Letter.md")) == ("One idea.\n", "Dear Ada,\n")


async def test_a_note_that_changes_under_review_is_reported_and_kept(page: Page, running: Serving) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Plan.md", "Water the garden", "Water the roses")
        await wait_for_proposal(page, "Plan.md")
        changed = PLAN.replace("Line 50\n", "Line 50, by hand\n")
        (running.vault / "Plan.md").write_text(changed, "utf-8")
        await page.until("document.querySelector('.review-detail .banner')")
        await wait_for_proposal(page, "Plan.md")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Plan.md") == changed.replace("Water the garden", "Water the roses")


async def test_a_change_that_does_not_fit_any_more_must_be_edited_or_rejected(
    page: Page, running: Serving
) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Letter.md", "Dear Ada,", "Hello Ada,")
        await wait_for_proposal(page, "Letter.md")
        (running.vault / "Letter.md").write_text("Goodbye,\n", "utf-8")
        await page.until("document.querySelector('.review-detail .banner.bad')")
        await page.until("document.querySelector('.detail-actions .accept').disabled")
        await keep_screenshot(page, "review-conflict")
        assert await find_barriers(page) == []
        await page.press("a")
        await page.press("r")
        assert (await waiting).is_error
    assert read_note(running, "Letter.md") == "Goodbye,\n"


async def test_invisible_characters_are_named(page: Page, running: Serving) -> None:
    """Directions and zero-width characters can make a line read as what it is not."""
    async with over_http(running) as client:
        waiting = begin_edit(client, "Ideas.md", "One idea.", "One \u202eidea\u200b.")
        await wait_for_proposal(page, "Ideas.md")
        names = await page.run(
            "[...document.querySelector('.diff-view').shadowRoot.querySelectorAll('.cm-specialChar')]"
            ".map((mark) => mark.textContent)"
        )
        assert names == ["U+202E", "U+200B"]
        await page.press("r")
        await waiting


async def test_nothing_can_be_decided_while_the_server_is_away(chromium: Chromium, tmp_path: Path) -> None:
    with held_port() as port:
        serving = make_serving(write_vault(tmp_path / "Garden", NOTES), tmp_path / "home", port)
        async with chromium.page() as page:
            with serving.running():
                await page.go(serving.link())
                await page.until(CONNECTED)
                await switch_on(page)
                async with over_stdio(serving) as client:
                    waiting = begin_edit(client, "Ideas.md", "One", "An")
                    await wait_for_proposal(page, "Ideas.md")
                    waiting.cancel()
            await page.until("document.querySelector('.detail-actions .accept').disabled")
            assert "cannot be reached" in await page.text(".review > .banner")
            await page.press("a")
            with serving.running():
                await page.until(CONNECTED)
                await wait_for_proposal(page, "Ideas.md")
                await page.press("a")
                await page.until("document.querySelector('.empty')")
                assert read_note(serving, "Ideas.md") == "An idea.\n"


RECORDED = (
    "window.notified = [];"
    " window.Notification = class { constructor(title, { body }) { notified.push(title, body); }"
    " static permission = 'default';"
    " static async requestPermission() { return Notification.permission = 'granted'; } };"
)
"""The desktop's side of notifications: a browser without a window has none."""


async def test_the_desktop_notifies_only_after_a_press_and_only_while_the_tab_is_away(
    page: Page, running: Serving
) -> None:
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=RECORDED)
    await page.reload()
    await page.until(CONNECTED)
    assert await page.run("Notification.permission") == "default"
    await page.click(".review-notify")
    await page.until("document.querySelector('.review-notify').getAttribute('aria-pressed') === 'true'")
    async with over_http(running) as client:
        await page.run("location.hash = '#/activity'")
        await page.until("document.querySelector('.assistant h3')?.innerText === 'Cursor'")
        await page.run("location.hash = '#/review'")
        await page.run("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
        first = begin_edit(client, "Ideas.md", "One", "An")
        await page.until("notified.length")
        assert await page.run("notified") == ["Cursor proposes a change", "Ideas.md"]
        await page.click(".review-notify")
        second = begin_edit(client, "Letter.md", "Dear", "Dearest")
        await page.until(f"{WAITING} === 2")
        assert await page.run("notified.length") == 2
        await wait_for_proposal(page, "Ideas.md")
        await page.press("r")
        assert (await first).is_error
        await wait_for_proposal(page, "Letter.md")
        await page.press("r")
        assert (await second).is_error


async def test_three_assistants_propose_and_disk_journal_and_undo_agree(page: Page, running: Serving) -> None:
    """Claude Desktop's way, Cursor's way and Claude Code's way: one is accepted, one edited, one rejected."""
    async with over_stdio(running) as desktop, over_http(running) as cursor, running.assistant() as code:
        accepted = begin_edit(desktop, "Plan.md", "Buy seeds", "Buy bulbs")
        await wait_for_proposal(page, "Plan.md")
        edited = begin_edit(cursor, "Letter.md", "Dear Ada,", "Dear Ada, dear Charles,")
        await page.until(f"{WAITING} === 2")
        rejected = await running.propose(code, "Ideas.md", "No idea.\n")
        await page.until(f"{WAITING} === 3")
        names = "[...document.querySelectorAll('.review-list h2')].map((title) => title.innerText)"
        # Who is behind `claude-ai` the page learns a moment later.
        await page.until(f"{names}.join() === 'Claude Desktop,Cursor,Claude Code'")
        await keep_screenshot(page, "review-three")
        await page.run("location.hash = '#/'")
        banner = "document.querySelector('.waiting')?.innerText.replace(/\\s+/g, ' ')"
        await page.until(
            f"{banner}?.includes('3 changes are waiting for your review, proposed by Claude Desktop, Cursor')"
        )
        assert await find_barriers(page) == []
        await page.click(".waiting a")
        await wait_for_proposal(page, "Plan.md")

        await page.press("a")
        assert not (await accepted).is_error
        await wait_for_proposal(page, "Letter.md")
        await page.press("e")
        await page.until("document.activeElement?.shadowRoot?.activeElement?.isContentEditable")
        await page.type("My ")
        await page.key("Escape")
        await page.click(".detail-actions .accept")
        assert not (await edited).is_error
        await wait_for_proposal(page, "Ideas.md")
        await page.press("r")
        assert (await finish_call(code, rejected))[0] == "DIFF_REJECTED"
        await page.until("document.querySelector('.empty')")

        assert read_note(running, "Plan.md") == PLAN.replace("Buy seeds", "Buy bulbs")
        assert read_note(running, "Letter.md") == "My Dear Ada, dear Charles,\n"
        assert read_note(running, "Ideas.md") == "One idea.\n"
        assert [change["actor"] for change in read_history(running)[:2]] == ["cursor-vscode", "claude-ai"]

        await page.run("location.hash = '#/activity'")
        for name in ("Claude Desktop", "Cursor", "Claude Code"):
            titles = "[...document.querySelectorAll('.assistant h3')].map((title) => title.innerText)"
            await page.until(f"{titles}.includes({json.dumps(name)})")
        await keep_screenshot(page, "activity-three")
        await page.run("location.hash = '#/review?show=decided'")
        for place in (2, 3):  # The first is what Claude Code was refused.
            await page.click(f".review-decided li:nth-child({place}) .decided-undo")
            await page.until(
                f"!document.querySelector('.review-decided li:nth-child({place}) .decided-undo')"
            )
        await keep_screenshot(page, "review-decided")
        assert await find_barriers(page) == []
        assert read_note(running, "Plan.md") == PLAN
        assert read_note(running, "Letter.md") == "Dear Ada,\n"


FREE = """(() => {
  const button = document.querySelector('.detail-actions .accept');
  const { x, y, width, height } = button.getBoundingClientRect();
  return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
})()"""
"""Whether nothing covers the button where it is now."""


async def test_on_a_phone_a_notice_leaves_the_buttons_free(page: Page, running: Serving) -> None:
    """The confirmation of one decision stays a minute; the next can be made meanwhile."""
    async with over_http(running) as client:
        await page.size(390, 844)
        first = begin_edit(client, "Ideas.md", "One", "An")
        await page.click(".review-list li a")
        await wait_for_proposal(page, "Ideas.md")
        text = PLAN.replace("Line", "Row")
        arguments = {"path": "Plan.md", "op": "write", "content": text}
        second = asyncio.create_task(client.call_tool("obsidian_edit_note", arguments))
        await page.until("document.querySelector('.views .count')?.innerText === '2'")
        await page.press("a")
        assert not (await first).is_error
        await wait_for_proposal(page, "Plan.md")
        await page.until("document.querySelector('.notice.good button:not(.bare)')")
        assert await page.run(FREE)
        await page.click(".detail-actions .accept")
        assert not (await second).is_error
    assert read_note(running, "Plan.md") == text


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_texts_are_beside_each_other_where_there_is_room(
    page: Page, running: Serving, width: int
) -> None:
    async with over_http(running) as client:
        waiting = begin_edit(client, "Plan.md", "Water the garden", "Water the roses")
        await page.size(width, 844)
        if width < 760:
            await page.click(".review-list li a")
        await wait_for_proposal(page, "Plan.md")
        layout = "document.querySelector('.diff-view').dataset.layout"
        assert await page.run(layout) == ("split" if width > 900 else "unified")
        await page.press("r")
        await waiting
        await page.until("document.querySelector('.empty')")


async def write_as_claude_code(page: Page, running: Serving, note: str, text: str) -> None:
    """A diff of Claude Code is accepted on the page, and the client writes it, as the real one does."""
    async with running.assistant() as code:
        call = await running.propose(code, note, text)
        await wait_for_proposal(page, note)
        await page.press("a")
        saved, accepted = await finish_call(code, call)
        assert saved == "FILE_SAVED"
        (running.vault / note).write_text(accepted, "utf-8")
        await page.until(
            "[...document.querySelectorAll('.notice')]"
            ".some((notice) => /has written it/.test(notice.innerText))"
        )
    assert read_note(running, note) == text


@pytest.mark.parametrize("place", ["notice", "decided", "activity"])
async def test_what_claude_code_wrote_after_an_accepted_diff_is_undone_on_the_page(
    page: Page, running: Serving, place: str
) -> None:
    await write_as_claude_code(page, running, "Ideas.md", f"Two ideas, then {place}.\n")
    (newest, *_) = read_history(running)
    assert (newest["actor"], newest["label"]) == ("claude-code", "accepted diff")
    first = ".review-decided li:first-child"
    if place == "notice":
        await page.click(UNDO)
    elif place == "decided":
        await page.run("location.hash = '#/review?show=decided'")
        await page.until(f"document.querySelector('{first}')?.innerText.includes('Ideas.md')")
        await page.click(f"{first} .decided-show")
        shown = f"document.querySelector('{first} .diff-view')?.shadowRoot?.textContent"
        await page.until(f"{shown}?.includes('then {place}')")
        await page.click(f"{first} .decided-undo")
    else:
        await page.run("location.hash = '#/activity?kind=changes&note=Ideas.md'")
        await page.click(".entry[data-kind=change] .entry-actions button:nth-of-type(2)")
    await page.until(UNDONE)
    assert read_note(running, "Ideas.md") == NOTES["Ideas.md"]
    (undo, undone, *_) = read_history(running)
    assert (undone["id"], undone["undone_by"]) == (newest["id"], undo["id"])
    await page.run("location.hash = '#/review?show=decided'")
    await page.until(f"document.querySelector('{first}')?.innerText.includes('undone')")
    assert not await page.run(f"document.querySelector('{first} .decided-undo')")
    # What can no longer be undone is not offered in a notice either.
    offered = "[...document.querySelectorAll('.notice button')].map((button) => button.innerText)"
    assert "Undo" not in await page.run(offered)
    await page.run("location.hash = '#/activity?kind=changes&note=Ideas.md'")
    await page.until(
        "document.querySelector('.entry[data-kind=change]')?.innerText.includes('Undone by change')"
    )


async def test_an_edit_that_was_begun_is_there_after_a_reload(page: Page, running: Serving) -> None:
    async with over_http(running, "scripted") as client:
        waiting = begin_edit(client, "Letter.md", "Dear Ada,", "Dear Grace,")
        await wait_for_proposal(page, "Letter.md")
        await page.press("e")
        await page.until(EDITING)
        await page.type("My ")
        await page.until("document.querySelector('.detail-file .tag')?.innerText === 'edited by you'")
        await page.reload()
        await wait_for_proposal(page, "Letter.md")
        await page.until("document.querySelector('.detail-file .tag')?.innerText === 'edited by you'")
        await page.click(".detail-actions .accept")
        assert not (await waiting).is_error
        assert read_note(running, "Letter.md") == "My Dear Grace,\n"


async def test_the_text_of_an_edit_is_handed_back_when_the_proposal_goes(
    page: Page, running: Serving
) -> None:
    async with running.assistant() as code:
        await running.propose(code, "Letter.md", "Dear Grace,\n")
        await wait_for_proposal(page, "Letter.md")
        await page.press("e")
        await page.until(EDITING)
        await page.type("My ")
        await page.until("document.querySelector('.detail-file .tag')?.innerText === 'edited by you'")
        await code.tool("close_tab", tab_name="Letter.md")
        await page.until("document.querySelector('.notice.bad')?.innerText.includes('text was not used')")
        # What reaches the clipboard; a tab without a window may not read it.
        await page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        await page.click(".notice.bad button:not(.bare)")
        await page.until("document.querySelector('.notice.good')?.innerText.includes('copied')")
        assert await page.run("window.copied") == "My Dear Grace,\n"
