"""`search`: the language is the index's and tested there; here its answer."""

from __future__ import annotations

import random

import pytest

from support.drawn_vaults import draw_vault
from support.long_form import mark_long_after
from support.scripts import draw_words
from support.tools import Small
from vaultbridge.errors import InvalidArgument, InvalidQuery
from vaultbridge.index.ranking import dictionary
from vaultbridge.index.ranking.question import is_plain
from vaultbridge.markdown.text import split_with_starts
from vaultbridge.tools.base.answer import PAGE_CHARS
from vaultbridge.tools.search import NOT_ALL, choose_lines
from vaultbridge.vault.scope import Scope

FILES = {"A.md": "one\nneedle\nthree\nfour\nneedle five\n", "B.md": "needle\n", "Needle case.md": "nothing\n"}


def test_hits_are_grep_lines_and_a_name_alone_is_a_path(small: Small) -> None:
    rows = small(FILES).rows("search", query="needle", match="all", sort="path", matches=3)
    assert rows == [
        "A.md",
        " 2: needle",
        " 5: needle five",
        "B.md:1: needle",
        "Needle case.md",
        "(notes: 3)",
    ]


def test_context_lines_are_marked_and_appear_once(small: Small) -> None:
    rows = small(FILES).rows("search", query="file:A.md needle", context=2, matches=3)
    assert rows == [
        "A.md",
        " 1- one",
        " 2: needle",
        " 3- three",
        " 4- four",
        " 5: needle five",
        " 6- ",
        "(notes: 1)",
    ]


def test_lines_per_note_and_paths_only(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("search", query="needle", matches=0, sort="path")[:-1] == [
        "A.md",
        "B.md",
        "Needle case.md",
    ]
    assert harness.rows("search", query="file:A.md needle")[:-1] == ["A.md:2: needle"]


def test_hits_are_listed_in_pages(small: Small) -> None:
    harness = small(FILES)
    assert (
        harness.rows("search", query="needle", sort="name", limit=1)[-1]
        == "(notes 1-1 of 3; continue with offset=1)"
    )
    assert harness.rows("search", query="needle", sort="name", limit=1, offset=2) == [
        "Needle case.md",
        "(3-3 of 3)",
    ]


def test_more_notes_than_are_ranked_are_counted_with_a_plus(small: Small) -> None:
    harness = small({f"{number:04}.md": "needle\n" for number in range(1001)})
    assert (
        harness.rows("search", query="needle", limit=1)[-1] == "(notes 1-1 of 1000+; continue with offset=1)"
    )
    assert harness.rows("search", query="needle", limit=1, offset=999)[-1] == "(1000-1000 of 1000+)"
    assert harness.rows("search", query="needle", offset=1000) == ["(notes: 1000+, none from offset 1000 on)"]
    assert harness.rows("context", question="needle")[-1] == "(1 of 1000+ notes; search lists the others)"


@pytest.mark.parametrize("query", ["/nee.le$/", '"needle five"', "needle -three", "path:A needle OR four"])
def test_the_whole_query_language_works(small: Small, query: str) -> None:
    assert "needle" in small(FILES).text("search", query=query)


def test_nothing_found_is_an_answer(small: Small) -> None:
    assert small(FILES).text("search", query="absent") == "(notes: none)"


def test_wrong_queries_and_arguments_are_named(small: Small) -> None:
    harness = small(FILES)
    assert harness.catch_refusal(InvalidQuery, "search", query="(a", match="all").position == 0
    assert "empty" in str(harness.catch_refusal(InvalidQuery, "search", query=" "))
    assert harness.catch_refusal(InvalidArgument, "search").argument == "query"
    for argument, value in (("context", 21), ("matches", 101), ("limit", 501), ("offset", -1), ("sort", "x")):
        assert (
            harness.catch_refusal(InvalidArgument, "search", query="a", **{argument: value}).argument
            == argument
        )


@pytest.mark.parametrize("query", ["\u0301", "\u0301\u0300", "\u20dd", "\ufe0f"])
def test_accents_alone_find_only_where_they_stand(small: Small, query: str) -> None:
    harness = small({**FILES, "C.md": f"x {query}"})
    for match in ("rank", "all"):
        assert harness.rows("search", query=query, match=match, matches=0) == ["C.md", "(notes: 1)"]


def test_a_text_that_is_too_long_for_a_query_is_a_question(small: Small) -> None:
    common = " ".join(f"word{number}" for number in range(60))
    harness = small({**FILES, "C.md": common, "D.md": f"{common} (quokka)"})
    for order in ("relevance", "modified"):
        text = harness.text("search", query=f'{common} "x: y" {"or " * 1500} (quokka)', sort=order, matches=0)
        assert text.split("\n") == [
            NOT_ALL,
            "(a long question: 13 of its most common words were left out)",
            "D.md",
            "C.md",
            "(notes: 2)",
        ]
    passages = harness.text("context", question=f"{common} {'or ' * 1500} (quokka)")
    assert "(a long question: 13 of its most common words were left out)" in passages
    assert harness.text("search", query="absent " * 1000) == "(notes: none)"


def test_hidden_notes_are_neither_found_nor_counted(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("B.md",)))
    text = harness.text("search", query="needle")
    assert "B.md" not in text
    assert text.endswith("(notes: 2)")


