"""The rules of resolution in docs/obsidian.md 3, one by one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.links.resolve import (
    MISSING,
    FileTable,
    Resolved,
    candidate_keys,
    dot_path,
    file_name,
    name_key,
    resolve,
)


def find_path(target: str, source: str, *paths: str) -> str | None:
    answer = resolve(target, source, FileTable(paths))
    return answer.path if isinstance(answer, Resolved) else None


def test_an_empty_target_is_the_source_itself() -> None:
    assert find_path("", "a/b.md", "a/b.md") == "a/b.md"


@pytest.mark.parametrize(
    ("target", "paths", "expected"),
    [
        ("Figure 1", ["Figure 1.png"], None),
        ("Figure 1.png", ["x/Figure 1.png"], "x/Figure 1.png"),
        ("v1.2", ["v1.2.md"], "v1.2.md"),
        ("v1.2", ["v1.2.md", "x/v1.2"], "x/v1.2"),
        ("a.md", ["a.md"], "a.md"),
        ("a.md", ["a.md.md"], "a.md.md"),
        ("LICENSE", ["LICENSE"], None),
        ("none", ["a.md"], None),
        ("folder/", ["folder/a.md"], None),
    ],
)
def test_the_last_segment_chooses_the_candidates(target: str, paths: list[str], expected: str | None) -> None:
    """Rule 0: a name with a dot is tried unchanged, then with .md; a name without a dot only with .md."""
    assert find_path(target, "src.md", *paths) == expected


def test_one_candidate_for_a_bare_name_wins_wherever_it_is() -> None:
    assert find_path("a", "x/y/src.md", "deep/er/a.md") == "deep/er/a.md"


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("./n", "a/b/src.md", "a/b/n.md"),
        ("../n", "a/b/src.md", "a/n.md"),
        ("./../n", "a/b/src.md", "a/n.md"),
        ("../../n", "a/b/src.md", "n.md"),
        ("../../../n", "a/b/src.md", "n.md"),
        ("../b/n.md", "a/b/src.md", "a/b/n.md"),
    ],
)
def test_dot_segments_join_with_the_sources_folder(target: str, source: str, expected: str) -> None:
    """Rule 2."""
    assert find_path(target, source, "n.md", "a/n.md", "a/b/n.md") == expected


def test_a_dot_link_that_misses_continues_with_the_joined_path() -> None:
    """Rule 2, the miss: the joined path may still end a longer one, but the bare name no longer counts."""
    assert find_path("../n", "a/b/src.md", "z/a/n.md") == "z/a/n.md"
    assert find_path("../n", "a/b/src.md", "z/n.md") is None


def test_an_exact_vault_path_wins_over_the_same_folder() -> None:
    """Rule 3: a root note wins for its bare name from everywhere."""
    assert find_path("Note", "x/src.md", "x/Note.md", "Note.md") == "Note.md"
    assert find_path("x/n", "x/src.md", "x/x/n.md", "x/n.md") == "x/n.md"


def test_a_leading_slash_is_the_root_or_nothing() -> None:
    """Rules 3 and 4."""
    assert find_path("/x/n", "src.md", "x/n.md", "y/x/n.md") == "x/n.md"
    assert find_path("/n", "src.md", "x/n.md") is None
    assert find_path("/n", "src.md", "n.md") == "n.md"


def test_a_partial_path_matches_the_end_of_a_path() -> None:
    """Rule 5; the app compares strings, so half a folder's name matches too."""
    assert find_path("b/n", "src.md", "a/b/n.md", "c/n.md") == "a/b/n.md"
    assert find_path("b/n", "src.md", "xb/n.md") == "xb/n.md"
    assert find_path("z/n", "src.md", "a/b/n.md") is None


