"""What works in every view: going to a note, keys, another vault, another tab, a page that may only read."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving
from support.files import write_vault
from support.ports import held_port

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VIEWS = {
    "": ".recent-card",
    "graph": "#graph-canvas",
    "activity": ".timeline",
    "review": ".review",
    "settings": ".settings-body",
}
"""Each view, and what shows that it is there."""

LONG = "A name that goes on and on " * 5 + "🌱 until its end"

NOTES = {
    "Plan.md": "# Plan\n\nsee [[Ada]] and [[Gone]]\n",
    "People/Ada.md": "# Ada\n",
    "Work/Ada.md": "# Another\n",
    "日記/一.md": "雨。\n",
    f"{LONG}.md": "long\n",
    "/".join(f"Level {number}" for number in range(12)) + "/deep.md": "deep\n",
    ".obsidian/daily-notes.json": json.dumps({"folder": "Journal", "format": "[today]"}),
}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    base = tmp_path_factory.mktemp("vaults")
    other = write_vault(base / "Büro 2", {"Minutes.md": "# Minutes\n", "Plan.md": "another plan\n"})
    serving = Serving(write_vault(base / "Garden", NOTES), tmp_path_factory.mktemp("home"), more=[other])
    serving.index()
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        yield page
        assert [
            complaint for complaint in page.complaints() if "responded with a status of 4" not in complaint
        ] == []


async def go(page: Page, view: str) -> None:
    await page.run(f"location.hash = '#/{view}'")
    await page.until(f"document.querySelector({json.dumps(VIEWS[view])})")


TITLE = "document.getElementById('note-title')?.textContent"

OPTIONS = "[...document.querySelectorAll('.switcher [role=option]')].map((option) => option.textContent)"


async def test_from_every_view_a_few_letters_lead_to_a_note(page: Page) -> None:
    for view in VIEWS:
        await go(page, view)
        await page.key("k", control=True)
        await page.until("document.activeElement.matches('.switcher input')")
        await page.type("plan")
        await page.until(f"{OPTIONS}[0] === 'Plan'")
        await page.key("Escape")
        await page.until("!document.querySelector('.switcher')")
        assert await page.run("document.querySelector('main').dataset.view") == (view or "vault")
        await page.key("o", control=True)
        await page.until("document.querySelector('.switcher')")
        await page.type("一")
        await page.until(f"{OPTIONS}[0] === '一日記'")
        await page.key("Enter")
        await page.until(f"{TITLE} === '一'")
        await page.until("document.activeElement.id === 'note-title'")


async def test_the_list_begins_with_the_notes_opened_last(page: Page) -> None:
    for path in ("Plan.md", "People/Ada.md", "Plan.md"):
        await page.run(f"location.hash = '#/note/{path}'")
        await page.until(f"{TITLE} === '{Path(path).stem}'")
        await page.until("document.querySelector('.note-body')")
    await page.key("k", control=True)
    await page.until(f'JSON.stringify({OPTIONS}) === \'["Plan","AdaPeople"]\'')
    await page.key("ArrowDown")
    await page.key("Enter")
    await page.until(f"{TITLE} === 'Ada'")


async def test_what_is_not_found_can_be_searched_for_or_begun(page: Page, serving: Serving) -> None:
    await go(page, "activity")
    await page.key("k", control=True)
    await page.until("document.querySelector('.switcher')")
    await page.type("Brand new 🌱")
    await page.until(f"{OPTIONS}.length === 2")
    await page.key("ArrowUp")
    await page.key("Enter")
    await page.until("document.querySelector('.editor')")
    assert (serving.vault / "Brand new 🌱.md").read_text("utf-8") == ""
    await page.key("k", control=True)
    await page.until("document.querySelector('.switcher')")
    await page.type("activ")
    await page.until(f"{OPTIONS}[0] === 'ActivityView'")
    await page.key("ArrowDown")
    await page.key("Enter")
    await page.until("location.hash === '#/search?q=activ'")


async def test_a_slash_leads_to_the_search_from_every_view(page: Page) -> None:
    for view in ("activity", "review", "settings"):
        await go(page, view)
        await page.key("/")
        await page.until("document.activeElement.matches('.search-field input')")
        assert await page.run("location.hash") == "#/search"
        await page.key("Escape")
        await page.until(f"location.hash === '#/{view}'")
    await go(page, "graph")
    await page.key("/")
    await page.until("document.activeElement.id === 'graph-find'")


async def test_the_keys_of_each_view_are_listed(page: Page) -> None:
    for view, word in (("review", "Reject"), ("graph", "Zoom"), ("settings", "Search the vault")):
        await go(page, view)
        await page.key("?")
        assert word in await page.text("dialog.keys")
        await page.key("Escape")
        await page.until("!document.querySelector('dialog.keys')")


async def test_a_letter_in_the_tree_is_a_name_and_no_command(page: Page) -> None:
    await page.run("location.hash = '#/note/Plan.md'")
    await page.until("document.querySelector('.row[data-path=\"Plan.md\"]')")
    await page.run("document.querySelector('.tree').focus()")
    await page.key("e")
    await page.key("p")
    await page.until("document.querySelector('.row[aria-selected=true]').dataset.path === 'People'")
    assert await page.run("location.hash") == "#/note/Plan.md"


async def test_the_menu_of_a_note_is_used_with_the_keyboard(page: Page) -> None:
    await page.run("location.hash = '#/note/People/Ada.md'")
    await page.until("document.querySelector('.note-body')")
    await page.run("document.querySelector('.menu-button').focus()")
    await page.key("Enter")
    await page.until("document.activeElement.id === 'copy-link'")
    await page.key("ArrowUp")
    await page.until("document.activeElement.id === 'delete'")
    await page.key("Escape")
    await page.until(
        "document.activeElement.matches('.menu-button') && !document.querySelector('[role=menu]')"
    )
    await page.key("Enter")
    await page.until("document.activeElement.id === 'copy-link'")
    assert await find_barriers(page) == []
    link = "obsidian://open?vault=Garden&file=People%2FAda.md"
    assert await page.run("document.getElementById('open-in-app').href") == link
    # What reaches the clipboard; a tab without a window may not read it.
    await page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    await page.key("Enter")
    await page.until("window.copied === '[[People/Ada]]'")  # There are two of the name.
    assert "[[People/Ada]]" in await page.text(".notice.good")


RESTING = """new Promise((done) => {
  let [last, same] = [NaN, 0];
  const look = () => {
    const now = document.querySelector('[data-task]')?.getBoundingClientRect().top ?? NaN;
    same = now === last ? same + 1 : 0;
    last = now;
    if (same > 5) done(Math.round(now));
    else requestAnimationFrame(look);
  };
  look();
})"""
"""Where the last task is once it holds still: what comes near to sight is laid out then."""


async def test_a_long_note_is_drawn_in_pieces_and_every_line_can_be_reached(
    page: Page, serving: Serving
) -> None:
    """Footnotes and definitions at the end count for every piece."""
    count = 1500
    middle = "".join(f"## Part {n}\n\n{'words and more ' * 10}\n\n" for n in range(count))
    text = f"Known.[^1] See [there].\n\n{middle}- [ ] last task\n\n[^1]: A footnote.\n\n[there]: https://example.org\n"
    write_vault(serving.vault, {"Long.md": text})
    lines = text.splitlines()
    last = lines.index("- [ ] last task") + 1
    await page.run(f"location.hash = '#/note/Long.md?line={last}'")
    await page.until("document.querySelector('.md-found')?.innerText.includes('last task')")
    await page.run("location.hash = '#/note/Long.md'")
    await page.until(f"document.querySelectorAll('.note-body h2').length === {count}")
    # As text, not as it is shown: what is far from sight is not laid out yet.
    await page.until("document.querySelector('.md-footnotes')?.textContent.includes('A footnote.')")
    assert await page.run("document.querySelector('.note-body p a[href^=https]').innerText") == "there"
    assert await page.run("document.querySelectorAll('.outline li').length") == 200
    await page.click(".panel button.link")
    await page.until(f"document.querySelectorAll('.outline li').length === {count}")
    # What is in sight stays there when the note changes.
    await page.run("document.querySelector('[data-task]').scrollIntoView({ block: 'center' })")
    before = await page.run(RESTING)
    await page.click("[data-task]")
    await page.until(
        "document.querySelector('[data-task]')?.checked && document.querySelector('.notice.good')"
    )
    assert abs(await page.run(RESTING) - before) < 3
    file = serving.vault / "Long.md"
    assert "- [x] last task" in file.read_text("utf-8")
    # The place stays the same while a notice is shown, and when another program changes the note.
    file.write_text(file.read_text("utf-8").replace("last task", "last deed"), "utf-8")
    await page.until("document.querySelector('.md-task')?.innerText.includes('last deed')")
    assert abs(await page.run(RESTING) - before) < 3


async def test_a_line_that_was_found_is_shown_without_the_marks_of_markdown(
    page: Page, serving: Serving
) -> None:
    text = "---\nkind: flower\n---\n- [ ] **two** blue [[Ada|gentians]] at `noon` ^then\n"
    write_vault(serving.vault, {"Marks.md": text})
    await page.until("document.querySelector('.tree')?.innerText.includes('Marks')")
    for kind in ("ranked", "exact"):
        await page.run(f"location.hash = '#/search?q=gentians&kind={kind}'")
        await page.until("document.querySelector('.hit .snippet')?.innerText === 'two blue gentians at noon'")
    await page.run("location.hash = '#/note/Marks.md?edit=1'")
    line = "document.querySelector('.editor')?.shadowRoot?.querySelectorAll('.cm-line')[1]"
    await page.until(f"{line}?.innerText === 'kind: flower'")
    weights = f"[...{line}.querySelectorAll('span')].map((span) => getComputedStyle(span).fontWeight)"
    assert "700" not in await page.run(weights)  # Properties are no heading.


async def test_parts_of_a_query_are_added_by_a_press_and_typed_over(page: Page) -> None:
    await page.run("location.hash = '#/search?q=plan&kind=exact'")
    await page.click(".query-parts button:nth-of-type(3)")
    await page.until("document.querySelector('.search-field input').value === 'plan path:Daily'")
    await page.until("document.activeElement.matches('.search-field input')")
    await page.type("People")
    await page.until("document.querySelector('.search-field input').value === 'plan path:People'")
    assert await find_barriers(page) == []


MARKUP = (
    ("plain", "plain"),
    ("**bold**", "bold"),
    ("*slanted*", "slanted"),
    ("`code`", "code"),
    ("==bright==", "bright"),
    ("snake_case_name", "snake_case_name"),
    ("[[Rosa]]", "Rosa"),
    ("[[Rosa|alias]]", "alias"),
    ("[[Garden/Rosa#Work|part]]", "part"),
    ("[[Rosa#Work]]", "Rosa > Work"),
    ("![[Rosa|embedded]]", "embedded"),
    ("[text](https://example.org/a_b)", "text"),
)
"""Pieces of a line, and how each is read aloud. No note is called Rosa: a search would find it too."""


async def test_markup_is_removed_from_whatever_line_was_found(page: Page, serving: Serving) -> None:
    draw = random.Random(11)
    notes, expected = {}, {}
    for number in range(20):
        pieces = [*draw.choices(MARKUP, k=draw.randrange(1, 7)), ("zinnia", "zinnia")]
        draw.shuffle(pieces)
        start = draw.choice(("", "- ", "> ", "1. ", "- [ ] ", "> - "))
        notes[f"Drawn {number}.md"] = start + " ".join(written for written, _ in pieces) + "\n"
        expected[f"Drawn {number}"] = " ".join(read for _, read in pieces)
    write_vault(serving.vault, notes)
    await page.until("document.querySelector('.tree')?.innerText.includes('Drawn 19')")
    snippets = (
        "Object.fromEntries([...document.querySelectorAll('.hit')].map((hit) => "
        "[hit.querySelector('.hit-title').innerText, hit.querySelector('.snippet')?.innerText]))"
    )
    for kind in ("ranked", "exact"):
        await page.run("location.hash = '#/search?q=xqzwv'")
        await page.until("!document.querySelector('.hit')")
        await page.run(f"location.hash = '#/search?q=zinnia&kind={kind}'")
        await page.until("document.querySelectorAll('.hit').length === 20")
        assert await page.run(snippets) == expected


async def test_a_match_in_the_target_of_a_link_marks_the_text_of_the_link(
    page: Page, serving: Serving
) -> None:
    write_vault(serving.vault, {"Linked.md": "See [[Quercus robur|the oak]] and others.\n"})
    await page.until("document.querySelector('.tree')?.innerText.includes('Linked')")
    await page.run("location.hash = '#/search?q=Quercus&kind=exact'")
    await page.until("document.querySelector('.snippet')?.innerText === 'See the oak and others.'")
    assert await page.text(".snippet mark") == "the oak"


async def test_the_outline_keeps_what_only_looks_like_markup(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Headings.md": "# 1. The tool `read_note_raw`\n\n## *See* [[Ada|her]]\n"})
    await page.run("location.hash = '#/note/Headings.md'")
    await page.until("document.querySelectorAll('.outline li').length === 2")
    assert await page.run("[...document.querySelectorAll('.outline li')].map((item) => item.innerText)") == [
        "1. The tool read_note_raw",
        "See her",
    ]


async def test_todays_note_is_begun_from_the_home_and_then_opened(page: Page, serving: Serving) -> None:
    assert "Start" in await page.text("#today")
    await page.click("#today")
    await page.until("document.querySelector('.editor')")
    assert (serving.vault / "Journal" / "today.md").exists()
    await page.run("location.hash = '#/'")
    await page.until("document.querySelector('a#today')")
    await page.click("#today")
    await page.until(f"{TITLE} === 'today'")


async def test_another_vault_is_chosen_in_every_view(page: Page) -> None:
    choose = "(() => { const all = document.querySelector('.vault-choice'); all.value = %s;"
    choose += " all.dispatchEvent(new Event('change', { bubbles: true })); })()"
    for view in ("activity", ""):
        await go(page, view)
        await page.run(choose % json.dumps("Büro 2"))
        await page.until(CONNECTED + " && document.title.includes('Büro 2')")
        assert await page.run("location.hash") == f"#/{view}?vault=B%C3%BCro+2"
        if not view:
            await page.until("document.querySelector('.home h1').innerText === 'Büro 2'")
            await page.until("document.querySelector('.row[data-path=\"Minutes.md\"]')")
        await page.run(choose % json.dumps("Garden"))
        await page.until(CONNECTED + " && document.title.includes('Garden')")


async def test_what_was_begun_in_a_vault_is_there_when_one_comes_back_to_it(
    page: Page, serving: Serving
) -> None:
    """The first vault has an address without its name, and one with it."""
    write_vault(serving.vault, {"Begun.md": "start\n"})
    await page.run("location.hash = '#/note/Begun.md?edit=1'")
    await page.until("document.activeElement?.shadowRoot?.activeElement?.matches('.cm-content')")
    await page.type("mine ")
    await page.until("document.querySelector('.editing-bar').innerText.includes('Not saved')")
    await page.run("location.hash = '#/?vault=Büro 2'")
    await page.until("document.querySelector('.home h1')?.innerText === 'Büro 2'")
    await page.run("location.hash = '#/note/Begun.md?vault=Garden'")
    await page.until("document.querySelector('.note-facts')?.innerText.includes('unsaved changes')")
    await page.until(CONNECTED)  # Chromium complains about a socket that is closed before it is open.
    await page.reload()
    await page.until("document.querySelector('.note-facts')?.innerText.includes('unsaved changes')")
    await page.click(".note-facts a[href*=edit]")
    text = "document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')?.innerText"
    await page.until(f"{text}?.includes('mine start')")
    await page.click(".editing-bar button:last-child")
    await page.until("document.querySelector('.note-body')")


async def test_two_tabs_edit_the_same_note_and_neither_text_is_lost(
    page: Page, chromium: Chromium, serving: Serving
) -> None:
    typing = "document.activeElement?.shadowRoot?.activeElement?.matches('.cm-content')"
    write_vault(serving.vault, {"Shared.md": "start\n"})
    async with chromium.page(serving.link()) as other:
        for tab in (page, other):
            await tab.until(CONNECTED)
            await tab.run("location.hash = '#/note/Shared.md?edit=1'")
            await tab.until(typing)
        await page.type("first ")
        await other.type("second ")
        await page.key("s", control=True)
        await page.until("document.querySelector('.notice.good')")
        assert (serving.vault / "Shared.md").read_text("utf-8") == "first start\n"
        await other.key("s", control=True)
        await other.until("document.querySelector('.conflict')")
        assert (serving.vault / "Shared.md").read_text("utf-8") == "first start\n"
        await other.click(".conflict-tools .accept")
        await other.until("document.querySelector('.note-body')")
        assert (serving.vault / "Shared.md").read_text("utf-8") == "second start\n"
        # The first tab follows: nothing was typed there since.
        text = "document.querySelector('.editor').shadowRoot.querySelector('.cm-content').innerText"
        await page.until(f"{text}.includes('second start')")
        other.forget()


async def test_a_setting_that_changes_in_one_tab_is_seen_in_the_other(
    page: Page, chromium: Chromium, serving: Serving
) -> None:
    async with chromium.page(serving.link()) as other:
        for tab in (page, other):
            await tab.until(CONNECTED)
            await go(tab, "settings")
            await tab.until("document.querySelector('.policy input:checked')?.value === 'off'")
        await page.click(".policy input[value=all]")
        await other.until("document.querySelector('.policy input:checked').value === 'all'")
        await other.click(".policy input[value=off]")
        await page.until("document.querySelector('.policy input:checked').value === 'off'")
        assert await page.run("document.getElementById('share').checked")
        await other.click("#share")
        await other.until("!document.getElementById('share').checked")
        await page.until("!document.getElementById('share').checked")
        await page.click("#share")
        await other.until("document.getElementById('share').checked")
        await page.click("#settings-tokens p > button")
        await page.click("#settings-tokens input[name=name]")
        await page.type("tablet")
        await page.click("#settings-tokens .token-form button[type=submit]")
        await page.until("document.querySelector('.secret')")
        # As when one comes to the tab.
        await other.run("document.dispatchEvent(new Event('visibilitychange'))")
        await other.until("document.querySelector('[data-token=tablet]')")


async def test_a_page_that_may_only_read_offers_nothing_else(chromium: Chromium, serving: Serving) -> None:
    (serving.vault / "pixel.txt").write_text("text\n", "utf-8")
    secret = serving.run("token", "make", "reader", "--read-only", "--json")["token"]
    async with chromium.page(f"{serving.url}/#token={secret}") as page:
        await page.until("document.getElementById('state').dataset.state === 'limited'")
        await page.until("document.querySelector('.row')")
        assert "read-only" in await page.text(".home-head")
        await page.until("!document.querySelector('[aria-label=\"New note\"]')")
        for path in ("Plan.md", "pixel.txt"):
            await page.run(f"location.hash = '#/note/{path}'")
            await page.click(".menu-button")
            await page.until("document.querySelector('[role=menu]')")
            assert not await page.run("document.querySelector('#rename, #delete, #open-in-app')"), path
            await page.key("Escape")
        await page.run("location.hash = '#/note/Nowhere'")
        await page.until("document.querySelector('.empty h1')")
        assert not await page.run("document.querySelector('.empty .accept')")
        await page.key("k", control=True)
        await page.until("document.querySelector('.switcher')")
        await page.type("Nowhere")
        await page.until(f"{OPTIONS}.length === 1")


async def test_every_view_comes_back_by_itself_with_the_server(chromium: Chromium, tmp_path: Path) -> None:
    """Each in a tab of its own, which is sent there while the server is away."""
    views = {view: VIEWS[view] for view in ("", "graph", "settings")} | {"activity/statistics": ".tiles"}
    with held_port() as port:
        serving = Serving(write_vault(tmp_path / "Away", NOTES), tmp_path / "home", port)
        async with AsyncExitStack() as stack:
            tabs = {}
            with serving.running():
                for view, awaited in views.items():
                    tabs[view] = tab = await stack.enter_async_context(chromium.page(serving.link()))
                    await tab.until(CONNECTED)
                    # So that its script is there; the vault's list of files is that of the first view.
                    await tab.run(f"location.hash = '#/{view}'")
                    await tab.until(f"document.querySelector({json.dumps(awaited)})")
                    await tab.run("location.hash = '#/nothing'")
                    await tab.until("document.querySelector('.empty')")
            for view, tab in tabs.items():
                await tab.until("document.getElementById('state').dataset.state === 'lost'")
                await tab.run(f"location.hash = '#/{view}'")
                await tab.until("document.querySelector('main .failure')")
            with serving.running():
                for view, awaited in views.items():
                    await tabs[view].run("dispatchEvent(new Event('online'))")  # so that it waits no longer
                    await tabs[view].until(CONNECTED)
                    await tabs[view].until(f"document.querySelector({json.dumps(awaited)})")
                    await tabs[view].until("!document.querySelector('main .failure')")


OFFLINE = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


async def test_what_could_not_be_loaded_comes_although_the_connection_stayed(page: Page) -> None:
    """A machine that has slept, for example: requests fail for a moment, and the socket is still there."""
    await page.ask("Network.emulateNetworkConditions", offline=True, **OFFLINE)
    await page.run("location.hash = '#/note/Plan.md'")
    assert "tries again by itself" in await page.text(".failure")
    await page.ask("Network.emulateNetworkConditions", offline=False, **OFFLINE)
    await page.until("document.querySelector('.note-body')")
    page.forget()


async def test_a_long_list_of_tags_leaves_the_note_in_sight(page: Page, serving: Serving) -> None:
    tags = "".join(f"  - tag{number}\n" for number in range(2000))
    write_vault(serving.vault, {"Tagged.md": f"---\ntags:\n{tags}---\nbelow\n"})
    await page.run("location.hash = '#/note/Tagged.md'")
    await page.until("document.querySelector('.note-body')")
    shown = "document.querySelectorAll('.properties .md-tag').length"
    assert await page.run(shown) == 50
    assert await page.run("document.querySelector('.note-body').getBoundingClientRect().top < innerHeight")
    await page.click(".properties button.link")
    await page.until(f"{shown} === 2000")


async def test_the_list_of_notes_fits_a_phone(page: Page) -> None:
    await page.size(390, 844)
    await page.until("document.querySelector('.recent-card')")
    await page.key("k", control=True)
    await page.until("document.querySelector('.switcher')")
    await page.type("a")
    await page.until(f"{OPTIONS}.length > 3")
    assert await find_barriers(page) == []
    box = "document.querySelector('.switcher').getBoundingClientRect()"
    assert await page.run(f"{box}.right <= innerWidth && {box}.bottom <= innerHeight")


BEYOND = """[...document.querySelectorAll('main button, main a')]
  .filter((element) => element.checkVisibility() && !element.closest('.scroll, .settings-nav, .tree')
    && element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML)"""
"""What cannot be pressed without scrolling to the side."""


async def test_every_view_fits_at_twice_the_size(page: Page) -> None:
    """A window of 1280 by 800 at 200 %, as the browser's zoom makes it."""
    await page.size(640, 400)
    deep = "/".join(f"Level {number}" for number in range(12)) + "/deep.md"
    places = [*VIEWS, "note/Plan.md", f"note/{LONG}.md", f"note/{deep}", "search?q=plan"]
    for place in places:
        await page.run(f"location.hash = {json.dumps('#/' + place)}")
        awaited = VIEWS.get(place) or (".hit" if place.startswith("search") else ".note-body")
        await page.until(f"document.querySelector({json.dumps(awaited)})")
        assert await page.run("document.documentElement.scrollWidth <= innerWidth"), place
        assert await page.run(BEYOND) == [], place