def test_a_page_of_long_hits_stays_within_its_size(small: Small) -> None:
    harness = small({f"N{number}.md": "needle word\n" * 300 for number in range(40)})
    text = harness.text("search", query="needle", match="all", limit=40, matches=100, context=5)
    assert len(text) <= PAGE_CHARS
    assert "continue with offset=" in text


ASKED = {
    "Desk/Windows.md": "# Windows\n\nIntro.\n\n## Saved arrangements\n\nKeep a layout for each task.\n"
    "Then switch to another.\n\n## Other\n\nA task.\n",
    "Desk/Tasks.md": "A task, and another task.\n",
    "Desk/Bold.md": "A **layout** in bold, and a [[layout]] in a link.\n",
}


def test_plain_words_name_the_best_section_and_mark_what_matters(small: Small) -> None:
    rows = small(ASKED).rows("search", query="how can I keep a layout for a task")
    assert rows[0] == "Desk/Windows.md#Saved arrangements:7: **Keep** a **layout** for each **task**."
    assert "Desk/Bold.md:1: A **layout** in bold, and a [[layout]] in a link." in rows
    assert rows[-1] == "(notes: 3)"


def test_a_question_that_no_note_answers_whole_says_so_and_is_answered(small: Small) -> None:
    harness = small(ASKED)
    whole = harness.rows("search", query="keep layout zebra")
    assert whole[0] == "(no note has all the words; these match most of them)"
    assert whole[1].startswith("Desk/Windows.md#")
    assert harness.rows("search", query="keep layout zebra", match="all") == ["(notes: none)"]
    assert not harness.rows("search", query="keep layout zebra", offset=1)[0].startswith("(no note")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ('"keep a" zebra', "no note matches all of it"),
        ("keep tag:#zebra", "no note matches all of it"),
        ("keep -task", "no note matches all of it"),
        ("(keep zebra)", "no note matches all of it"),
        ("what do I keep (roughly)?", "no note matches all of it"),
        ("/keep\\s+zebra/", "no note matches all of it"),
        ("[zebra:keep]", "no note matches all of it"),
        ("keep:zebra", "'keep' is not an operator"),
        ("(keep", "'(' is never closed"),
        ("keep)", "')' closes no group"),
        ('"keep', "the quotation mark is never closed"),
        ("keep OR", "OR has nothing after it"),
        ("keep [zebra", "'[' begins a property test that is never closed"),
        ("keep tag:", "tag: needs the name of a tag"),
    ],
)
def test_what_the_apps_language_does_not_find_is_ranked_and_says_so(
    small: Small, query: str, reason: str
) -> None:
    harness = small(ASKED)
    rows = harness.rows("search", query=query, matches=0)
    assert rows == [f"({reason}; ranked as plain words)", "Desk/Windows.md", "(notes: 1)"]


