"""Settings in a real browser: vaults, the review policy, tokens, what `connect` configured, the doctor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import ClientSession

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving
from support.files import write_vault

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

READY = "document.querySelector('#settings-doctor .rows, #settings-doctor strong')"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vaults") / "Garden", {"Plan.md": "# Plan\n", "B.md": "b\n"})
    serving = Serving(vault, tmp_path_factory.mktemp("home"))
    serving.index()  # The page counts its notes once.
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        await page.run("location.hash = '#/settings'")
        await page.until("document.querySelector('.settings-body')")
        yield page
        assert page.complaints() == []


async def test_the_vault_its_scope_and_its_companion_are_shown(page: Page) -> None:
    card = await page.text(".vault-card")
    for words in ("Garden", "2 notes", "assistants can read and change notes everything", "Companion"):
        assert words in card


async def test_a_token_is_made_shown_once_used_and_revoked(page: Page, serving: Serving) -> None:
    await page.click("#settings-tokens p > button")
    await page.click("#settings-tokens input[name=name]")
    await page.type("phone")
    await page.click("#settings-tokens .token-form button[type=submit]")
    secret = await page.text(".secret code")
    headers = {"Authorization": f"Bearer {secret}"}
    async with ClientSession() as session:
        async with session.get(f"{serving.url}/page/api/activity", headers=headers) as answer:
            assert answer.status == 200
        async with session.get(f"{serving.url}/page/api/tokens", headers=headers) as answer:
            assert answer.status == 403
        await page.reload()
        await page.until("document.querySelector('[data-token=phone]')")
        assert secret not in await page.run("document.documentElement.outerHTML")
        assert "read-only" in await page.text("[data-token=phone]")
        await page.click("[data-token=phone] button")
        await page.click("[data-token=phone] .reject")
        await page.until("!document.querySelector('[data-token=phone]')")
        async with session.get(f"{serving.url}/page/api/activity", headers=headers) as answer:
            assert answer.status == 401


async def test_a_name_that_is_taken_is_refused_in_words(page: Page) -> None:
    for _ in range(2):
        await page.click("#settings-tokens p > button:has(.icon)")
        await page.click("#settings-tokens input[name=name]")
        await page.type("twice")
        await page.click("#settings-tokens .token-form button[type=submit]")
        await page.until("document.querySelector('.secret, .token-form .banner.bad')")
        if not await page.run("!!document.querySelector('.token-form .banner.bad')"):
            await page.click(".secret > button")
    assert "twice" in await page.text(".token-form .banner.bad")
    page.forget()  # The browser logs the refusal.


async def test_the_review_policy_is_switched_and_stays(page: Page) -> None:
    await page.click(".policy input[value=destructive]")
    await page.until("document.querySelector('.notice.good')")
    await page.reload()
    await page.until("document.querySelector('.policy input[value=destructive]')?.checked")
    await page.click(".policy input[value=off]")
    await page.until("document.querySelector('.notice.good')")


async def test_assistants_and_findings_come_with_what_to_do(page: Page) -> None:
    assert "vaultbridge connect" in await page.text("#settings-assistants .rows code")
    await page.until(READY)
    await page.click("#settings-doctor > button.link")
    assert await page.run("document.querySelectorAll('#settings-doctor .rows li').length") > 3


async def test_colours_can_be_chosen_and_stay(page: Page) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    await page.colours("light")
    light = await page.run(paper)
    await page.run(
        "(() => { const chosen = document.querySelector('.privacy select'); chosen.value = 'dark';"
        " chosen.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    assert await page.run(paper) != light
    await page.reload()
    await page.until("document.querySelector('.settings-body')")
    assert await page.run(paper) != light


async def test_every_section_has_an_address_that_shows_it(page: Page) -> None:
    """Also after a reload, when what is above it comes later, and when it is pressed once more."""
    await page.until("document.querySelector('#settings-assistants .rows')")
    top = "document.getElementById('settings-tokens').getBoundingClientRect().top"
    for name in await page.run("[...document.querySelectorAll('.settings-nav a')].map((link) => link.hash)"):
        await page.run(f"location.hash = {json.dumps(name)}")
        await page.until(
            f"document.querySelector('.settings-nav a[aria-current]')?.hash === {json.dumps(name)}"
        )
    await page.run("location.hash = '#/settings/tokens'")
    await page.until(f"{top} < 150")
    async with page.holding("*/page/api/connections*"):
        await page.reload()
        await page.until(f"{top} < 150")
    await page.until("document.querySelector('#settings-assistants .rows')")
    await page.until(f"{top} > 0 && {top} < 150")
    # What comes late above the section brings it back into sight until a person scrolls.
    await page.until(f"(document.querySelector('main').scrollTo(0, 0), {top} > 500)")
    await page.click(".settings-nav a[href='#/settings/tokens']")
    await page.until(f"{top} < 150")
