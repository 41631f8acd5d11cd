"""Searches on real vaults. Which notes match is checked against a slow reading of the same rules."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.index import Vault
from vaultbridge.errors import InvalidArgument, InvalidQuery
from vaultbridge.index.fold import fold_text
from vaultbridge.index.query.parse import And, Not, Or, Query, Term
from vaultbridge.index.query.search import SearchPage, search

MakeVault = Callable[[dict[str, str | bytes]], Vault]

NOTES: dict[str, str | bytes] = {
    "Projects/Bridge.md": "---\ntags: [project/alpha]\nstatus: active\nrating: 7\n---\n"
    "# Bridge plan\n\nThe résumé of light pollution.\n\n"
    "- [ ] call the city 📅 2024-05-01\n- [x] draw it\n",
    "Projects/Garden.md": "---\nstatus: Inactive\nrating: 3\ndue: 2024-03-01\naliases: [Yard]\nempty:\n---\n"
    "# Garden\n\nWater the foo-bar bridges. #project\n\n## Later\n\ncall nobody\n",
    "日记/北京.md": "今天去北京看朋友。ภาษาไทยไม่มีการเว้นวรรค\n한국어를 공부한다\n",
    "Café.md": "Plain words, Window and window. C++ is 🚀 fast. See [[Bridge]].\n\n"
    "next paragraph\nsecond line\n",
    "Board.canvas": '{"nodes":[\n{"id":"1","type":"text","text":"first\\nsecond caf\\u00e9","x":0,"y":0,'
    '"width":1,"height":1}\n],"edges":[]}',
    "Attachments/photo.png": b"\x89PNG",
}


def list_hits(page: SearchPage) -> set[str]:
    return {hit.path for hit in page.hits}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bridge", {"Projects/Bridge.md", "Projects/Garden.md", "Café.md"}),
        ("ridg", {"Projects/Bridge.md", "Projects/Garden.md", "Café.md"}),
        ("BRIDGES", {"Projects/Garden.md"}),
        ("resume", {"Projects/Bridge.md"}),
        ("résumé", {"Projects/Bridge.md"}),
        ("re\u0301sume\u0301", {"Projects/Bridge.md"}),
        ("cafe", {"Café.md", "Board.canvas"}),
        ("北京", {"日记/北京.md"}),
        ("京", {"日记/北京.md"}),
        ("京看朋", {"日记/北京.md"}),
        ("京朋", set()),
        ("ไทย", {"日记/北京.md"}),
        ("국어", {"日记/北京.md"}),
        ("日记", {"日记/北京.md"}),
        ("🚀", {"Café.md"}),
        ("c++", {"Café.md"}),
        ("foo-bar", {"Projects/Garden.md"}),
        ("oo-ba", {"Projects/Garden.md"}),
        ('"light pollution"', {"Projects/Bridge.md"}),
        ('"ght poll"', {"Projects/Bridge.md"}),
        ('"pollution light"', set()),
        ('"second cafe"', {"Board.canvas"}),
        ("projects", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ("content:projects", set()),
        ("content:bridge -content:pollution", {"Projects/Garden.md", "Café.md"}),
        ("file:bridge", {"Projects/Bridge.md"}),
        ("file:.png", {"Attachments/photo.png"}),
        ("path:projects", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ("photo", set()),
        ("water call", {"Projects/Garden.md"}),
        ("line:(water call)", set()),
        ("line:(water bridges)", {"Projects/Garden.md"}),
        ("section:(water bridges)", {"Projects/Garden.md"}),
        ("section:(water nobody)", set()),
        ("block:(next second)", {"Café.md"}),
        ("block:(plain second)", set()),
        ("tag:#project", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ("tag:#PROJECT/alpha", {"Projects/Bridge.md"}),
        ("tag:#proj", set()),
        ("task:call", {"Projects/Bridge.md"}),
        ("task-todo:call", {"Projects/Bridge.md"}),
        ("task-done:call", set()),
        ("task-done:", {"Projects/Bridge.md"}),
        ("[status]", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ("[STATUS:active]", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ('[status:"active"]', {"Projects/Bridge.md"}),
        ("[status:-inactive]", {"Projects/Bridge.md"}),
        ("[rating:>5]", {"Projects/Bridge.md"}),
        ("[rating:<=3]", {"Projects/Garden.md"}),
        ("[rating:7 OR 3]", {"Projects/Bridge.md", "Projects/Garden.md"}),
        ("[due:<2024-04-01]", {"Projects/Garden.md"}),
        ("[empty:null]", {"Projects/Garden.md"}),
        ("[status:/^act/]", {"Projects/Bridge.md"}),
        ("[/^(rat|due)/:3]", {"Projects/Garden.md"}),
        ("match-case:Window", {"Café.md"}),
        ("match-case:WINDOW", set()),
        ("match-case:(Water OR ignore-case:PLAIN)", {"Projects/Garden.md", "Café.md"}),
        (r"/pol+ution/", {"Projects/Bridge.md"}),
        (r"/nobody\s*$/", {"Projects/Garden.md"}),
        (r"line:/^call/", {"Projects/Garden.md"}),
        ("-bridge", {"日记/北京.md", "Board.canvas"}),
        ("nothingatall OR pollution", {"Projects/Bridge.md"}),
        ("-nothingatall pollution", {"Projects/Bridge.md"}),
        (",", {"Café.md", "Board.canvas"}),
        ("[[Bridge]]", {"Café.md"}),
    ],
)
def test_a_query_finds_what_the_app_finds(make_vault: MakeVault, query: str, expected: set[str]) -> None:
    page = search(make_vault(NOTES).index, query, limit=100)
    assert list_hits(page) == expected
    assert page.total == len(expected)
    assert page.complete


WORDS = st.sampled_from(
    [
        "a",
        "b",
        "an",
        "ban",
        "Banana",
        "naná",
        "x-an",
        "京",
        "北京",
        "京a",
        "c++",
        "b.",
        "🚀",
        "ไท",
        "an ban",
        ".",
    ]
)
TREES: st.SearchStrategy[Query] = st.recursive(
    st.builds(Term, WORDS),
    lambda parts: st.one_of(
        st.builds(lambda a, b: And((a, b)), parts, parts),
        st.builds(lambda a, b: Or((a, b)), parts, parts),
        st.builds(Not, parts),
    ),
    max_leaves=5,
)


def _matches(query: Query, path: str, text: str) -> bool:
    """The rule itself, applied to every text."""
    match query:
        case Term(wanted):
            return fold_text(wanted) in fold_text(text) or fold_text(wanted) in fold_text(path)
        case And(parts):
            return all(_matches(part, path, text) for part in parts)
        case Or(parts):
            return any(_matches(part, path, text) for part in parts)
        case Not(part):
            return not _matches(part, path, text)
        case _:
            raise AssertionError(query)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=6), st.lists(TREES, min_size=1, max_size=8))
def test_word_searches_agree_with_a_slow_search_of_every_text(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], queries: list[Query]
) -> None:
    vault = Vault(tmp_path_factory.mktemp("oracle"))
    notes = {f"n{number}.md": " ".join(words) + "." for number, words in enumerate(texts)}
    vault.write(dict(notes))
    vault.sync_all()
    for query in queries:
        expected = {path for path, text in notes.items() if _matches(query, path, text)}
        assert list_hits(search(vault.index, query, limit=100)) == expected
    vault.close()


def test_a_string_in_too_many_words_is_still_found_exactly(make_vault: MakeVault) -> None:
    """Beyond the dictionary's limit the texts themselves are searched."""
    crowd = " ".join(f"w{number}zq{number}" for number in range(1000))
    vault = make_vault({"crowd.md": crowd, "one.md": "xzqx", "none.md": "nothing", "start.md": "zqueue"})
    assert list_hits(search(vault.index, "zq")) == {"crowd.md", "one.md", "start.md"}
    assert list_hits(search(vault.index, 'zq"x"')) == {"one.md"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"the capital of"', {"both.md", "end.md", "longend.md", "plain.md", "start.md"}),
        ('"the capital"', {"apart.md", "both.md", "end.md", "longend.md", "plain.md", "start.md"}),
        ('"capital of"', {"both.md", "end.md", "longend.md", "plain.md", "start.md"}),
        ('"the of"', {"two.md"}),
        ('"the capital off"', {"both.md", "start.md"}),
        ('"he capital of"', {"both.md", "end.md", "longend.md", "plain.md", "start.md"}),
    ],
)
def test_a_phrase_is_found_when_many_words_share_its_ends(
    make_vault: MakeVault, query: str, expected: set[str]
) -> None:
    """More than a query to the word table can list one by one."""
    many = " ".join(
        f"{chr(97 + first)}{chr(97 + second)}the, of{chr(97 + first)}"
        for first in range(26)
        for second in range(3)
    )
    vault = make_vault(
        {
            "many.md": many,
            "plain.md": "The capital of nowhere",
            "end.md": "to lathe capital of it",
            "longend.md": "a sunbathe capital of it",
            "start.md": "the capital offer",
            "both.md": "to bathe capital offers",
            "apart.md": "the capital, of",
            "two.md": "soothe often",
        }
    )
    assert list_hits(search(vault.index, query)) == expected