def test_what_a_query_excludes_is_not_what_it_asks_for(small: Small) -> None:
    harness = small({"A.md": "apple pie", "B.md": "pie"})
    assert harness.rows("search", query="apple -pie", matches=0)[1:] == ["A.md", "(notes: 1)"]


@pytest.mark.parametrize("sign", [":)", "()", "=>", '"', "\\", "[", "-", "🙂", ")("])
def test_signs_are_found_where_they_stand(small: Small, sign: str) -> None:
    harness = small({**FILES, "C.md": f"so {sign} it is"})
    assert "C.md" in harness.text("search", query=sign, matches=0)


def test_operators_that_find_something_keep_the_apps_reading(small: Small) -> None:
    harness = small(ASKED)
    assert harness.rows("search", query="task -keep", matches=0) == ["Desk/Tasks.md", "(notes: 1)"]


def test_any_other_order_sorts_the_notes_that_match(small: Small) -> None:
    harness = small(ASKED)
    rows = harness.rows("search", query="layout task", sort="path", matches=0)
    assert rows == ["Desk/Windows.md", "(notes: 1)"]
    ranked = harness.rows("search", query="layout zebra", sort="modified", matches=0)
    assert set(ranked[1:-1]) == {"Desk/Bold.md", "Desk/Windows.md"}, "rather by rank than not at all"


def test_more_places_of_a_note_are_listed_below_its_path(small: Small) -> None:
    assert small(ASKED).rows("search", query="layout task", matches=3, limit=1)[:-1] == [
        "Desk/Windows.md",
        " #Saved arrangements:7: Keep a **layout** for each **task**.",
        " #Other:12: A **task**.",
    ]


def test_a_heading_alone_is_followed_by_its_first_line(small: Small) -> None:
    harness = small({"A.md": "# Something\n\n## Zebra crossing\n\nLook both ways.\n"})
    assert harness.rows("search", query="zebra crossing")[0] == "A.md#Zebra crossing:5: Look both ways."


def test_a_sentence_is_shown_before_a_property_that_says_no_more(small: Small) -> None:
    files = {
        "Hedge.md": "---\ntags: [garden]\n---\nA gap for the hedgehog in the garden fence.\n",
        "Only tagged.md": "---\r\ntags: [garden]\r\n---\r\nNothing else.\r\n",
        "Told.md": "---\ndescription: how to plan a garden\n---\nThe garden is large.\n",
    }
    rows = small(files).rows("search", query="plan the garden")
    assert set(rows) == {
        "Hedge.md:4: A gap for the hedgehog in the **garden** fence.",
        "Only tagged.md:2: tags: [**garden**]",
        "Told.md:2: description: how to **plan** a **garden**",
        "(notes: 3)",
    }


def test_a_card_of_a_canvas_is_shown_without_its_json(small: Small) -> None:
    card = '{"id":"a","type":"text","text":"# Spring\\nPlant the *white* campion","x":0,"y":0}'
    edge = '{"id":"e","fromNode":"a","toNode":"b","label":"campion and moth"}'
    files = {
        "Plan.canvas": f'{{\n"nodes":[\n\t{card}\n],\n"edges":[\n\t{edge}\n]\n}}',
        "Small.canvas": f'{{"nodes":[{card}],"edges":[{edge}]}}',
        "Broken.canvas": '{"nodes":[\n{"text":"campion is white\n]}',
    }
    rows = small(files).rows("search", query="where is the white campion", matches=2)
    assert "Plan.canvas\n 3: # Spring Plant the *white* **campion**" in "\n".join(rows)
    assert " 6: **campion** and moth" in rows
    assert "Small.canvas:1: # Spring Plant the *white* **campion** campion and moth" in rows
    assert 'Broken.canvas:2: {"text":"**campion** is **white**' in rows


def test_a_single_word_is_not_marked_and_part_of_a_word_is_found(small: Small) -> None:
    harness = small(ASKED)
    assert "Desk/Tasks.md:1: A task, and another task." in harness.rows("search", query="task")
    assert "Desk/Windows.md" in harness.text("search", query="rrangemen")