def test_the_sources_folder_and_below_come_first_then_the_shortest() -> None:
    """Rule 5: descendants count as near, ancestors do not."""
    assert find_path("n", "a/src.md", "a/deep/deeper/n.md", "b/n.md") == "a/deep/deeper/n.md"
    assert find_path("n", "a/b/src.md", "a/n.md", "c/n.md", "a/b/c/d/n.md") == "a/b/c/d/n.md"
    assert find_path("n", "z/src.md", "aaa/n.md", "bb/n.md") == "bb/n.md"


def test_equal_lengths_are_reported_as_ambiguous_in_a_stable_order() -> None:
    table = FileTable(["b/n.md", "a/n.md", "long/n.md"])
    assert resolve("n", "z/s.md", table) == Resolved("a/n.md", ("b/n.md",))


def test_length_counts_utf16_units_as_the_app_does() -> None:
    assert find_path("n", "z/s.md", "😀/n.md", "aa/n.md", "b/😀/n.md") == "aa/n.md"
    assert resolve("n", "z/s.md", FileTable(["😀/n.md", "a/n.md"])) == Resolved("a/n.md")
    assert resolve("n", "z/s.md", FileTable(["😀/n.md", "ab/n.md"])) == Resolved("ab/n.md", ("😀/n.md",))


def test_case_and_unicode_form_do_not_count() -> None:
    assert find_path("CAFÉ", "s.md", "x/café.md") == "x/café.md"
    assert find_path(unicodedata.normalize("NFD", "café"), "s.md", "x/café.md") == "x/café.md"
    assert find_path("X/Café.MD", "s.md", "x/café.md") == "x/café.md"


def test_a_final_sigma_is_found_with_and_without_extension() -> None:
    """The lower case of Σ depends on what follows, so `.md` must be added first."""
    for name in ("ΟΔΟΣ.md", "x/ΟΔΟΣ.md"):
        assert find_path("ΟΔΟΣ", "s.md", name, "y/ΟΔΟΣ.md") is not None
        assert find_path("ΟΔΟΣ.md", "s.md", name) == name


def test_a_file_table_adds_and_removes_and_counts_each_path_once() -> None:
    table = FileTable(["a/n.md", "b/n.md", "a/n.md"])
    assert len(table) == 2
    assert "a/n.md" in table and "A/n.md" not in table
    assert table.same_path("A/N.md") == ("a/n.md",)
    table.remove("c/n.md")
    table.remove("a/n.md")
    table.remove("a/n.md")
    assert list(table) == ["b/n.md"] and len(table) == 1
    twin = table.copy()
    twin.remove("b/n.md")
    assert "b/n.md" in table and len(twin) == 0
    assert resolve("n", "s.md", twin) is MISSING


SEGMENT = st.sampled_from(["a", "b", "A", "é", "n", "N.x", "x.md", ".."])
TARGET = st.builds(
    lambda lead, parts: lead + "/".join(parts),
    st.sampled_from(["", "/", "./", "../"]),
    st.lists(SEGMENT, min_size=1, max_size=3),
)
FOLDERS = st.lists(st.sampled_from(["a", "b", "é", "ab"]), max_size=2)
PATH = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    FOLDERS,
    st.sampled_from(["a.md", "n.md", "N.x", "N.x.md", "x.md", "é.md"]),
)


@given(TARGET, PATH, st.lists(PATH, max_size=8), PATH)
def test_the_result_depends_only_on_files_with_a_candidate_key(
    target: str, source: str, paths: list[str], extra: str
) -> None:
    """The incremental index relies on this."""
    before = FileTable(paths)
    after = before.copy()
    after.add(extra)
    if name_key(file_name(extra)) not in candidate_keys(target):
        assert resolve(target, source, before) == resolve(target, source, after)


@given(TARGET, PATH, st.lists(PATH, max_size=8))
def test_the_order_of_adding_files_does_not_matter(target: str, source: str, paths: list[str]) -> None:
    assert resolve(target, source, FileTable(paths)) == resolve(target, source, FileTable(reversed(paths)))


def test_dot_path_applies_only_to_dot_links() -> None:
    assert dot_path("../N", "A/b/s.md") == "a/n"
    assert dot_path("n", "a/s.md") is None
