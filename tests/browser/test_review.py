"""Reviewing changes on the page, in a real browser, with an assistant on the real IDE socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving
from support.editor import finish_call
from support.files import write_vault
from support.ports import held_port

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PLAN = "# Plan\n\nBuy seeds.\nWater the garden.\nCall Ada.\n" + "".join(f"Line {n}\n" for n in range(6, 40))


def make_vault(folder: Path) -> Path:
    return write_vault(folder, {"Plan.md": PLAN})


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("home")
    serving = Serving(make_vault(tmp_path_factory.mktemp("vaults") / "Garden"), home)
    serving.index()
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        await page.go(serving.url + "/#/review")
        await page.until("document.querySelector('.review')")
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
    assert len(page.list_requests()) > 5
    origins = (serving.url, serving.url.replace("http", "ws", 1))
    assert all(url.startswith(origins) and serving.token not in url for url in page.list_requests())


async def test_without_a_token_it_says_how_to_get_the_link(chromium: Chromium, serving: Serving) -> None:
    async with chromium.page(serving.url + "/") as page:
        assert "vaultbridge page" in await page.text(".empty:has([role=alert])")
        assert not any(url.startswith("ws") for url in page.list_requests())
        # The link pasted into the same tab is enough.
        await page.go(serving.link())
        await page.until(CONNECTED)


async def test_a_wrong_token_is_reported_and_not_tried_again(chromium: Chromium, serving: Serving) -> None:
    async with chromium.page(serving.url + "/#token=wrong") as page:
        # A view may show that its own request was refused until the connection is.
        await page.until("document.getElementById('state').dataset.state === 'refused'")
        alerts = "[...document.querySelectorAll('[role=alert]')].map((alert) => alert.innerText).join()"
        await page.until(f"{alerts}.includes('token is missing or wrong')")
        assert sum(url.startswith("ws") for url in page.list_requests()) == 1


# the diffs of Claude Code, which writes what is accepted itself

SHOWN = "document.querySelector('.review-detail .diff-view')?.shadowRoot?.querySelector('.cm-content')"

ACCEPT = ".detail-actions .accept"


async def test_a_diff_is_shown_with_its_words_and_accepted_as_proposed(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        proposed = PLAN.replace("Water the garden", "Water the roses")
        waiting = await serving.propose(client, "Plan.md", proposed)
        await page.until(SHOWN)
        marked = "document.querySelector('.diff-view').shadowRoot.querySelectorAll('.cm-changedText')"
        assert await page.run(f"[...{marked}].map((word) => word.textContent)") == ["garden", "roses"]
        assert (await page.run("document.title")).startswith("(1) ")
        await page.click(ACCEPT)
        assert await finish_call(client, waiting) == ["FILE_SAVED", proposed]
        await page.until("document.querySelector('.empty')")
        assert not (await page.run("document.title")).startswith("(")
    # The client writes, not the page.
    assert (serving.vault / "Plan.md").read_text("utf-8") == PLAN


async def test_an_edited_diff_keeps_the_line_ends_of_untouched_lines(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Windows.md", "one\r\ntwo\r\nthree\n")
        await page.until(f"{SHOWN} && !document.querySelector('{ACCEPT}').disabled")
        await page.press("e")
        await page.until("document.activeElement?.shadowRoot?.activeElement?.isContentEditable")
        await page.type("zero and ")
        await page.click(ACCEPT)
        assert await finish_call(client, waiting) == ["FILE_SAVED", "zero and one\r\ntwo\r\nthree\n"]


async def test_an_edit_can_be_discarded(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "New.md", "proposed\n")
        await page.until(f"{SHOWN} && !document.querySelector('{ACCEPT}').disabled")
        await page.press("e")
        await page.until("document.activeElement?.shadowRoot?.activeElement?.isContentEditable")
        await page.type("something else ")
        await page.until("document.querySelector('.detail-file .tag').innerText === 'edited by you'")
        await page.click(".detail-actions button:last-of-type")
        await page.until("document.querySelector('.detail-file .tag').innerText === 'a new file'")
        await page.click(ACCEPT)
        assert await finish_call(client, waiting) == ["FILE_SAVED", "proposed\n"]


async def test_every_part_of_a_huge_change_can_be_reached(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "Long.md", "".join(f"row {n}\n" for n in range(4000)))
        await page.until(SHOWN)
        lines = "[...document.querySelector('.diff-view').shadowRoot.querySelectorAll('.cm-line')]"
        assert await page.run(f"{lines}.length") < 1000
        scrolled = "document.querySelector('.diff-view').scrollTo(0, 1e9)"
        await page.until(f"({scrolled}, {lines}.some((line) => line.textContent === 'row 3999'))")
        await page.press("r")
        assert (await finish_call(client, waiting))[0] == "DIFF_REJECTED"


async def test_a_change_decided_elsewhere_disappears(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        await serving.propose(client, "New.md", "text\n")
        await page.until(SHOWN)
        await client.tool("close_tab", tab_name="New.md")
        await page.until("document.querySelector('.empty')")


# the connection


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


async def test_the_page_reconnects_when_the_server_is_back(
    chromium: Chromium, tmp_path: Path, port: int
) -> None:
    serving = Serving(make_vault(tmp_path / "Back"), tmp_path, port)
    async with chromium.page() as page:
        with serving.running():
            await page.go(serving.link())
            await page.until(CONNECTED)
            await page.run("location.hash = '#/review'")
            # A view that could not be loaded makes the page load anew; the assistant does not wait for that.
            await page.until("document.querySelector('.review .empty')")
        await page.until("document.getElementById('state').dataset.state === 'lost'")
        assert "Trying again" in await page.text("#state")
        with serving.running():
            await page.until(CONNECTED)
            async with serving.assistant() as client:
                waiting = await serving.propose(client, "New.md", "after\n")
                await page.click(ACCEPT)
                assert await finish_call(client, waiting) == ["FILE_SAVED", "after\n"]


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
        await page.until(f"{SHOWN} && !document.querySelector('{ACCEPT}').disabled")
        await page.press("e")
        await page.until("document.activeElement?.shadowRoot?.activeElement?.isContentEditable")
        await page.type("mine, ")
        await page.run("window.sockets[0].close()")
        await page.until("window.sockets.length === 2")
        await page.until(CONNECTED)
        await page.until("document.activeElement?.shadowRoot?.activeElement?.isContentEditable")
        await page.type("all mine, ")
        await page.click(ACCEPT)
        assert await finish_call(client, waiting) == ["FILE_SAVED", "mine, all mine, proposed\n"]


LATE_POLICY = """
window.WebSocket = class extends WebSocket {
  // The answer that names the policy comes after the first proposal.
  set onmessage(handle) {
    const late = [];
    super.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.result?.configured) return late.push(event);
      handle(event);
      if (message.method === 'proposalOpened') for (const one of late.splice(0)) handle(one);
    };
  }
};
"""


async def test_a_proposal_that_comes_while_the_page_connects_is_shown(page: Page, serving: Serving) -> None:
    await page.ask("Page.addScriptToEvaluateOnNewDocument", source=LATE_POLICY)
    await page.reload()
    await page.until(CONNECTED)
    async with serving.assistant() as client:
        waiting = await serving.propose(client, "New.md", "meanwhile\n")
        await page.click(ACCEPT)
        assert await finish_call(client, waiting) == ["FILE_SAVED", "meanwhile\n"]
