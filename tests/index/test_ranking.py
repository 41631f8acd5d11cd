"""Questions in plain words: which notes and sections come first, and what nobody may learn from a rank."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.index import Vault
from support.scripts import drawn_words
from vaultbridge.errors import InvalidArgument
from vaultbridge.index.ranking.question import is_plain, read_question
from vaultbridge.index.ranking.rank import RankedPage, rank

Make = Callable[[dict[str, str | bytes]], Vault]


def paths(page: RankedPage) -> list[str]:
    return [str(note.path) for note in page.notes]


@pytest.mark.parametrize("query", ["a b", "well-known thing", "what is it?", "and/or", "#1 place", "a: b"])
def test_plain_words_are_plain(query: str) -> None:
    assert is_plain(query)


@pytest.mark.parametrize(
    "query",
    [
        '"a b"',
        "a OR b",
        "-a b",
        "(a b)",
        "/a+/",
        "[done:true]",
        "tag:#a",
        "#tag",
        "[[A]]",
        "file:a",
        "",
        "a)",
    ],
)
def test_the_query_language_is_not_plain(query: str) -> None:
    assert not is_plain(query)


def test_a_note_with_some_of_the_words_is_found(make_vault: Make) -> None:
    vault = make_vault({"Workspaces.md": "Keep several window layouts.", "Sync.md": "Copies your notes."})
    page = rank(vault.index, "how do I keep different window arrangements for different tasks")
    assert paths(page) == ["Workspaces.md"]
    assert (page.total, page.with_all_words) == (1, 0)
    assert page.notes[0].missing == ("different", "arrangements", "tasks")


def test_the_best_section_is_named_with_its_lines(make_vault: Make) -> None:
    text = "intro\n# Trees\nOak and ash.\n## Care\nWater the saplings weekly.\nMore.\n# Stones\nGranite.\n"
    vault = make_vault({"Garden.md": text})
    (note,) = rank(vault.index, "water saplings").notes
    (section,) = note.sections
    assert (section.heading, section.line, section.end_line) == ("Trees > Care", 4, 6)
    (match,) = section.matches
    assert (match.line, [match.text[slice(*span)] for span in match.spans]) == (5, ["Water", "saplings"])


def test_function_words_alone_are_answered(make_vault: Make) -> None:
    vault = make_vault({"A.md": "to be or not to be", "B.md": "stone"})
    assert paths(rank(vault.index, "to be or not")) == ["A.md"]


def test_whole_words_come_before_longer_ones(make_vault: Make) -> None:
    vault = make_vault(
        {"Arta.md": "A town. Arta.", "Article.md": "An article.", "Painting.md": "It is an art."}
    )
    assert paths(rank(vault.index, "art"))[0] == "Painting.md"
    assert paths(rank(vault.index, "articl")) == ["Article.md"]


def test_the_note_of_that_name_comes_first(make_vault: Make) -> None:
    vault = make_vault(
        {"Moon.md": "A body.", "Log.md": "moon moon moon moon", "Selene.md": "---\naliases: [Luna]\n---\n"}
    )
    assert paths(rank(vault.index, "Moon"))[0] == "Moon.md"
    assert paths(rank(vault.index, "luna")) == ["Selene.md"]


def test_hidden_notes_are_neither_ranked_nor_counted(make_vault: Make) -> None:
    vault = make_vault({"A.md": "quartz", "Hidden/B.md": "quartz quartz"})
    page = rank(vault.index, "quartz", visible=lambda path: not path.startswith("Hidden/"))
    assert (paths(page), page.total, page.with_all_words) == (["A.md"], 1, 1)


def test_pages_follow_each_other(make_vault: Make) -> None:
    vault = make_vault({f"{number}.md": "quartz " * (number + 1) for number in range(7)})
    whole = paths(rank(vault.index, "quartz"))
    assert [
        path for start in range(0, 7, 3) for path in paths(rank(vault.index, "quartz", limit=3, offset=start))
    ] == whole


@pytest.mark.parametrize(
    "arguments", [{"limit": -1}, {"limit": 10_000}, {"offset": -1}, {"sections_per_note": 51}]
)
def test_numbers_out_of_bounds_are_refused(empty_vault: Vault, arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        rank(empty_vault.index, "a", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_a_word_of_any_script_is_found(make_vault: Make, seed: int) -> None:
    words = [word for word in drawn_words(seed, 12) if read_question(word).units]
    vault = make_vault({f"{number}.md": f"before {word} after" for number, word in enumerate(words)})
    for number, word in enumerate(words):
        page = rank(vault.index, f"{word} xyzzy", limit=50)
        assert f"{number}.md" in paths(page), word


@pytest.mark.parametrize("question", ["", "   ", "?!", "\ud800", "a" * 5000, "\x00", "quartz\n\ngranite"])
def test_odd_questions_are_answered(make_vault: Make, question: str) -> None:
    vault = make_vault({"A.md": "stone"})
    assert paths(rank(vault.index, question)) == []
