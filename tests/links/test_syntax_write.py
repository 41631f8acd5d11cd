"""The text of new links (docs/obsidian.md 4)."""

from __future__ import annotations

import pytest

from vaultbridge.errors import EditRefused
from vaultbridge.links.resolve import FileTable
from vaultbridge.links.syntax import LinkSettings, choose_target, note_name, relative_path, write_link

TABLE = FileTable(["a/n.md", "b/n.md", "a/only.md", "a/pic one.png", "s.md", "a/s/k.md"])


@pytest.mark.parametrize(
    ("dest", "source", "link_format", "expected"),
    [
        ("a/only.md", "s.md", "shortest", "only"),
        ("a/n.md", "s.md", "shortest", "a/n"),
        ("a/only.md", "b/n.md", "relative", "../a/only"),
        ("a/only.md", "a/n.md", "relative", "only"),
        ("a/s/k.md", "a/n.md", "relative", "s/k"),
        ("a/only.md", "s.md", "absolute", "a/only"),
        ("a/pic one.png", "s.md", "shortest", "pic one.png"),
    ],
)
def test_the_target_follows_the_vaults_link_format(
    dest: str, source: str, link_format: str, expected: str
) -> None:
    assert choose_target(dest, source, TABLE, link_format) == expected  # type: ignore[arg-type]


def test_a_relative_link_does_not_lead_to_the_same_path_at_the_root() -> None:
    """The resolver is not relative to the source, so `s/k` alone would lead to the file at the root."""
    table = FileTable(["a/s/k.md", "s/k.md", "a/x.md"])
    assert choose_target("a/s/k.md", "a/x.md", table, "relative") == "./s/k"


def test_a_new_link_is_written_as_the_app_does() -> None:
    settings = LinkSettings()
    assert write_link("a/only.md", "s.md", TABLE, settings) == "[[only]]"
    assert write_link("a/n.md", "s.md", TABLE, settings) == "[[a/n|n]]"
    assert write_link("a/n.md", "s.md", TABLE, settings, display="x") == "[[a/n|x]]"
    assert write_link("a/n.md", "s.md", TABLE, settings, embed=True) == "![[a/n]]"


def test_a_new_markdown_link_keeps_the_extension_and_encodes_blanks() -> None:
    settings = LinkSettings(use_markdown_links=True)
    assert write_link("a/only.md", "s.md", TABLE, settings) == "[only](only.md)"
    assert write_link("a/pic one.png", "s.md", TABLE, settings, embed=True) == "![](pic%20one.png)"
    assert write_link("a/only.md", "s.md", TABLE, settings, display="a [b]") == "[a \\[b\\]](only.md)"
    assert write_link("a/only.md", "s.md", TABLE, settings, markdown=False) == "[[only]]"


def test_a_file_no_link_can_name_is_refused() -> None:
    with pytest.raises(EditRefused, match="No link can name"):
        write_link("x#y.md", "s.md", FileTable(["x#y.md"]), LinkSettings())


def test_a_colon_in_a_name_needs_a_dot_segment_in_a_markdown_link() -> None:
    table = FileTable(["f/a:b.md", "f/s.md"])
    assert choose_target("f/a:b.md", "f/s.md", table, "shortest", markdown=True) == "./a:b.md"


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [("a/b/c", "a/s.md", "b/c"), ("c", "a/b/s.md", "../../c"), ("A/c", "a/s.md", "c"), ("a", "s.md", "a")],
)
def test_relative_paths_go_up_only_where_necessary(path: str, source: str, expected: str) -> None:
    assert relative_path(path, source) == expected


def test_only_the_extension_of_notes_is_dropped_from_a_name() -> None:
    assert [note_name(p) for p in ("a/b.md", "b.MD", "c.png", "v1.2.md")] == ["b", "b", "c.png", "v1.2"]
