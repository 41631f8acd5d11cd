"""Rewriting the files and folders named in a base."""

from __future__ import annotations

import pytest

from vaultbridge.errors import EditRefused
from vaultbridge.links.move import rewrite_base
from vaultbridge.markdown.edits.change import apply_changes


def rewrite(text: str) -> str:
    files = {"old": "n\"e'w", "old.md": "new.md"}
    return apply_changes(text, rewrite_base(text, file=files.get, folder={"f": "g"}.get))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: link(\"old\")", "a: link(\"n\\\"e'w\")"),
        ("a: link('old#h')", "a: link('n\"e\\'w#h')"),
        ("a: 'link(\"old\")'", "a: 'link(\"n\\\"e''w\")'"),
        ('a: "link(\\"old\\")"', 'a: "link(\\"n\\\\\\"e\'w\\")"'),
        ("a: file.hasLink( \"old.md\" )", "a: file.hasLink( \"new.md\" )"),
        ("a: x == \"old\"", "a: x == \"old\""),
        ("a: list(\"link(\", \"old\")", "a: list(\"link(\", \"old\")"),
        ("a: \"[[old.md|x]] [[other]]\"", "a: \"[[new.md|x]] [[other]]\""),
        ("a: file.inFolder(\"f\") || inFolder('x')", "a: file.inFolder(\"g\") || inFolder('x')"),
        ("a: |\n  if(link(\"old.md\"),\n    1)\nb: 1", "a: |\n  if(link(\"new.md\"),\n    1)\nb: 1"),
        ("x: &a link(\"old.md\")\ny: *a", "x: &a link(\"new.md\")\ny: *a"),
        ("# link(\"old.md\")\na: 1 # [[old]]", "# link(\"old.md\")\na: 1 # [[old]]"),
        ("", ""),
    ],
)  # fmt: skip
def test_names_are_rewritten_in_their_quoting(before: str, after: str) -> None:
    assert rewrite(before) == after


@pytest.mark.parametrize("text", ["a: [", "a: \x00", "[" * 5000])
def test_what_is_not_yaml_is_refused(text: str) -> None:
    with pytest.raises(EditRefused, match="not valid YAML"):
        rewrite(text)


def test_a_link_after_a_tab_is_rewritten() -> None:
    assert rewrite('a:\t\'link("old.md")\'\nb:\tlink("old.md")') == (
        'a:\t\'link("new.md")\'\nb:\tlink("new.md")'
    )