def test_lines_around_a_ranked_hit_are_those_of_the_note(small: Small) -> None:
    rows = small(ASKED).rows("search", query="keep task", context=1, limit=1)
    assert rows[:-1] == [
        "Desk/Windows.md",
        " 6- ",
        " #Saved arrangements:7: **Keep** a layout for each **task**.",
        " 8- Then switch to another.",
    ]


def test_hidden_notes_do_not_exist_for_questions(small: Small) -> None:
    harness = small({**ASKED, "Secret.md": "zebra layout"}, scope=Scope(deny=("Secret.md",)))
    assert harness.rows("search", query="zebra") == ["(notes: none)"]
    text = harness.text("search", query="zebra layout")
    assert text.startswith("(no note has all the words") and "Secret" not in text


@pytest.mark.parametrize("seed", mark_long_after(2, range(8)))
def test_whatever_is_asked_rows_are_lines_of_their_notes_and_fit(small: Small, seed: int) -> None:
    rng = random.Random(seed)
    words = [word for word in draw_words(seed, 18) if word.isprintable()]
    harness = small(draw_vault(rng, words), scope=Scope(deny=("g/",)))
    for _ in range(10):
        query = " ".join(rng.sample(words, rng.randint(1, 4)))
        if not is_plain(query):
            continue
        places = rng.choice((1, 2, 5))
        page = harness.engine.queries.rank(query, limit=10, sections_per_note=places)
        whole = harness.text("search", query=query, matches=places)
        for note in page.notes:
            assert not note.path.startswith("g/")
            lines = split_with_starts((harness.folder / note.path).read_bytes().decode())[0]
            chosen = choose_lines(harness.engine, note, places)
            assert len(chosen) <= places
            for section, match in chosen:
                assert section.line <= match.line <= max(section.line, section.end_line)
                assert match.text.strip("…") in lines[match.line - 1]
                assert all(match.text[start:end] for start, end in match.spans)
                assert f"{match.line}: " in whole
        for budget in (250, 600, 2_000):
            short = harness.text("search", query=query, matches=places, max_chars=budget)
            assert len(short) <= budget
            # What the budget leaves out is the end of a row, or rows that `offset` asks for.
            assert short == whole or "offset=" in short or "…" in short


def test_a_word_of_many_thousand_letters_stops_no_search(small: Small) -> None:
    """The full-text table cuts a word at 32,768 bytes; it must not do so within a character."""
    vault = small({"Long.md": "ა" * 33_000 + "zend", "Other.md": "кот, cat"})
    for query in ("кот", "cat", "content:ca", '"кот, c"', "zend"):
        assert "(notes: 1)" in vault.text("search", query=query, match="all")
        assert "(notes: 1)" in vault.text("search", query=query)


@pytest.mark.parametrize("query", ["日日", "日" * 5_000, "本日"])
def test_single_ideographs_are_found_if_no_note_has_two_as_asked(small: Small, query: str) -> None:
    vault = small({"A.md": "日本 text", "B.md": "other"})
    assert "\nA.md:1: 日本 text\n(notes: 1)" in vault.text("search", query=query)


def test_an_english_question_about_chinese_notes_says_that_it_was_translated(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks can ask in the language of the notes instead, or install what is missing."""
    harness = small({"密码.md": "网站的密码都在一个文件里。\n", "猫.md": "我的猫喜欢鱼。\n"})
    question = "where is the password of the website"
    translated = "(the words were translated into Chinese; ask in Chinese if that is not what you want)"
    for tool, argument in (("search", "query"), ("context", "question")):
        rows = harness.rows(tool, **{argument: question})
        assert rows[0] == translated and "密码.md" in rows[1]
    monkeypatch.setattr(dictionary, "PACKAGE", "no-such-package")
    dictionary.load_meanings.cache_clear()
    rows = harness.rows("search", query=question)
    dictionary.load_meanings.cache_clear()
    assert rows[0].startswith("(without a dictionary, only common words were translated into Chinese; ask")