FOCUSED = """(() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const box = at.getBoundingClientRect();
  const look = getComputedStyle(at);
  const ringed = look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 1;
  const inside = at.querySelector('[aria-selected=true]');
  const marked = Boolean(inside) && getComputedStyle(inside).boxShadow !== 'none';
  const isText = at.closest('.cm-editor') !== null;
  const name = `${at.localName}.${at.className}#${at.id}`.slice(0, 80);
  return { name, drawn: box.width > 0 && box.height > 0, ringed: ringed || marked || isText };
})()"""
"""What has the focus, and whether that can be seen."""

STEPS = 120
"""More than any view has: somebody who needs more is caught in it."""


async def test_the_keyboard_alone_goes_through_every_view_and_out_again(page: Page) -> None:
    for place, awaited in {**VIEWS, "note/Plan.md": ".backlinks, .panel p", "search?q=plan": ".hit"}.items():
        await page.run(f"location.hash = {json.dumps('#/' + place)}")
        await page.until(f"document.querySelector({json.dumps(awaited)})")
        await page.run("document.activeElement.blur(); getSelection().removeAllRanges()")
        await page.run("document.querySelector('.skip').focus()")
        seen = []
        for _ in range(STEPS):
            await page.key("Tab")
            at = await page.run(FOCUSED)
            if at is None:  # Out of the page, to the browser's own buttons.
                break
            seen.append(at)
        else:
            raise AssertionError(f"{place}: {seen[-5:]}")
        assert [control["name"] for control in seen if not control["drawn"]] == [], place
        assert [control["name"] for control in seen if not control["ringed"]] == [], place
        assert len(seen) > 6, place
