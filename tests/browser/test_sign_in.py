"""Staying signed in, capture and the page as an app, in a real browser."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from aiohttp import ClientSession

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving
from support.files import write_vault

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

KEEP = ".sign-in button"
COMMAND = ".empty .copyable code"

REFUSED = "document.getElementById('state').dataset.state === 'refused'"


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    vault = write_vault(tmp_path / "My notes", {"Plan.md": "# Plan\n"})
    return Serving(vault, tmp_path / "home")


async def forget_the_tab(page: Page) -> None:
    """What the end of the browser leaves: no tab, and nothing that a tab remembers."""
    await page.run("sessionStorage.clear()")
    await page.go("about:blank")


async def test_a_bookmark_opens_the_page_in_a_browser_that_is_kept(
    chromium: Chromium, serving: Serving
) -> None:
    with serving.running():
        bookmark = f"{serving.url}/#/note/Plan.md"
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.click(KEEP)
            await page.until("!document.querySelector('.sign-in')")
            cookies = (await page.ask("Network.getCookies", urls=[f"{serving.url}/page/sign-in"]))["cookies"]
            assert [(cookie["httpOnly"], cookie["session"]) for cookie in cookies] == [(True, False)]
            assert not (await page.ask("Network.getCookies", urls=[f"{serving.url}/page/api/home"]))[
                "cookies"
            ]
            assert serving.token not in await page.run("JSON.stringify(localStorage)")
            await forget_the_tab(page)
            await page.go(bookmark)
            await page.until(CONNECTED)
            await page.until("document.querySelector('h1')?.innerText === 'Plan'")
            await page.run("location.hash = '#/settings/browsers'")
            await page.click("#settings-browsers .card button")
            await page.until("!document.querySelector('#settings-browsers .card')")
            await forget_the_tab(page)
            await page.go(bookmark)
            await page.until(REFUSED)


async def test_who_does_not_want_it_is_not_asked_again(chromium: Chromium, serving: Serving) -> None:
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.click(".sign-in .link")
            await page.until("!document.querySelector('.sign-in')")
            await page.reload()
            await page.until(CONNECTED)
            await page.until("document.querySelector('.home')")
            assert not await page.run("!!document.querySelector('.sign-in')")
            assert page.complaints() == []


async def test_the_command_for_a_new_link_has_the_real_path(chromium: Chromium, serving: Serving) -> None:
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.until("localStorage.getItem('command')")
            await forget_the_tab(page)
            await page.go(serving.url + "/")
            await page.until(REFUSED)
            command = shlex.split(await page.text(COMMAND))
            assert command[-2:] == ["page", str(serving.vault)]
            assert Path(command[0]).is_absolute()
        # One that was never here learns no path.
        async with chromium.page(serving.url + "/") as page:
            await page.until(REFUSED)
            assert await page.text(COMMAND) == "vaultbridge page"


async def test_a_used_link_gives_the_command_that_prints_a_new_one(
    chromium: Chromium, serving: Serving
) -> None:
    with serving.running():
        headers = {"Authorization": f"Bearer {serving.token}"}
        address = f"{serving.url}/page/api/code"
        async with ClientSession() as session, session.post(address, json={}, headers=headers) as answer:
            code = (await answer.json())["code"]
        async with chromium.page(f"{serving.url}/#code={code}") as page:
            await page.until(CONNECTED)
        async with chromium.page(f"{serving.url}/#code={code}") as page:
            await page.until(REFUSED)
            assert "already been used" in await page.text(".empty [role=alert]")
            assert shlex.split(await page.text(COMMAND))[-2:] == ["page", str(serving.vault)]
            page.forget()  # The browser logs the refusal.


async def test_a_thought_is_captured_in_todays_note(chromium: Chromium, serving: Serving) -> None:
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.run("location.hash = '#/capture'")
            for thought in ("- [ ] water the plants", "call back"):
                await page.click("#capture-text")
                await page.type(thought)
                await page.click(".capture button[type=submit]")
                await page.until("document.getElementById('capture-text').value === ''")
            texts = [file.read_text("utf-8") for file in serving.vault.glob("*.md") if file.name != "Plan.md"]
            assert [text.rstrip() for text in texts] == ["- [ ] water the plants\n\ncall back"]


async def test_the_page_can_be_installed(chromium: Chromium, serving: Serving) -> None:
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            found = await page.ask("Page.getAppManifest")
            assert found["errors"] == []
            manifest = json.loads(found["data"])
            assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}
            assert "/#/capture" in [shortcut["url"] for shortcut in manifest["shortcuts"]]
            assert (await page.ask("Page.getInstallabilityErrors"))["installabilityErrors"] in (
                [],
                # Each test's tab is a private one.
                [{"errorId": "in-incognito", "errorArguments": []}],
            )
