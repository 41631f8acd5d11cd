"""Every tool that takes a person's words takes those of every script: drawn, not picked.

Each word is the name, a property, a tag, a heading, a task and a link of its own note, and every way of
asking for it must lead to that note."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support.long_form import mark_long_after
from support.scripts import draw_words, list_scripts
from support.tools import Small
from support.vault import VaultProcess, make_small_vault, open_engines
from vaultbridge.engine.context import gather
from vaultbridge.index.fold import fold_text
from vaultbridge.links.resolve import name_key
from vaultbridge.protocols.mcp.vault.completion import Completions

WORDS_AT_ONCE = 30
SEEDS = range(-(-len(list_scripts()) // WORDS_AT_ONCE))
"""As many vaults as it takes for every script to have its turn."""


def compose(text: str) -> str:
    """How paths are written in answers, whatever form the disk has."""
    return unicodedata.normalize("NFC", text)


def is_tag_name(word: str) -> bool:
    """The app's tags hold no joiners, no punctuation and no number alone."""
    odd = any("\u2000" <= char <= "\u206f" or "\u2e00" <= char <= "\u2e7f" for char in word)
    return not odd and not word.isdigit()


def drop_equal_words(words: list[str]) -> list[str]:
    """One of those that mean the same file, and none that is no name or no word."""
    found: dict[str, str] = {}
    for word in words:
        if fold_text(word).strip() and len(word.encode()) < 200 and unicodedata.combining(word[0]) == 0:
            found.setdefault(fold_text(unicodedata.normalize("NFD", name_key(word))), word)
    return list(found.values())


def note_of(number: int, word: str) -> str:
    tag = f"#{word} " if is_tag_name(word) else ""
    return (
        f'---\n"{word}": "{word}"\naliases: ["aka {word}"]\n---\n'
        f"# {word}\n\nbegin{number} {word} end{number} {tag}\n\n- [ ] do {word}\n"
    )


def make_vault(words: list[str]) -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        f"N{number}/{word}.md": note_of(number, word) for number, word in enumerate(words)
    }
    wiki = "\n".join(f"[[{word}]]" for word in words)
    files["Wiki.md"] = wiki
    files["Markdown.md"] = "\n".join(f"[x](N{at}/{quote(word)}.md)" for at, word in enumerate(words))
    return files


def list_spellings(word: str) -> Iterator[str]:
    """The same word as another keyboard, system or person writes it."""
    for form in ("NFC", "NFD"):
        yield unicodedata.normalize(form, word)
    for other in (word.upper(), word.lower(), word.title()):
        if fold_text(other) == fold_text(word):
            yield other