def test_the_exact_name_comes_first_then_alias_then_heading_then_body(make_vault: MakeVault) -> None:
    vault = make_vault(
        {
            "body.md": "garden " * 3 + "word " * 50,
            "heading.md": "# garden\n" + "word " * 50,
            "alias.md": "---\naliases: [Garden]\n---\n" + "word " * 50,
            "Garden.md": "word " * 50,
            "My garden plan.md": "word " * 50,
        }
    )
    order = [hit.path for hit in search(vault.index, "garden").hits]
    assert order[:2] == ["Garden.md", "alias.md"]
    assert order.index("heading.md") < order.index("body.md")


def test_of_equal_hits_the_newest_comes_first(make_vault: MakeVault, empty_vault: Vault) -> None:
    empty_vault.write({f"{name}.md": "same words here" for name in "abc"})
    for age, name in enumerate("bca"):
        os.utime(empty_vault.folder / f"{name}.md", ns=(10**18 - age * 10**9,) * 2)
    empty_vault.sync_all()
    assert [hit.path for hit in search(empty_vault.index, "same").hits] == ["b.md", "c.md", "a.md"]
    assert [hit.path for hit in search(empty_vault.index, "same", sort="modified").hits] == [
        "b.md",
        "c.md",
        "a.md",
    ]
    assert [hit.path for hit in search(empty_vault.index, "same", sort="path").hits] == [
        "a.md",
        "b.md",
        "c.md",
    ]


