"""`context`: passages are exact, fit, and come from notes that the caller may see, whatever the vault."""

from __future__ import annotations

import random
import re

import pytest

from support.drawn_vaults import draw_vault
from support.long_form import mark_long_after
from support.scripts import draw_words
from support.tools import Small
from vaultbridge.engine.context import gather, render
from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.text import split_with_starts
from vaultbridge.vault.scope import Scope


@pytest.mark.parametrize("seed", mark_long_after(3, range(12)))
def test_whatever_is_asked_passages_are_exact_and_fit(small: Small, seed: int) -> None:
    rng = random.Random(seed)
    words = [word for word in draw_words(seed, 18) if word.isprintable()]
    harness = small(draw_vault(rng, words), scope=Scope(deny=("g/",)))
    for _ in range(12):
        question = " ".join(rng.sample(words, rng.randint(1, 4)))
        budget = rng.choice((200, 300, 500, 1000, 4000, 20_000))
        found = gather(harness.engine, question, max_chars=budget)
        answer = harness.text("context", question=question, max_chars=budget)
        assert answer == render(found)
        assert len(answer) <= budget
        for passage in found.passages:
            assert not passage.path.startswith("g/")
            text = (harness.folder / passage.path).read_bytes().decode()
            rows, starts = split_with_starts(text)
            first = starts[passage.line - 1]
            end = starts[passage.end_line] if passage.end_line < len(rows) else len(text)
            assert passage.text in text[first:end]
            assert passage.text and passage.text in answer
            assert f":{passage.line}]" in answer or f"[{passage.line}]" in answer
        assert not any(note.path.startswith("g/") for note in found.linked)
        texts = [passage.text for passage in found.passages]
        assert len(texts) == len(set(texts))


PLAN = {
    "Plan.md": "---\ntags: [work]\n---\n# Plan\n\nThe harvest begins in May.\n\n"
    "## Tools\n\nFor the harvest, two scythes from [[Shed]].\n",
    "Shed.md": "# Shed\n\nThe key hangs behind the door.\n",
    "Copy of Plan.md": "# Plan\n\nThe harvest begins in May.\n\n## Rest\n\n" + "Something else. " * 20,
    "Weather.md": "Rain in May, says the harvest calendar of [[Shed]] and [[Shed|the shed]].\n",
    "Far.md": "Nothing of it.\n",
}


def test_words_that_only_a_canvas_has_are_left_to_search(small: Small) -> None:
    card = '{"id":"a","type":"text","text":"harvest","x":0,"y":0,"width":9,"height":9}'
    harness = small({"Board.canvas": f'{{"nodes":[{card}],"edges":[]}}'})
    answer = harness.text("context", question="harvest")
    assert answer == "(nothing to quote; search lists what has the words)"
    assert "Board.canvas" in harness.text("search", query="harvest")


def test_passages_come_with_their_place_links_and_what_was_left(small: Small) -> None:
    *rows, ending = small(PLAN).rows("context", question="When is the harvest?")
    assert rows == [
        "[Plan.md:6]",
        "The harvest begins in May.",
        "[#Tools:10]",
        "For the harvest, two scythes from [[Shed]].",
        "[Weather.md:1]",
        "Rain in May, says the harvest calendar of [[Shed]] and [[Shed|the shed]].",
        "Linked from here: Shed (3)",
    ]
    assert re.fullmatch(r"\(2 of [34] notes; search lists the others\)", ending), "the copy at least"


