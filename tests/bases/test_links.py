from __future__ import annotations

import pytest

from vaultbridge.bases.links import is_url, link_to, written_link
from vaultbridge.bases.values import Link


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[A]]", Link("A", "s")),
        (" [[A#B|c]] ", Link("A#B", "s", "c")),
        ("![[a.png|100]]", Link("a.png", "s", "100")),
        ("[[|x]]", Link("|x", "s")),
        ("[b](A%20C.md)", Link("A C.md", "s", "b")),
        ("[b](<A C.md>)", Link("A C.md", "s", "b")),
        ("[](A.md)", Link("A.md", "s")),
        ("[b](https://e.org/x)", Link("https://e.org/x", "s", "b", external=True)),
    ],
)
def test_a_text_that_is_wholly_a_link_is_one(text: str, link: Link) -> None:
    assert written_link(text, "s") == link


@pytest.mark.parametrize(
    "text", ["", "A", "see [[A]]", "[[A]] and [[B]]", "[[]]", "[[a\nb]]", "https://e.org", "[a]"]
)
def test_other_texts_are_not(text: str) -> None:
    assert written_link(text, "s") is None


def test_a_link_can_be_made_of_any_text() -> None:
    assert link_to("A/B", "s") == Link("A/B", "s")
    assert link_to("[[A|b]]", "s") == Link("A", "s", "b")
    assert link_to("https://e.org", "s") == Link("https://e.org", "s", external=True)


def test_a_url_has_a_scheme_and_no_blanks() -> None:
    assert is_url("https://e.org")
    assert is_url("mailto:a@e.org")
    assert not is_url("A: note")
    assert not is_url("A")