def list_questions(number: int, word: str) -> Iterator[str]:
    for spelling in {word, *list_spellings(word)}:
        yield spelling
        yield f'"{spelling}"'
        yield f'"begin{number} {spelling} end{number}"'
        yield f"file:{spelling}"
        yield f"path:N{number}/{spelling}"
        yield f'[aliases:"aka {spelling}"]'
        yield f"line:({spelling} begin{number})"
        yield f"section:({spelling} end{number})"
        yield f"block:({spelling} begin{number})"
        yield f"task-todo:{spelling}"
        yield f"content:{spelling} -content:nowhere"
        yield f"[{spelling}:{spelling}]"
        if is_tag_name(word) and name_key(spelling) == name_key(word):
            yield f"tag:#{spelling}"
            yield f"line:(tag:#{spelling} begin{number})"
    for form in ("NFC", "NFD"):
        yield f"match-case:{unicodedata.normalize(form, word)}"
        yield f"match-case:[{word}:{unicodedata.normalize(form, word)}]"
    yield f"/{word}/"


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_every_way_of_asking_for_a_word_finds_its_note(small: Small, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    harness = small(make_vault(words))
    for number, word in enumerate(words):
        for question in list_questions(number, word):
            found = harness.text("search", query=question, limit=500, matches=0).splitlines()
            assert compose(f"N{number}/{word}.md") in found, (ascii(word), ascii(question))


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_the_lines_that_hold_a_word_are_shown(small: Small, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    harness = small(make_vault(words))
    for number, word in enumerate(words):
        for spelling in (*list_spellings(word), f"match-case:{unicodedata.normalize('NFC', word)}"):
            shown = harness.text("search", query=f"path:N{number}/ {spelling}", matches=100)
            assert f"{compose(word)}.md\n" in shown, (ascii(word), ascii(spelling))
            assert f"\n 5: # {word}\n" in shown, (ascii(word), ascii(spelling))


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_questions_in_every_script_are_answered_with_their_passages(small: Small, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    harness = small(make_vault(words))
    for number, word in enumerate(words):
        path = compose(f"N{number}/{word}.md")
        for question in (f"{word} end{number}", f"begin{number} {word}", f"nowhere {word} end{number}"):
            shown = harness.text("search", query=question)
            assert re.match(rf"(\(no note has all .*\n)?{re.escape(path)}", shown), (
                ascii(word),
                ascii(question),
            )
            passages = gather(harness.engine, question).passages
            assert passages[0].path == path, (ascii(word), ascii(question))
            assert any(f"{word} end{number}" in passage.text for passage in passages), ascii(word)


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_names_tags_properties_and_links_of_every_script(small: Small, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    harness = small(make_vault(words))
    tags = harness.text("tags", limit=500)
    properties = harness.text("properties", limit=500)
    for number, word in enumerate(words):
        path = compose(f"N{number}/{word}.md")
        for form in ("NFC", "NFD"):
            spelling = unicodedata.normalize(form, word)
            for name in (spelling, f"[[{spelling}]]", f"aka {spelling}", f"N{number}/{spelling}"):
                assert harness.engine.find(name.strip("[]")) == path, ascii(name)
            assert word in harness.text("read_note", name=spelling)
        links = harness.text("links", name=word)
        assert "Wiki.md" in links and "Markdown.md" in links, ascii(word)
        assert word in properties, ascii(word)
        if is_tag_name(word):
            assert name_key(word) in name_key(tags), ascii(word)


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_notes_of_every_script_are_edited_and_renamed_and_links_follow(small: Small, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    half = len(words) // 2
    words, targets = words[:half], words[half : 2 * half]
    harness = small(make_vault(words))
    for number, (word, target) in enumerate(zip(words, targets, strict=True)):
        path = f"N{number}/{word}.md"
        new = compose(f"N{number}/{target}.md")
        harness.call("edit_note", op="append", name=word, heading=word, content=f"under {target}")
        harness.call(
            "edit_note",
            op="replace_text",
            name=path,
            old=f"begin{number} {word}",
            new=f"begin{number} {target}",
        )
        harness.call("edit_note", op="set_property", name=word, property=target, value=target)
        assert f"begin{number} {target} end{number}" in harness.read(path)
        assert f"under {target}" in harness.read(path)
        assert target in harness.text("read_note", name=word, heading=word)
        harness.call("move_note", name=word, to=target)
        assert harness.engine.find(target) == new
        found = harness.text("search", query=f'"under {target}"', matches=0).splitlines()
        assert new in found, ascii(target)
    assert harness.read("Wiki.md").splitlines() == [f"[[{compose(target)}]]" for target in targets]
    for number, (word, target) in enumerate(zip(words, targets, strict=True)):
        assert harness.text("links", name=target).count("Wiki.md") == 1, (ascii(word), ascii(target))
        assert harness.engine.queries.backlinks(harness.engine.find(target)), number


@pytest.mark.parametrize("seed", mark_long_after(2, SEEDS))
def test_names_tags_and_properties_of_every_script_are_suggested(tmp_path: Path, seed: int) -> None:
    words = drop_equal_words(draw_words(seed, WORDS_AT_ONCE))
    engines = open_engines(tmp_path, make_small_vault(tmp_path, make_vault(words)))
    try:
        suggest = Completions(engines).suggest
        for number, word in enumerate(words):
            for spelling in (word, *list_spellings(word)):
                assert compose(word) in suggest("note", spelling).values, (ascii(word), ascii(spelling))
                assert compose(f"N{number}/{word}.md") in suggest("path", spelling).values, ascii(spelling)
                assert word in suggest("property", spelling).values, ascii(spelling)
    finally:
        engines.close()


async def test_a_real_process_answers_in_every_script(tmp_path: Path) -> None:
    words = drop_equal_words(draw_words(7, 18))
    vault = make_small_vault(tmp_path, make_vault(words))
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        for number, word in enumerate(words):
            path = f"N{number}/{word}.md"
            for question in (word, f'"{word} end{number}"', f"file:{word}", f"line:({word} begin{number})"):
                found = await process.text("search", query=question, limit=500, matches=0)
                assert compose(path) in found.splitlines(), ascii(question)
            assert word in await process.text("read_note", name=word)
            passages = await process.text("context", question=f"{word} end{number}", max_chars=1000)
            assert f"{word} end{number}" in passages and len(passages) <= 1000, ascii(word)
            await process.text("edit_note", op="append", name=word, heading=word, content=f"more {word}")
            assert f"more {word}" in (vault / path).read_text()
            await process.text("move_note", name=word, to=f"{word}x")
        assert (vault / "Wiki.md").read_text().splitlines() == [f"[[{compose(word)}x]]" for word in words]