def test_a_map_of_notes_asked_for_by_name_comes_with_all_its_links(small: Small) -> None:
    names = [f"Topic {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    listed = "\n".join(f"- [[{name}]]: " + "what it is about, in some words " * 4 for name in names)
    files: dict[str, str | bytes] = {f"{name}.md": "text" for name in names}
    top = "---\naliases: [Index of it all]\n---\n"
    harness = small({**files, "Garden map.md": f"{top}# Everything\n\n{listed}\n"})
    for budget in (1_500, 4_000, 20_000):
        answer = harness.text("context", question="what is in the garden map?", max_chars=budget)
        assert len(answer) <= budget
        assert answer.startswith("[Garden map.md:4]\n# Everything")
        assert all(name in answer for name in names)
    short = harness.text("context", question="garden map", max_chars=1_500)
    assert "More links of Garden map.md: Topic" in short
    assert short == harness.text("context", question="Index of it all", max_chars=1_500), "its alias"


@pytest.mark.parametrize("between", [" ", "\n"])
def test_links_take_the_room_before_other_notes_and_the_text_of_their_map(small: Small, between: str) -> None:
    names = [f"Subject number {number}" for number in range(60)]
    listed = between.join(f"- [[{name}]] and {'some words of it ' * 5}" for name in names)
    files = {f"Other {number}.md": "The garden map is mentioned here. " * 30 for number in range(9)}
    harness = small({**files, "Garden map.md": f"{listed}\n"})
    answer = harness.text("context", question="garden map", max_chars=2_500)
    assert len(answer) <= 2_500
    assert all(name in answer for name in names)
    assert not re.search(r"and \d+ more", answer)


def test_a_map_is_found_by_a_question_that_names_nothing_else(small: Small) -> None:
    names = [f"Topic {letter}" for letter in "ABCDEFGHIJ"]
    listed = "\n".join(f"- [[{name}]]" for name in names)
    others = {f"Part {number} of notes.md": "# Uni\n\nUni and the uni MOC. " * 9 for number in range(9)}
    harness = small({**others, "Uni MOC.md": listed})
    for question in ("Uni MOC", "what is in Uni MOC?", "what do you have in the uni moc"):
        assert harness.text("context", question=question).startswith("[Uni MOC.md:1]"), question


def test_an_article_with_links_is_cut_to_what_was_asked(small: Small) -> None:
    """A long note that the question names is no map of others: its passages are those about the question."""
    filler = "\n\n".join(
        f"Paragraph {number} about [[Place {number}]]. " + "More text. " * 40 for number in range(30)
    )
    harness = small({"Verlo.md": f"{filler}\n\nThe town of Verlo was founded by two millers.\n\n{filler}\n"})
    answer = harness.text("context", question="who founded Verlo", max_chars=1_000)
    assert "founded by two millers" in answer
    assert "More links" not in answer


def test_a_map_that_is_named_beside_a_question_adds_its_links(small: Small) -> None:
    names = [f"Topic {letter}" for letter in "ABCDEFGHIJ"]
    listed = "\n".join(f"- [[{name}]]" for name in names)
    harness = small(
        {
            "Atlas.md": f"# Atlas\n\nThe ferry leaves at nine.\n\n# Parts\n\n{listed}\n",
            "B.md": "A ferry, slow.\n",
        }
    )
    answer = harness.text("context", question="what does the Atlas say about the ferry")
    assert "The ferry leaves at nine." in answer and "A ferry, slow." in answer
    assert all(name in answer for name in names)


def test_nothing_found_and_an_empty_question_are_reported(small: Small) -> None:
    harness = small(PLAN)
    assert harness.text("context", question="zebra") == "(no note has any of the words)"
    assert harness.rows("context", question="zebra harvest")[0] == "(no note has all the words)"
    assert harness.catch_refusal(InvalidArgument, "context", question=" ").argument == "question"
    assert harness.catch_refusal(InvalidArgument, "context").argument == "question"
    assert (
        harness.catch_refusal(InvalidArgument, "context", question="a", max_chars=199).argument == "max_chars"
    )


def test_hidden_notes_give_no_passage_no_link_and_no_count(small: Small) -> None:
    harness = small(PLAN, scope=Scope(deny=("Shed.md", "Weather.md", "Copy of Plan.md")))
    answer = harness.text("context", question="harvest scythes key door")
    assert "Weather" not in answer and "Linked" not in answer and "key hangs" not in answer
    assert answer.endswith("(notes: 1)")


BADGES = "[![Harvest](https://ci.example/h.svg)](https://ci.example/h)"
PLUGIN = f"""---
tags: [plugin]
---

%% ----- Harvest badges ----- %%

{BADGES} {BADGES}

%% ----- end of the badges ----- %%

# Harvest plugin

Counts the harvest of a week.

<!-- Harvest:
the next part is generated -->

It can draw the harvest of a year.

%% Harvest footer: please do not edit anything below %%

# This note elsewhere

<span>[Edit the harvest](https://x.example/e) | [Copy the harvest](https://x.example/c)</span>
"""


def test_comments_badges_and_footers_are_no_passages(small: Small) -> None:
    found = gather(small({"Plugin.md": PLUGIN}).engine, "what does the harvest plugin do")
    assert [(passage.line, passage.text) for passage in found.passages] == [
        (13, "Counts the harvest of a week."),
        (18, "It can draw the harvest of a year."),
    ]


def test_they_are_no_places_that_a_search_shows(small: Small) -> None:
    harness = small({"Plugin.md": PLUGIN})
    answer = harness.text("search", query="harvest", matches=10)
    assert "Counts the" in answer and "It can draw" in answer
    for hidden in ("badges", "generated", "please do not edit", "x.example", "ci.example"):
        assert hidden not in answer


def test_a_note_is_still_found_by_its_comments(small: Small) -> None:
    harness = small({"Plugin.md": PLUGIN, "Other.md": "Something else.\n"})
    assert "Plugin.md#Harvest plugin:16: the next part is generated -->" in harness.text(
        "search", query="generated"
    )
    assert harness.text("context", question="generated").startswith("[Plugin.md")


def test_a_section_is_shown_although_a_longer_one_that_is_cut_contains_it(small: Small) -> None:
    """The digest ranks first, but what is shown of it is its beginning, so the section that it copies is no
    repetition."""
    section = (
        "The harvest of the orchard is stored in the cellar. " + "Straw lies between the boxes there. " * 8
    )
    begin = "Orchard harvest, harvest orchard: news of the orchard and of its harvest. " * 3
    digest = (
        f"# Orchard harvest\n\n{begin}\n{'Other news of the valley, week after week. ' * 90}\n\n{section}\n"
    )
    notes = {"Orchard harvest.md": digest, "Storage.md": f"# Storage\n\n{section}\n"}
    notes |= {f"Day {day}.md": f"# Day\n\nDay {day} of the harvest. {'Rain. ' * 150}\n" for day in range(9)}
    passages = gather(small(notes).engine, "orchard harvest").passages
    assert passages[0].path == "Orchard harvest.md"
    shown = [passage.text for passage in passages if "stored in the cellar" in passage.text]
    assert len(shown) == 1, [(passage.path, passage.text) for passage in passages]