def test_pages_have_no_gaps_and_no_repetitions(make_vault: MakeVault) -> None:
    vault = make_vault({f"{number:02}.md": "word " * (number % 5 + 1) for number in range(23)})
    for sort in ("relevance", "modified", "name", "path"):
        pages = [search(vault.index, "word", limit=5, offset=offset, sort=sort) for offset in range(0, 25, 5)]  # type: ignore[arg-type]
        assert {page.total for page in pages} == {23}
        paths = [hit.path for page in pages for hit in page.hits]
        assert len(paths) == len(set(paths)) == 23


def test_hidden_notes_are_neither_shown_nor_counted(make_vault: MakeVault) -> None:
    vault = make_vault({"open/a.md": "word", "secret/b.md": "word", "secret/c.md": "other"})
    page = search(vault.limit("secret/"), "word")
    assert (list_hits(page), page.total) == ({"open/a.md"}, 1)
    assert search(vault.limit("secret/"), "-word").total == 0


WORDS = ("ash", "ashes", "birch", "birches", "cedar", "京都", "ćma", "of")
TEXTS = st.lists(st.sampled_from([*WORDS, "# ", "\n"]), max_size=12).map(" ".join)
QUERIES = (
    '"ash"',
    '"as"',
    '"ash birch"',
    '"birch" OR "cedar"',
    "京都 OR ćma",
    '"of"',
    "path:ash",
    "line:(ash of)",
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seen=st.dictionaries(st.sampled_from(WORDS), TEXTS, min_size=1),
    hidden=st.dictionaries(st.sampled_from(WORDS), TEXTS.map(lambda text: text * 40), min_size=1),
)
def test_hidden_notes_do_not_change_the_order_or_a_score(
    seen: dict[str, str], hidden: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    answers = []
    for more in ({}, hidden):
        vault = Vault(tmp_path_factory.mktemp("vault"))
        secret = {f"secret/{name}.md": text for name, text in more.items()}
        vault.write({**{f"{name}.md": text for name, text in seen.items()}, **secret})
        for name in seen:
            os.utime(vault.folder / f"{name}.md", ns=(10**18,) * 2)
        vault.sync_all()
        answers.append([search(vault.limit("secret/"), query) for query in QUERIES])
        vault.close()
    for first, second in zip(*answers, strict=True):
        assert [(hit.path, hit.score) for hit in first.hits] == [(hit.path, hit.score) for hit in second.hits]
        assert first.total == second.total


def test_a_pattern_is_not_tried_on_hidden_notes(make_vault: MakeVault) -> None:
    """It would take too long there, and the error would reveal what they contain."""
    endless = "a" * 40 + "!"
    vault = make_vault(
        {
            "open.md": "---\nkind: x\n---\nword\n- [ ] do",
            "secret/text.md": endless,
            "secret/task.md": f"- [ ] {endless}",
            "secret/property.md": f"---\n{'a' * 40}: 1\nkind: {endless}\n---\n",
            f"secret/{endless}.md": "",
        }
    )
    pattern = "/(a|a)*$|word/"
    for query in (pattern, f"file:{pattern}", f"task:{pattern}", f"[kind:{pattern}]", f"[{pattern}:1]"):
        search(vault.limit("secret/"), query)


def test_hits_show_lines_with_their_numbers_spans_and_context(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "one\r\ntwo Résumé two\r\nthree\r\nfour resume\r\n"})
    (hit,) = search(vault.index, "resume", context=1).hits
    assert [match.line for match in hit.matches] == [2, 4]
    first = hit.matches[0]
    assert (first.text, first.spans, first.before, first.after) == (
        "two Résumé two",
        ((4, 10),),
        ("one",),
        ("three",),
    )


