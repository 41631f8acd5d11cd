"""The Vault view in a real browser, by what a person does: find, read, follow links, tick and edit."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from browser.axe import find_barriers
from browser.chromium import Chromium, Page
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from support.files import write_vault
from support.ports import held_port
from support.waiting import BOUND
from vaultbridge.web.media import measure_picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SAMPLE = Path(__file__).parents[2] / "examples" / "sample-vault"

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

NOTE = """---
tags: [garden/herbs]
due: 2026-05-01
with: "[[Ada]]"
done: true
---
# Everything

Plain **bold** and ==lit== and #herbs/mint, not #123. [[Ada|A friend]], [[Nowhere]], [md](Ada.md#Work).
%%hidden words%% seen ^first

- [ ] water the mint
- [x] buy seeds
  - [/] half done

> [!warning]- Careful
> It *bites*.

> [!tip] Do
> this

| left | right |
|:-----|------:|
| [[Ada\\|x]] | 2 |

$E = mc^2$ costs $5 or $6

$$
\\frac{1}{2}
$$

```python
def plant(seed: str) -> None: ...
```

![[Ada#Work]]

![[sky.png|120]]

Known.[^1] Also inline.^[In place.]

[^1]: The *note* at the end.

%%
a long

comment
%%

## End

last line
"""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("home")
    vault = tmp_path_factory.mktemp("vaults") / "Garden"
    shutil.copytree(SAMPLE, vault)
    write_vault(
        vault, {"Everything.md": NOTE, "Ada.md": "# Ada\n\nfriend\n\n## Work\n\nmakes [[Everything]]\n"}
    )
    (vault / "sky.png").write_bytes(PIXEL)
    serving = Serving(vault, home)
    serving.index()
    with serving.running():
        yield serving


@pytest.fixture
async def page(chromium: Chromium, serving: Serving) -> AsyncIterator[Page]:
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        yield page
        # A refusal that a test provokes is logged by the browser too.
        assert [
            complaint for complaint in page.complaints() if "responded with a status of 4" not in complaint
        ] == []


async def show(page: Page, serving: Serving, path: str, query: str = "") -> None:
    await page.go(f"{serving.url}/#/note/{quote(path)}{query}")
    title = json.dumps(
        path.rpartition("/")[2].removesuffix(".md").removesuffix(".base").removesuffix(".canvas")
    )
    await page.until(f"document.getElementById('note-title')?.textContent === {title}")


def select_texts(selector: str) -> str:
    return f"[...document.querySelectorAll({json.dumps(selector)})].map((node) => node.textContent.trim())"


# finding one's way


async def test_a_person_opens_a_note_from_the_tree_follows_a_link_and_comes_back(
    page: Page, serving: Serving
) -> None:
    assert await page.text(".home h1") == "Garden"
    assert "31 notes" not in await page.text(".home-head .quiet")  # two more than the sample has
    await page.click('.row[data-path="Projects"]')
    await page.click('.row[data-path$="Light pollution survey.md"]')
    await page.until("document.getElementById('note-title')?.textContent === 'Light pollution survey'")
    there = f"{serving.url}/#/note/Projects/Light%20pollution%20survey.md"
    assert await page.run("location.href") == there
    await page.until("document.title.startsWith('Light pollution survey – Garden')")
    await page.run("document.querySelector('.vault-content').scrollTop = 300")
    # Not by the mouse, which would bring the link to the middle first.
    await page.run("document.querySelector('.note-body a.md-link').click()")
    await page.until("document.getElementById('note-title')?.textContent === 'Sky quality meter'")
    assert await page.run("document.querySelector('.vault-content').scrollTop") == 0
    await page.back()
    await page.until("document.getElementById('note-title')?.textContent === 'Light pollution survey'")
    await page.until("document.querySelector('.vault-content').scrollTop === 300")
    await page.reload()
    await page.until("document.getElementById('note-title')?.textContent === 'Light pollution survey'")
    assert await page.run("location.href") == there
    assert "Light pollution survey" in await page.text('.row[aria-current="page"]')


async def test_the_tree_can_be_used_with_the_keyboard_alone(page: Page) -> None:
    await page.until("document.querySelector('.row')")
    await page.run("document.querySelector('.tree').focus()")
    await page.key("p")
    await page.until("document.querySelector('.row[aria-selected=true]').dataset.path === 'Projects'")
    await page.key("ArrowRight")
    await page.until("document.querySelector('.row[data-path$=\"Café evenings.md\"]')")
    await page.key("ArrowDown")
    await page.until(
        "document.querySelector('.row[aria-selected=true]').dataset.path.endsWith('Café evenings.md')"
    )
    await page.key("ArrowLeft")
    await page.key("ArrowLeft")
    await page.until("!document.querySelector('.row[data-path$=\"Café evenings.md\"]')")
    await page.key("ArrowRight")
    await page.key("ArrowDown")
    await page.key("Enter")
    await page.until("document.getElementById('note-title')?.textContent === 'Café evenings'")


async def test_a_link_that_works_once_opens_the_page_and_a_used_one_says_what_to_do(
    chromium: Chromium, serving: Serving
) -> None:
    async with chromium.page(serving.link()) as owner:
        await owner.until(CONNECTED)
        code = await owner.run(
            "fetch('/page/api/code', {method: 'POST', body: '{}', headers: {Authorization: `Bearer "
            "${sessionStorage.getItem('token')}`}}).then((answer) => answer.json()).then(({code}) => code)"
        )
        async with chromium.page(f"{serving.url}/#code={code}") as page:
            await page.until(CONNECTED)
            assert await page.run("location.href") == f"{serving.url}/"
            await page.reload()
            await page.until(CONNECTED)
        async with chromium.page(f"{serving.url}/#code={code}") as page:
            assert "already been used" in await page.text("[role=alert]")
            assert "vaultbridge page" in await page.text(".empty")


async def test_a_new_tab_of_the_same_browser_needs_no_link(page: Page, serving: Serving) -> None:
    await page.run(
        f"new Promise((done) => {{ const tab = document.createElement('iframe'); tab.onload = done;"
        f"window.open('{serving.url}/#/note/Ada.md', '_blank', 'noopener'); done(); }})"
    )
    targets = (await page.ask("Target.getTargets"))["targetInfos"]
    (new,) = (target for target in targets if target["url"].endswith("/#/note/Ada.md"))
    other = await page.attach(new["targetId"])
    await other.until("document.getElementById('note-title')?.textContent === 'Ada'")


async def test_a_restricted_token_shows_its_part_of_the_vault(chromium: Chromium, serving: Serving) -> None:
    secret = serving.run("token", "make", "phone", "--deny", "Projects/**", "--json")["token"]
    async with chromium.page(f"{serving.url}/#token={secret}") as page:
        await page.until("document.getElementById('state').dataset.state === 'limited'")
        await page.until("document.querySelector('.row')")
        assert not await page.run("document.querySelector('.row[data-path=\"Projects\"]')")
        await page.go(f"{serving.url}/#/note/Projects/Moth%20garden.md")
        assert "There is no" in await page.text(".empty h1")
        await page.go(f"{serving.url}/#/search?q=moth")
        await page.until("document.querySelector('.hit')")
        assert "Projects" not in str(await page.run(select_texts(".hit-title, .named a, .hit-place")))
        # What the token does not show says so, and does not look like a server that is away.
        for place in ("activity/protocol", "activity/statistics", "settings"):
            await page.go(f"{serving.url}/#/{place}")
            assert "for the owner of the vault" in await page.text(".empty h2")
            assert await find_barriers(page) == []
        assert await page.run("document.querySelector('.settings-limited select').value") == ""
        await page.go(f"{serving.url}/#/activity")
        assert "Only the owner of the vault" in await page.text(".activity .banner")
        await page.until("document.querySelector('.activity-body')")
        assert "away" not in await page.text(".activity")
        assert await find_barriers(page) == []


async def test_a_new_file_appears_in_the_tree_without_the_whole_list(page: Page, serving: Serving) -> None:
    await page.until("document.querySelector('.row')")
    sizes = (
        "performance.getEntriesByType('resource').filter(({ name, decodedBodySize }) =>"
        " name.includes('/page/api/files') && decodedBodySize).map((entry) => entry.decodedBodySize)"
    )
    rows = select_texts(".row")
    before = await page.run(f"{rows}.length")
    write_vault(serving.vault, {"0 first.md": "", "Zz last.md": ""})
    await page.until(f"{rows}.length === {before} + 2")
    shown = await page.run(rows)
    assert [entry for entry in shown if entry in ("0 first", "Zz last")] == ["0 first", "Zz last"]
    (serving.vault / "0 first.md").unlink()
    await page.until(f"{rows}.length === {before} + 1")
    assert "Zz last" in await page.run(rows)
    first, *later = await page.run(sizes)
    assert later
    assert max(later) < first / 2
    (serving.vault / "Zz last.md").unlink()


async def test_a_folder_of_thousands_draws_only_the_rows_in_sight(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {f"Many/{number:04}.md": "" for number in range(2000)})
    await page.until(
        "document.querySelector('.row[data-path=\"Many\"] .row-count')?.innerText.includes('2000')"
    )
    await page.click('.row[data-path="Many"]')
    await page.until("document.querySelector('.row[data-path=\"Many/0000.md\"]')")
    assert await page.run("document.querySelectorAll('.row').length") < 100
    await page.run("document.querySelector('.tree').focus()")
    await page.key("End")
    await page.key("ArrowUp")
    await page.until("document.querySelector('.row[aria-selected=true]')")
    await page.key("1")
    await page.until("document.querySelector('.row[aria-selected=true]').dataset.path === 'Many/1000.md'")
    await page.key("Enter")
    await page.until("document.getElementById('note-title')?.textContent === '1000'")
    # A search ranks at most a thousand of them, and says so.
    await page.go(f"{serving.url}/#/search?q=many")
    await page.until("document.body.innerText.includes('1,000+ notes')")
    shutil.rmtree(serving.vault / "Many")


# search


async def test_search_answers_while_one_types_in_both_kinds(page: Page, serving: Serving) -> None:
    await page.until("document.querySelector('.row')")
    await page.key("/")
    await page.until("document.activeElement.type === 'search'")
    await page.type("light pol")
    await page.until("document.querySelector('.named a')?.textContent.includes('Light pollution survey')")
    await page.type("lution")
    await page.until("document.querySelector('.hit mark')?.textContent.toLowerCase() === 'light'")
    assert "q=light+pollution" in await page.run("location.hash")
    await page.key("ArrowDown")
    await page.key("Enter")
    await page.until("document.getElementById('note-title')?.textContent === 'Light pollution survey'")
    await page.back()
    await page.until("document.querySelector('.hit')")
    await page.click(".choice button:nth-child(2)")
    await page.run("document.querySelector('.search-field input').select()")
    await page.run("document.querySelector('.search-field input').focus()")
    await page.type('tag:#garden/herbs "water the mint"')
    await page.until(f"JSON.stringify({select_texts('.hit-title')}) === '[\"Everything\"]'")
    # Operators work without choosing anything, and what they do not find is said.
    await page.click(".choice button:nth-child(1)")
    await page.until(f"JSON.stringify({select_texts('.hit-title')}) === '[\"Everything\"]'")
    assert "kind=" not in await page.run("location.hash")
    await page.click(".hit .snippet:last-child")
    await page.until("document.querySelector('.md-found')?.textContent.includes('water the mint')")
    await page.go(f"{serving.url}/#/search?q=tag%3A%23nowhere%20mint")
    await page.until("document.querySelector('.found-count').textContent.includes('searched for the words')")
    await page.go(f"{serving.url}/#/search?q=%2F(%2F&kind=exact")
    assert "cannot be read" in await page.text(".search-problem")


# a note


async def test_a_note_is_shown_as_the_app_shows_it(page: Page, serving: Serving) -> None:
    await show(page, serving, "Everything.md")
    await page.until("document.querySelector('.md-math math') && document.querySelector('.md-embed-body h2')")
    assert await page.run(select_texts(".note-body strong, .note-body mark")) == ["bold", "lit"]
    assert await page.run(select_texts(".note-body .md-tag")) == ["#herbs/mint"]
    links = await page.run(
        "[...document.querySelectorAll('.note-body > p:first-of-type .md-link')].map((a) => a.hash)"
    )
    assert links == ["#/note/Ada.md", "#/note/Nowhere", "#/note/Ada.md?to=Work"]
    assert await page.run(select_texts(".note-body .md-missing")) == ["Nowhere"]
    body = await page.text(".note-body")
    assert "hidden words" not in body and "comment" not in body and "^first" not in body
    boxes = "[...document.querySelectorAll('.note-body > ul input')].map((box) => box.checked)"
    assert await page.run(boxes) == [False, True, True]
    assert await page.run("document.querySelector('details.md-callout-warning').open") is False
    assert await page.run(select_texts(".md-callout-title")) == ["Careful", "Do"]
    assert (
        await page.run("getComputedStyle(document.querySelector('.note-body td.md-right')).textAlign")
        == "right"
    )
    assert await page.run(select_texts(".note-body td")) == ["x", "2"]
    assert await page.run("document.querySelectorAll('.note-body mfrac').length") == 1
    assert "costs $5 or $6" in body
    assert await page.run(select_texts(".hljs-keyword")) == ["def"]
    assert "makes Everything" in await page.text(".md-embed-body")
    assert await page.run("document.querySelector('.md-picture img').width") == 120
    await page.until("document.querySelector('.md-picture img').naturalWidth === 1")
    assert await page.run(select_texts(".md-footnotes li")) == ["The note at the end.", "In place."]
    assert await page.run(select_texts(".properties dt")) == ["tags", "due", "with", "done"]
    assert await page.run(select_texts(".outline a")) == ["Everything", "End"]
    await page.until("document.querySelector('.backlinks')")
    assert "Ada" in await page.text(".backlinks")
    await page.until(f"{select_texts('.panel .md-missing')}.includes('Nowhere')")


async def test_a_task_is_ticked_in_the_file_and_the_tick_can_be_taken_back(
    page: Page, serving: Serving
) -> None:
    file = serving.vault / "Everything.md"
    await show(page, serving, "Everything.md")
    await page.click(".note-body .md-task input")
    await page.until("document.querySelector('.notice.good')")
    assert file.read_text("utf-8") == NOTE.replace("- [ ] water", "- [x] water")
    await page.until("document.querySelector('.note-body .md-task input').checked")
    await page.click(".note-body .md-task input")
    await page.until("!document.querySelector('.note-body .md-task input').checked")
    await page.until("!document.querySelector('.note-body .md-task input').disabled")
    assert file.read_text("utf-8") == NOTE


async def test_a_notice_with_something_to_do_leaves_time_to_do_it(page: Page, serving: Serving) -> None:
    """As if ten seconds passed at once; a notice without anything to do is gone by then."""
    write_vault(serving.vault, {"Hasty.md": "- [ ] one\n"})
    await show(page, serving, "Hasty.md")
    await page.run(
        "window.wait = setTimeout;"
        " window.setTimeout = (act, ms, ...more) => window.wait(act, ms < 1e4 ? 0 : ms, ...more)"
    )
    await page.click(".note-body .md-task input")
    await page.click(".notice.good button:not(.bare)")
    await page.until("document.querySelector('.note-body .md-task input')?.checked === false")
    assert (serving.vault / "Hasty.md").read_text("utf-8") == "- [ ] one\n"


async def test_a_change_on_disk_appears_by_itself(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Moving.md": "first\n"})
    await show(page, serving, "Moving.md")
    write_vault(serving.vault, {"Moving.md": "second\n"})
    await page.until("document.querySelector('.note-body').textContent.trim() === 'second'")
    (serving.vault / "Moving.md").unlink()
    await page.until("document.querySelector('.empty h1')?.textContent.includes('Moving')")


EDITOR = "document.querySelector('.editor').shadowRoot.querySelector('.cm-content')"


async def test_a_note_is_edited_and_saved_and_the_change_undone(page: Page, serving: Serving) -> None:
    file = serving.vault / "Edited.md"
    file.write_bytes(b"one\r\ntwo\r\n")
    await show(page, serving, "Edited.md")
    await page.key("e")
    await page.until(f"{EDITOR} && document.querySelector('.editor').shadowRoot.activeElement === {EDITOR}")
    await page.key("End")
    await page.type(" and a half")
    await page.until("document.querySelector('.editing-bar').textContent.includes('Not saved')")
    # No trap for the keyboard: Tab indents, but after Escape it leaves.
    await page.key("Escape")  # ends the completion that typing may have begun
    await page.key("Escape")
    await page.until("document.querySelector('.notice.bad')")
    await page.key("Tab")
    await page.until("document.querySelector('.editor').shadowRoot.activeElement === null")
    # Elsewhere meanwhile: what was typed is still there afterwards.
    await page.go(f"{serving.url}/#/")
    await page.until("document.querySelector('.home')")
    await page.back()
    await page.until(f"{EDITOR}?.textContent.includes('one and a half')")
    await page.run(f"{EDITOR}.focus()")
    await page.key("s", control=True)
    await page.until("document.querySelector('.notice.good')")
    assert file.read_bytes() == b"one and a half\r\ntwo\r\n"
    await page.click(".editing-bar button:last-child")
    await page.until("document.querySelector('.note-body')?.textContent.includes('one and a half')")
    assert "edit=" not in await page.run("location.hash")
    await page.click(".notice.good button")
    await page.until("document.querySelector('.note-body')?.innerText.trim() === 'one two'")
    assert file.read_bytes() == b"one\r\ntwo\r\n"


GIVE_FILES = """((kind, names, text) => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob(%s), (c) => c.charCodeAt(0));
  for (const name of names) data.items.add(new File([bytes], name, { type: 'image/png' }));
  if (text) data.items.add(text, 'text/plain');
  const content = %s;
  const box = content.querySelector('.cm-line:last-child').getBoundingClientRect();
  const common = { bubbles: true, cancelable: true, composed: true };
  content.dispatchEvent(kind === 'paste' ? new ClipboardEvent('paste', { ...common, clipboardData: data })
    : new DragEvent('drop', { ...common, dataTransfer: data, clientX: box.right - 2, clientY: box.y + 5 }));
})"""
"""What the browser does when somebody pastes files, or drops them at the end of the text."""


async def test_a_picture_that_is_pasted_or_dropped_is_added_and_shown(page: Page, serving: Serving) -> None:
    note = serving.vault / "Pictures.md"
    note.write_text("one \ntwo\n", "utf-8")
    give = GIVE_FILES % (json.dumps(base64.b64encode(PIXEL).decode()), EDITOR)
    await show(page, serving, "Pictures.md", "?edit=1")
    await page.until(EDITOR)
    await page.run(f"{EDITOR}.focus()")
    await page.key("End")
    await page.run(f"{give}('paste', ['image.png'])")
    await page.until(f"{EDITOR}.textContent.includes('![[Pasted image ')")
    (pasted,) = (serving.vault / "Attachments").glob("Pasted image *.png")
    assert pasted.read_bytes() == PIXEL
    await page.run(f"{give}('drop', ['dropped one.png', 'dropped two.png'])")
    await page.until(f"{EDITOR}.textContent.includes('![[dropped two.png]]')")
    # Who copies cells of a table means the text, and not the picture that comes with it.
    await page.run(f"{give}('paste', ['cells.png'], 'a cell')")
    await page.until(f"{EDITOR}.textContent.includes('a cell')")
    assert not list(serving.vault.rglob("cells.png"))
    assert note.read_text("utf-8") == "one \ntwo\n"
    await page.key("s", control=True)
    await page.until("document.querySelector('.editing-bar [role=status]').textContent === 'Saved'")
    text = note.read_text("utf-8")
    assert text == f"one ![[{pasted.name}]]\ntwo\n![[dropped one.png]]\n![[dropped two.png]]\na cell"
    await page.click(".editing-bar button:last-child")
    await page.until("document.querySelectorAll('.note-body img').length === 3")


async def test_a_conflict_shows_both_texts_and_loses_neither(page: Page, serving: Serving) -> None:
    file = serving.vault / "Conflict.md"
    file.write_text("one\ntwo\n", "utf-8")
    await show(page, serving, "Conflict.md", "?edit=1")
    await page.until(EDITOR)
    await page.run(f"{EDITOR}.focus()")
    await page.type("mine ")
    file.write_text("one\ntwo\ntheirs\n", "utf-8")
    await page.click(".editing-bar .accept")
    assert "has changed since you started" in await page.text(".conflict-head")
    contents = "document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-content')"
    sides = f"[...{contents}].map((side) => side.innerText)"
    await page.until(f"{sides}.length === 2")
    assert [side.splitlines()[0] for side in await page.run(sides)] == ["one", "mine one"]
    assert file.read_text("utf-8") == "one\ntwo\ntheirs\n"
    await page.click(".conflict-tools .accept")
    await page.until("document.querySelector('.note-body')")
    assert file.read_text("utf-8") == "mine one\ntwo\n"


async def test_a_new_note_is_made_from_a_link_that_leads_nowhere(page: Page, serving: Serving) -> None:
    await page.go(f"{serving.url}/#/note/Made%20here")
    await page.click(".empty .accept")
    await page.until(EDITOR)
    assert (serving.vault / "Inbox" / "Made here.md").exists()


# moving and deleting


async def replace_text(page: Page, selector: str, text: str) -> None:
    await page.run(f"document.querySelector({json.dumps(selector)}).select()")
    await page.type(text)


async def choose(page: Page, act: str) -> None:
    """From the menu of a note."""
    await page.click(".note-tools .menu-button")
    await page.click(f"[role=menu] #{act}")


async def test_a_note_is_renamed_with_its_links_and_the_change_undone(page: Page, serving: Serving) -> None:
    write_vault(
        serving.vault, {"Old name.md": "text\n", "Leads.md": "see [[Old name]] and [[Old name|it]]\n"}
    )
    await show(page, serving, "Old name.md")
    # The links are read from the index, which follows the disk in its own time.
    await page.until("document.querySelector('.panel')?.textContent.includes('Leads')")
    await page.press("F2")
    await page.until("document.activeElement?.matches('dialog[open] input')")
    chosen = "(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))"
    assert await page.run(f"{chosen}(document.activeElement)") == "Old name"
    await replace_text(page, "dialog[open] input", "Leads.md")
    await page.click("dialog[open] .accept")
    assert "Leads.md" in await page.text("dialog[open] .error-text")
    await replace_text(page, "dialog[open] input", "Renamed/New name")
    await page.click("dialog[open] .accept")
    await page.until("document.getElementById('note-title')?.textContent === 'New name'")
    assert (serving.vault / "Renamed" / "New name.md").read_text("utf-8") == "text\n"
    assert (serving.vault / "Leads.md").read_text("utf-8") == "see [[New name]] and [[New name|it]]\n"
    assert "Links in 1 note were updated" in await page.text(".notice.good")
    await page.click(".notice.good button")
    await page.until("document.getElementById('note-title')?.textContent === 'Old name'")
    assert (serving.vault / "Leads.md").read_text("utf-8") == "see [[Old name]] and [[Old name|it]]\n"
    assert (serving.vault / "Old name.md").exists()


async def test_a_note_is_deleted_after_a_question_and_comes_back(page: Page, serving: Serving) -> None:
    file = serving.vault / "Going.md"
    write_vault(serving.vault, {"Going.md": "text\n", "Points.md": "see [[Going]]\n"})
    await show(page, serving, "Going.md")
    await page.until("document.querySelector('.panel')?.textContent.includes('Points')")
    await choose(page, "delete")
    await page.until("document.querySelector('dialog[open]')?.textContent.includes('1 note links to it')")
    # Enter does the harmless thing.
    await page.key("Enter")
    await page.until("!document.querySelector('dialog[open]')")
    assert file.exists()
    await choose(page, "delete")
    await page.click("dialog[open] .reject")
    await page.until("document.querySelector('.home')")
    assert not file.exists()
    await page.click(".notice.good button")
    await page.until("document.getElementById('note-title')?.textContent === 'Going'")
    assert file.read_text("utf-8") == "text\n"


async def test_whoever_answers_no_question_is_back_at_the_menu(page: Page, serving: Serving) -> None:
    await show(page, serving, "Ada.md")
    for act in ("rename", "delete"):
        await choose(page, act)
        await page.until("document.querySelector('dialog[open]')")
        await page.key("Escape")
        await page.until("!document.querySelector('dialog[open]')")
        assert await page.run("document.activeElement.matches('.menu-button')")


# other files


ALL_IN_SIGHT = """(() => {
  const pane = document.querySelector('.canvas').getBoundingClientRect();
  return [...document.querySelectorAll('.canvas-card')].map((card) => card.getBoundingClientRect())
    .every((box) => box.left >= pane.left && box.right <= pane.right
      && box.top >= pane.top && box.bottom <= pane.bottom);
})()"""


async def test_a_base_is_a_table_and_cards_and_a_canvas_a_picture_that_moves(
    page: Page, serving: Serving
) -> None:
    await show(page, serving, "Observatory.base")
    await page.until("document.querySelector('.base-table')")
    assert (await page.run(select_texts(".base-table th")))[:2] == ["Name", "priority"]
    await page.click(".base-head button:nth-child(3)")
    await page.until(
        "document.querySelectorAll('.cards .base-card').length === 3 || document.querySelector('.cards')"
    )
    assert "view=Best+nights" in await page.run("location.hash")
    await show(page, serving, "Spring plan.canvas")
    await page.until("document.querySelectorAll('.canvas-card').length === 7")
    await page.until("document.querySelector('.canvas-card .note-body h1')")
    moved = "getComputedStyle(document.querySelector('.canvas-layer')).transform"
    before = await page.run(moved)
    await page.run("document.querySelector('.canvas').focus()")
    await page.key("ArrowRight")
    await page.until(f"{moved} !== {json.dumps(before)}")
    await page.key("0")
    await page.until(f"{moved} === {json.dumps(before)}")
    # Whoever sees all of it still does when the window changes, and who has moved it stays where they are.
    await page.size(700, 500)
    await page.until(f"{moved} !== {json.dumps(before)}")
    await page.until(ALL_IN_SIGHT)
    await page.size(1280, 900)
    await page.until(f"{moved} === {json.dumps(before)}")
    await page.click("[aria-label='Zoom in']")
    scale = "new DOMMatrix(getComputedStyle(document.querySelector('.canvas-layer')).transform).a"
    await page.until(f"{moved} !== {json.dumps(before)}")
    zoomed = await page.run(scale)
    await page.size(700, 500)
    await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert await page.run(scale) == zoomed


ENCODE = """(async () => {
  const canvas = Object.assign(document.createElement('canvas'), { width: %d, height: %d });
  canvas.getContext('2d').fillRect(0, 0, 5, 5);
  const blob = await new Promise((done) => canvas.toBlob(done, %s));
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
})()"""


async def test_room_is_left_for_a_picture_before_it_comes(page: Page, serving: Serving) -> None:
    """Sizes are read from the files that Chromium itself makes, in every format it can."""
    random_ = random.Random(5)
    embeds = []
    for kind in ("png", "jpeg", "webp"):
        for number in range(4):
            width, height = random_.randrange(1, 2000), random_.randrange(1, 400)
            data = base64.b64decode(await page.run(ENCODE % (width, height, json.dumps(f"image/{kind}"))))
            assert measure_picture(data) == (width, height)
            for cut in (0, 1, 10, 20):
                assert measure_picture(data[:cut]) is None
            (serving.vault / f"{kind}{number}.{kind}").write_bytes(data)
            embeds.append(f"![[{kind}{number}.{kind}]]\n")
    write_vault(serving.vault, {"Pictures.md": "\n".join(embeds) + "\nthe end\n"})
    await show(page, serving, "Pictures.md")
    await page.until("document.querySelectorAll('.md-picture img[width][height]').length === 12")
    place = "document.querySelector('.note-body > p:last-of-type').offsetTop"
    before = await page.run(place)
    await page.run(
        "document.querySelectorAll('.md-picture img').forEach((image) => (image.loading = 'eager'))"
    )
    await page.until("[...document.querySelectorAll('.md-picture img')].every((image) => image.complete)")
    assert await page.run(place) == before


PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj trailer<</Root 1 0 R>>
"""


