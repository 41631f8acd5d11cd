"""`vaultbridge.vault.scope`: denied notes do not exist."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument, NoteNotFound, PermissionDenied
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (
            "Private/",
            ["Private/a.md", "private/B/c.md", "Private"],
            ["Private.md", "Privately/a.md", "X/Private/a.md"],
        ),
        (
            "Private",
            ["Private/a.md", "Private.md", "PRIVATE/x/y.md"],
            ["Private notes/a.md", "A/Private/a.md"],
        ),
        ("A/B", ["A/B/c.md", "A/B.md"], ["A/Bc.md", "A/c.md", "B/x.md"]),
        ("**/*.secret.md", ["x.secret.md", "A/B/x.SECRET.md"], ["secret.md", "A/x.secret.txt"]),
        ("*.secret.md", ["x.secret.md", "A/x.secret.md"], ["x.md"]),
        ("/*.md", ["x.md"], ["A/x.md"]),
        (
            "Journal/2024-*",
            ["Journal/2024-01.md", "Journal/2024-01/a.md"],
            ["Journal/2023-12.md", "A/Journal/2024-01.md"],
        ),
        ("**/Private/**", ["Private/a.md", "A/Private/b/c.md"], ["Private.md", "A/Privat/c.md"]),
        ("Notes/**/x.md", ["Notes/x.md", "Notes/a/b/x.md"], ["x.md", "Notes/ax.md"]),
        ("n?te.md", ["note.md", "A/nite.md"], ["nte.md", "n/te.md"]),
        ("[ab]*.md", ["a1.md", "b.md"], ["c.md"]),
        ("[!ab]*.md", ["c.md"], ["a.md"]),
        ("[a-c]x.md", ["bx.md"], ["dx.md", "-x.md"]),
        ("{Work,Home}/", ["Work/a.md", "home/b.md"], ["Else/a.md"]),
        ("a+b(c).md", ["a+b(c).md"], ["aab(c).md"]),
        ("[half", ["[half/x.md"], ["h.md"]),
        ("Ünï/", [unicodedata.normalize("NFD", "ünï") + "/x.md"], ["uni/x.md"]),
        (unicodedata.normalize("NFD", "Ünï/"), ["ünï/x.md"], ["uni/x.md"]),
        ("/", ["a.md", "A/b.md"], []),
        ("\\", ["a.md", "A/b.md"], []),
        ("Private\\", ["Private/a.md", "private/B/c.md", "Private"], ["Private.md", "X/Private/a.md"]),
        ("Private\\\\", ["Private/a.md", "Private"], ["Private.md"]),
        ("\\Private", ["Private/a.md", "Private.md"], ["X/Private/a.md"]),
        (".\\Private\\Sub", ["Private/Sub/a.md", "Private/Sub.md"], ["Private/a.md"]),
        ("Private\\*", ["Private/a.md", "Private/B/c.md"], ["Private.md", "X/Private/a.md"]),
        ("**\\*.secret.md", ["x.secret.md", "A/x.secret.md"], ["secret.md"]),
        ("a\\b.md", ["a\\b.md", "a/b.md"], ["ab.md"]),
        ("./Private/", ["Private/a.md"], ["Private.md"]),
        ("/./Private//", ["Private/a.md"], ["Private.md", "X/Private/a.md"]),
        ("Private//Sub", ["Private/Sub/a.md"], ["Private/a.md"]),
        ("Private/./Sub/.", ["Private/Sub/a.md"], ["Private/a.md"]),
        ("PRIVATE/*", ["Private/a.md", "private/B/c.md"], ["Private.md"]),
        ("[Work]/", ["[Work]/a.md", "w/a.md"], ["Work/a.md"]),
        ("[Work]", ["[Work].md", "[Work]/a.md"], ["Work.md"]),
        ("[Work]/*", ["[Work]/a.md"], ["Work/a.md"]),
        ("{Work}/", ["{Work}/a.md", "Work/a.md"], ["w/a.md"]),
    ],
)
def test_a_pattern_matches_what_it_seems_to_name(pattern: str, inside: list[str], outside: list[str]) -> None:
    deny, allow = Scope(deny=(pattern,)), Scope(allow=(pattern,))
    for path in inside:
        assert not deny.visible(path), path
        assert allow.visible(path), path
    for path in outside:
        assert deny.visible(path), path
        assert not allow.visible(path), path


def test_denial_wins_over_permission() -> None:
    scope = Scope(allow=("Work/",), deny=("Work/Secret/",))
    assert scope.visible("Work/a.md")
    assert not scope.visible("Work/Secret/a.md")
    assert not scope.visible("Home/a.md")


def test_hidden_paths_are_never_visible() -> None:
    assert not Scope().visible(".obsidian/app.json")
    assert not Scope(allow=("/",)).visible("A/.git/config")


def test_a_denied_note_gives_exactly_the_error_for_a_missing_one() -> None:
    path = VaultPath("Private/a.md")
    with pytest.raises(NoteNotFound) as caught:
        Scope(deny=("Private",)).check_read(path)
    assert str(caught.value) == str(NoteNotFound(path))
    with pytest.raises(NoteNotFound) as caught:
        Scope(deny=("Private",)).check_write(path)
    assert str(caught.value) == str(NoteNotFound(path))


def test_a_new_note_outside_the_scope_is_refused() -> None:
    with pytest.raises(PermissionDenied):
        Scope(allow=("Work",)).check_write(VaultPath("Home/a.md"), new=True)
    Scope(allow=("Work",)).check_write(VaultPath("Work/a.md"), new=True)


def test_read_only_means_no_write_at_all() -> None:
    scope = Scope(read_only=True)
    scope.check_read(VaultPath("a.md"))
    with pytest.raises(PermissionDenied, match="read-only"):
        scope.check_write(VaultPath("a.md"))


def test_a_note_above_the_maximum_size_is_refused() -> None:
    scope = Scope(max_note_bytes=10)
    scope.check_size(VaultPath("a.md"), 10)
    with pytest.raises(PermissionDenied, match="11 bytes"):
        scope.check_size(VaultPath("a.md"), 11)


@pytest.mark.parametrize("pattern", ["", "  ", "A/../B", "A\\..\\B", "x" * 501, "*a" * 17])
def test_a_pattern_that_makes_no_sense_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgument):
        Scope(deny=(pattern,))


@pytest.mark.parametrize(
    "pattern", ["C:\\Notes\\Private", "d:/Notes/Private/", "\\\\server\\Notes\\Private", "~/Notes/Private"]
)
def test_a_place_on_the_machine_is_refused_because_it_would_hide_nothing(pattern: str) -> None:
    with pytest.raises(InvalidArgument, match="a place on the machine") as caught:
        Scope(deny=(pattern,))
    assert "from the vault's top" in caught.value.hint


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        Scope(allow=tuple(f"f{n}" for n in range(1001)))


@given(
    st.text(alphabet="aB/*?[]{},!-.\\", min_size=1, max_size=24),
    st.text(alphabet="ab/.-", min_size=1, max_size=24),
)
def test_every_pattern_either_works_or_is_refused_clearly(pattern: str, path: str) -> None:
    try:
        scope = Scope(deny=(pattern,))
    except InvalidArgument:
        return
    # The same pattern allows exactly what it denies; a name that begins with a dot is never visible.
    dotted = path.startswith(".") or "/." in path
    assert scope.visible(path) == (not dotted and not Scope(allow=(pattern,)).visible(path))


def test_an_unrestricted_scope_says_so() -> None:
    assert Scope(read_only=True).unrestricted
    assert not Scope(deny=("x",)).unrestricted


@pytest.mark.parametrize(
    ("allow", "deny", "may", "may_not"),
    [
        ((), ("Private/",), ["", "Pub", "Pub/Private"], ["Private", "private/x", ".obsidian", "Pub/.x"]),
        (("Pub/Sub/",), (), ["", "Pub", "Pub/Sub", "Pub/Sub/x"], ["Private", "Pub/Other", "Pub/Subs"]),
        (("Pub/Sub/*.md",), (), ["Pub", "pub/sub"], ["Private"]),
        (("A/**/x.md",), (), ["A", "A/b/c"], ["B", "Ab"]),
        (("**/x.md",), (), ["A", "A/b/c"], [".obsidian"]),
        (("*.md",), (), ["A", "A/b"], []),
        (("/*.md",), (), [""], ["A"]),
        (("{A,B/C}/x.md",), (), ["A", "B", "B/C"], []),
        (("A/",), ("A/Private",), ["A"], ["A/Private", "B"]),
        (("[Work]/x.md",), (), ["[Work]"], ["Other"]),
    ],
)
def test_a_folder_in_which_nothing_can_be_visible_is_known_by_its_name(
    allow: tuple[str, ...], deny: tuple[str, ...], may: list[str], may_not: list[str]
) -> None:
    scope = Scope(allow=allow, deny=deny)
    assert [path for path in (*may, *may_not) if scope.may_contain(path)] == may


@given(
    st.lists(
        st.sampled_from(["A/", "A/B", "*.md", "A/*/c.md", "**/c.md", "B/**", "/A/*", "{A,B}/c.md"]),
        max_size=3,
    ),
    st.lists(st.sampled_from(["A", "B", "c.md", "d.md"]), min_size=1, max_size=4),
)
def test_every_folder_above_a_visible_file_may_contain_something(
    patterns: list[str], parts: list[str]
) -> None:
    scope = Scope(allow=tuple(patterns), deny=("B/A/",))
    if scope.visible("/".join(parts)):
        for end in range(len(parts)):
            assert scope.may_contain("/".join(parts[:end]))