def test_a_long_line_is_shortened_around_the_match(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "x " * 5000 + "needle" + " y" * 5000})
    (hit,) = search(vault.index, "needle").hits
    (match,) = hit.matches
    ((start, end),) = match.spans
    assert len(match.text) <= 240
    assert match.text[start:end] == "needle"
    assert match.text.startswith("…") and match.text.endswith("…")


def test_lines_with_more_of_the_words_are_preferred(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "red\nred\nred\nred and blue\nblue\n"})
    (hit,) = search(vault.index, "red blue", matches_per_note=1).hits
    assert [match.line for match in hit.matches] == [4]


@pytest.mark.parametrize(
    ("query", "line"),
    [("tag:#later", 4), ("[status:open]", 2), ("task-todo:", 6), ("task:water", 7), ("/w.ter/", 7)],
)
def test_operators_show_the_line_that_they_match(make_vault: MakeVault, query: str, line: int) -> None:
    vault = make_vault({"n.md": "---\nstatus: open\n---\nsee #later/on\n\n- [ ] call\n- [x] water\n"})
    (hit,) = search(vault.index, query, matches_per_note=1).hits
    assert [match.line for match in hit.matches] == [line]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("section:(nested notes)", [5, 6]),
        ("section:(nested /not./)", [5, 6]),
        ("section:(nested #tag)", [9, 10]),
        ("block:(late again)", [9, 10]),
        ("line:(first nested)", [1]),
        ("match-case:section:(nested notes)", [5, 6]),
        ("section:(nested notes) OR line:(early)", [2, 5, 6]),
        ("section:(nested line:(notes))", [5, 6]),
        ("section:(nested notes) early", [2, 5, 6]),
    ],
)
def test_words_within_a_block_are_shown_only_there(
    make_vault: MakeVault, query: str, lines: list[int]
) -> None:
    text = "first nested\nearly\n\n# One\nnested\nnotes\n\n# Two\nlate #tag\nnested again\n\nagain\n"
    (hit,) = search(make_vault({"n.md": text}).index, query, matches_per_note=20).hits
    assert [match.line for match in hit.matches] == lines


def test_a_matching_section_is_shown_after_any_number_of_other_lines(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "nested\n" * 600 + "# One\nnested notes\n"})
    (hit,) = search(vault.index, "section:(nested notes)").hits
    assert [match.line for match in hit.matches] == [602]


def test_a_page_without_hits_still_has_the_total(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "moon", "b.md": "moon"})
    page = search(vault.index, "moon", limit=0)
    assert (page.hits, page.total) == ((), 2)


def test_a_match_in_the_name_alone_has_no_lines(make_vault: MakeVault) -> None:
    (hit,) = search(make_vault({"Solar.md": "nothing of it"}).index, "solar").hits
    assert hit.matches == ()


@pytest.mark.parametrize("arguments", [{"limit": -1}, {"limit": 10**6}, {"offset": -1}, {"context": 1000}])
def test_arguments_out_of_bounds_are_refused(make_vault: MakeVault, arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        search(make_vault({}).index, "a", **arguments)  # type: ignore[arg-type]


def test_a_bad_pattern_is_an_invalid_query(make_vault: MakeVault) -> None:
    with pytest.raises(InvalidQuery):
        search(make_vault({"a.md": "x"}).index, "/(/")


def test_an_empty_vault_can_be_searched(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "word"})
    before = sorted(path.name for path in Path(vault.folder).rglob("*"))
    search(vault.index, "word")
    assert sorted(path.name for path in Path(vault.folder).rglob("*")) == before


def test_whole_words_rank_before_longer_ones(make_vault: Callable[[dict[str, str | bytes]], Vault]) -> None:
    vault = make_vault({"Arta.md": "arta arta arta", "Painting.md": "It is an art.", "Old.md": "cart"})
    assert search(vault.index, "art").hits[0].path == "Painting.md"
    assert search(vault.index, "art").total == 3
    assert [hit.path for hit in search(vault.index, "arta").hits] == ["Arta.md"]


def test_a_word_of_most_notes_ranks_by_names_and_headings(
    make_vault: Callable[[dict[str, str | bytes]], Vault],
) -> None:
    notes: dict[str, str | bytes] = {f"{number}.md": "stone stone stone" for number in range(6)}
    vault = make_vault({**notes, "Stone.md": "It.", "Quarry.md": "# Stone\nstone"})
    assert [hit.path for hit in search(vault.index, "stone").hits][:2] == ["Stone.md", "Quarry.md"]
    assert search(vault.index, "stone").total == 8