async def test_pictures_and_documents_of_the_vault_are_shown(page: Page, serving: Serving) -> None:
    (serving.vault / "Paper.pdf").write_bytes(PDF)
    await page.go(f"{serving.url}/#/note/Paper.pdf")
    await page.until("Boolean(document.querySelector('.pdf iframe')?.contentWindow)")
    await page.go(f"{serving.url}/#/note/Attachments/m81-sketch.png")
    await page.until("document.querySelector('.attachment img')?.naturalWidth > 10")
    assert "kB" in await page.text(".attachment figcaption")


# the assistant


async def test_selected_lines_are_shared_and_mentioned_to_the_assistant(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Lines.md": "# Lines\n\nfirst paragraph\n\nsecond paragraph\n\nthird\n"})
    async with serving.assistant() as client:
        await show(page, serving, "Lines.md")
        await page.until("document.querySelectorAll('.note-body p').length === 3")
        await page.run(
            "(() => { const rows = document.querySelectorAll('.note-body p'); "
            "getSelection().setBaseAndExtent(rows[0].firstChild, 2, rows[1].firstChild, 5); })()"
        )
        await page.until("document.getElementById('mention').textContent.includes('Mention lines 3–5')")
        selection = await client.next("selection_changed")
        while not selection["text"]:
            selection = await client.next("selection_changed")
        assert selection["text"] == "first paragraph\n\nsecond paragraph"
        await page.run("document.getElementById('mention').click()")
        mention = await client.next("at_mentioned")
        assert (mention["lineStart"], mention["lineEnd"]) == (2, 4)
        assert "was mentioned to 1 assistant." in await page.text(".notice")


async def test_a_note_that_the_assistant_opens_is_shown(page: Page, serving: Serving) -> None:
    async with serving.assistant() as client:
        await client.tool("openFile", filePath=str(serving.vault / "Ada.md"), startText="friend")
        await page.until("document.getElementById('note-title')?.textContent === 'Ada'")


# nothing runs

HOSTILE = [
    "<script>window.owned = 1</script>",
    '<img src=x onerror="window.owned = 1">',
    '<img src="https://outside.invalid/pixel.png">',
    "![beacon](https://outside.invalid/pixel.png)",
    "[click me](javascript:window.owned=1)",
    "[click me](JaVaScRiPt&colon;window.owned=1)",
    "<javascript:window.owned=1>",
    '<a href="javascript:window.owned=1">click me</a>',
    '<a href="data:text/html,<script>parent.owned=1</script>">click me</a>',
    '<svg onload="window.owned = 1"><script>window.owned=1</script></svg>',
    '<svg><animate onbegin="window.owned=1" attributeName=x dur=1s></svg>',
    "<math><mtext><table><mglyph><style><img src=x onerror=window.owned=1></style></mglyph></table></math>",
    '<math><maction actiontype="statusline" xlink:href="javascript:window.owned=1">click me</maction></math>',
    '<iframe src="https://outside.invalid/"></iframe>',
    '<iframe srcdoc="<script>parent.owned=1</script>"></iframe>',
    "<object data='javascript:window.owned=1'></object>",
    "<embed src='javascript:window.owned=1'>",
    "<style>body { background: url(https://outside.invalid/x) } #app { display: none }</style>",
    "<link rel=stylesheet href=https://outside.invalid/x.css>",
    '<meta http-equiv="refresh" content="0; url=https://outside.invalid/">',
    "<base href=https://outside.invalid/>",
    "<form action=https://outside.invalid/><button>x</button><input autofocus onfocus=window.owned=1></form>",
    '<details open ontoggle="window.owned = 1"><summary>click me</summary></details>',
    '<div onmouseover="window.owned = 1" class="notice accept" id="state">hover</div>',
    '<video><source onerror="window.owned = 1"></video>',
    '<body onload="window.owned = 1">',
    "<template><script>window.owned = 1</script></template>",
    '<noscript><p title="</noscript><img src=x onerror=window.owned=1>"></noscript>',
    '<span data-md="aaaaaaaa:0">mark</span>',
    '<p data-md-line="1" data-line="1" data-task="1">a line</p>',
    "[[<img src=x onerror=window.owned=1>]]",
    "![[<img src=x onerror=window.owned=1>.png]]",
    "#<img src=x onerror=window.owned=1>",
    "> [!<img src=x onerror=window.owned=1>] title <script>window.owned=1</script>",
    "$\\href{javascript:window.owned=1}{x}$ $\\html{<img src=x onerror=window.owned=1>}$",
    "$</math><img src=x onerror=window.owned=1>$",
    "```<img src=x onerror=window.owned=1>\n<script>window.owned = 1</script>\n```",
    "[^1]\n\n[^1]: <img src=x onerror=window.owned=1>",
    "| <script>window.owned = 1</script> |\n|---|\n| <svg onload=window.owned=1> |",
    "- [ ] <svg onload=window.owned=1>",
    "%%<img src=x onerror=window.owned=1>",
]


def mutate(random_: random.Random, text: str) -> str:
    """Two attacks woven together, or a tag broken where parsers disagree."""
    other = random_.choice(HOSTILE)
    at = random_.randrange(len(text) + 1)
    return random_.choice(
        [
            text[:at] + other + text[at:],
            text[:at]
            + random_.choice(["\0", "<", ">", '"', "`", "<!--", "]]>", "</p>", "\n\n", "%%", "$", "[["])
            + text[at:],
            text.swapcase() if "owned" not in text.swapcase().lower() else text.replace(" ", "/"),
            f"> {text}",
            f"<div>{text}",
            f"- {text}\n  - {other}",
            f"<p><table><tr><td>{text}</p>{other}",
        ]
    )


async def test_nothing_in_a_note_runs_loads_or_dresses_up_as_the_page(page: Page, serving: Serving) -> None:
    random_ = random.Random(13)
    drawn = [mutate(random_, random_.choice(HOSTILE)) for _ in range(300)]
    for number, parts in enumerate((HOSTILE, drawn[:150], drawn[150:])):
        title = json.dumps(f"<script>window.owned = 1</script>{number}")
        front = f"---\ntitle: {title}\ntags: ['<img src=x onerror=window.owned=1>']\n---\n"
        write_vault(serving.vault, {f"Hostile{number}.md": front + "\n\n".join(parts) + "\n\nthe end\n"})
        page.forget()
        await show(page, serving, f"Hostile{number}.md")
        await page.until("document.querySelector('.note-body')?.childNodes.length")
        for _ in range(2):
            await page.run(
                "document.querySelectorAll('.note-body *').forEach((node) => {"
                "for (const name of ['mouseover', 'focus', 'toggle', 'error', 'load', 'begin'])"
                "node.dispatchEvent(new Event(name, {bubbles: true})); })"
            )
            await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert await page.run("window.owned") is None
        tags = await page.run(
            "[...new Set([...document.querySelectorAll('.note-body *')].map((e) => e.localName))]"
        )
        assert not set(tags) & {
            "script", "iframe", "object", "embed", "form", "style", "link", "meta", "base", "svg", "button",
            "template", "video", "audio", "source", "maction", "textarea", "select",
        }  # fmt: skip
        unsafe = await page.run(
            "[...document.querySelectorAll('.note-body *')].flatMap((node) => [...node.attributes])"
            ".map(({name, value}) => `${name}=${value}`)"
            ".filter((text) => /^(on|style=|id=|name=|data-md|data-task=1$)|"
            "^(src|href|action)=\\s*(javascript|data:text|vbscript|https:..outside.invalid.x)/i.test(text))"
        )
        assert unsafe == []
        classes = await page.run(
            "[...new Set([...document.querySelectorAll('.note-body *')].flatMap((e) => [...e.classList]))]"
        )
        assert [name for name in classes if not name.startswith(("md-", "hljs", "tml-", "language-"))] == []
        outside = [
            url
            for url in page.list_requests()
            if not url.startswith((serving.url, serving.url.replace("http", "ws")))
        ]
        assert outside == []
    # The browser says that it applied no inline style and found no picture; those are the policies at work.
    page.forget()


async def test_a_link_that_another_program_writes_appears_among_the_backlinks(
    page: Page, serving: Serving
) -> None:
    write_vault(serving.vault, {"Linked later.md": "text\n"})
    await show(page, serving, "Linked later.md")
    await page.until("document.querySelector('.panel')?.textContent.includes('No note links here yet.')")
    write_vault(serving.vault, {"Links later.md": "see [[Linked later]]\n"})
    await page.until("document.querySelector('.backlinks')?.textContent.includes('Links later')")


STATUS = "document.querySelector('.editing-bar [role=status]')?.innerText"

TYPING = "document.activeElement?.shadowRoot?.activeElement?.matches('.cm-content')"


async def wait_for_answer(page: Page, part: str) -> None:
    """Wait until the page has had an answer from an address with `part`, and the time to act on it."""
    found = (
        f"performance.getEntriesByType('resource').some((entry) => entry.name.includes({json.dumps(part)}))"
    )
    await page.until(found)
    await page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


async def edit(page: Page, path: str) -> None:
    await page.run(f"location.hash = '#/note/{quote(path)}?edit=1'")
    await page.until(TYPING)


async def test_a_late_answer_about_one_note_leaves_the_next_one_shown(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Slow.md": "- [ ] think\n"})
    await page.run("location.hash = '#/note/Slow.md'")
    await page.until("document.querySelector('[data-task]')")
    await page.run("performance.clearResourceTimings()")
    async with page.holding("*/page/api/note?*path=Slow.md*", answered=True) as held:
        await page.click("[data-task]")
        await asyncio.wait_for(held, BOUND)
        await page.run("location.hash = '#/note/Ada.md'")
        await page.until("document.querySelector('.note-body')?.innerText.includes('friend')")
    await wait_for_answer(page, "path=Slow.md")
    assert "friend" in await page.run("document.querySelector('.note-page').innerText")


async def test_what_is_typed_while_the_server_saves_is_not_called_saved(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Typed.md": "start"})
    await edit(page, "Typed.md")
    await page.key("End", control=True)
    await page.type(" one")
    async with page.holding("*/page/api/note*", answered=True) as held:
        await page.key("s", control=True)
        await asyncio.wait_for(held, BOUND)
        await page.until(f"{STATUS} === 'Saving…'")
        await page.type(" two")
    await page.until(f"{STATUS} !== 'Saving…'")
    assert await page.run(STATUS) == "Not saved"
    await page.key("s", control=True)
    await page.until(f"{STATUS} === 'Saved'")
    assert (serving.vault / "Typed.md").read_text("utf-8").strip() == "start one two"


async def test_what_was_typed_is_there_after_a_reload(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Kept.md": "start"})
    await edit(page, "Kept.md")
    await page.key("End", control=True)
    await page.type(" and more")
    await page.until(f"{STATUS} === 'Not saved'")
    await page.reload()
    await page.until(TYPING)
    assert await page.run(STATUS) == "Not saved"
    await page.key("s", control=True)
    await page.until(f"{STATUS} === 'Saved'")
    assert (serving.vault / "Kept.md").read_text("utf-8").strip() == "start and more"


async def test_text_typed_in_a_conflict_stays_when_another_view_is_opened(
    page: Page, serving: Serving
) -> None:
    write_vault(serving.vault, {"Clash.md": "start\n"})
    await edit(page, "Clash.md")
    await page.type("mine ")
    (serving.vault / "Clash.md").write_text("theirs\n", "utf-8")
    await page.until(f"{STATUS}?.includes('has changed too')")
    await page.key("s", control=True)
    right = "document.querySelector('.conflict .editor')?.shadowRoot?.querySelectorAll('.cm-content')[1]"
    await page.until(right)
    await page.run(f"{right}.focus()")
    await page.type("merged ")
    await page.run("location.hash = '#/note/Ada.md'")
    await page.until("document.querySelector('.note-body')")
    await edit(page, "Clash.md")
    await page.key("s", control=True)
    await page.until(f"{right}?.innerText.includes('merged mine start')")
    await page.click(".conflict-tools .reject")
    await page.until("!document.querySelector('.editing')")


async def test_an_editor_in_which_nothing_was_typed_follows_the_note(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Followed.md": "start\n"})
    await edit(page, "Followed.md")
    (serving.vault / "Followed.md").write_text("changed by another program\n", "utf-8")
    text = "document.querySelector('.editor').shadowRoot.querySelector('.cm-content')?.innerText"
    await page.until(f"{text}.includes('another program')")
    await page.type("Then typed. ")
    await page.key("s", control=True)
    await page.until(f"{STATUS} === 'Saved'")
    saved = (serving.vault / "Followed.md").read_text("utf-8")
    assert "Then typed." in saved and "changed by another program" in saved


async def test_the_text_of_a_note_that_another_program_deletes_is_kept(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"Gone.md": "start"})
    await edit(page, "Gone.md")
    await page.key("End", control=True)
    await page.type(" of something")
    (serving.vault / "Gone.md").unlink()
    await page.until("document.querySelector('textarea.draft')?.value === 'start of something'")
    assert await find_barriers(page) == []
    await page.click(".empty .accept")
    await page.until(f"{STATUS} === 'Saved'")
    assert (serving.vault / "Gone.md").read_text("utf-8") == "start of something"
    page.forget()  # The browser logs the 404.


async def test_a_note_on_its_way_is_not_called_missing(page: Page, serving: Serving) -> None:
    await page.run("location.hash = '#/note/Not%20there.md'")
    assert "There is no" in await page.text(".empty h1")
    async with page.holding("*/page/api/note?*path=Ada.md*") as held:
        await page.run("location.hash = '#/note/Ada.md'")
        await asyncio.wait_for(held, BOUND)
        await page.until("document.querySelector('.note-title')?.innerText === 'Ada'")
        assert not await page.run("document.querySelector('.empty')")
    await page.until("document.querySelector('.note-body')?.innerText.includes('friend')")
    page.forget()  # The browser logs the 404.


RIGHT_TO_LEFT = """# مرحبا

هذا نص عربي. abc

- [ ] مهمة
- بند

> اقتباس

English, then عربي.

```python
print("abc")
```
"""


async def test_each_block_is_written_in_the_direction_of_its_text(page: Page, serving: Serving) -> None:
    write_vault(serving.vault, {"مرحبا.md": RIGHT_TO_LEFT})
    await show(page, serving, "مرحبا.md")
    await page.until("document.querySelector('.note-body pre')")
    directions = "[...document.querySelector('.note-body').children].map((child) => [child.localName,"
    directions += " getComputedStyle(child).direction].join())"
    assert await page.run(directions) == [
        "h1,rtl", "p,rtl", "ul,rtl", "blockquote,rtl", "p,ltr", "pre,ltr",
    ]  # fmt: skip
    edge = "(() => { const find = (at) => document.querySelector(`.note-body ${at}`).getBoundingClientRect();"
    edge += " const item = find('li'); return find('input').right > (item.left + item.right) / 2; })()"
    assert await page.run(edge)  # The box stands where the line begins.
    assert await page.run("getComputedStyle(document.getElementById('note-title')).direction") == "rtl"
    await keep_screenshot(page, "vault-right-to-left")
    await edit(page, "مرحبا.md")
    lines = "[...document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-line')]"
    starts = f"{lines}.slice(2, 11).filter((line) => line.innerText.trim()).map((line) => {{"
    starts += " const [text, all] = [document.createRange(), line.getBoundingClientRect()];"
    starts += " text.selectNodeContents(line); const box = text.getBoundingClientRect();"
    starts += " return box.right > all.right - 40 ? 'right' : 'left'; })"
    assert await page.run(starts) == ["right", "right", "right", "right", "left"]


async def test_a_view_that_failed_while_the_server_was_away_loads_when_it_is_back(
    chromium: Chromium, tmp_path: Path
) -> None:
    notes = {"Here.md": "here\n", "There.md": "there\n"}
    with held_port() as port:
        serving = Serving(write_vault(tmp_path / "Away", notes), tmp_path / "home", port)
        serving.index()
        async with chromium.page() as page:
            for place, text in (("note/There.md", "there"), ("search?q=there", "1 note")):
                with serving.running():
                    await page.go(serving.link())
                    await page.until(CONNECTED)
                    await page.run("location.hash = '#/note/Here.md'")
                    await page.until("document.querySelector('.note-body')?.innerText.includes('here')")
                await page.until("document.getElementById('state').dataset.state === 'lost'")
                await page.run(f"location.hash = '#/{place}'")
                message = await page.text(".vault-content .failure")
                assert message.count("cannot be reached") == 1
                with serving.running():
                    await page.until(f"document.querySelector('.vault-content').innerText.includes('{text}')")
                    assert not await page.run("document.querySelector('.vault-content .failure')")
