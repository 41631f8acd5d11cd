from __future__ import annotations

import pytest

from vaultbridge.bases.values import LinkValue, is_url, make_link_value, parse_link


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[A]]", LinkValue("A", "s")),
        (" [[A#B|c]] ", LinkValue("A#B", "s", "c")),
        ("![[a.png|100]]", LinkValue("a.png", "s", "100")),
        ("[[|x]]", LinkValue("|x", "s")),
        ("[b](A%20C.md)", LinkValue("A C.md", "s", "b")),
        ("[b](<A C.md>)", LinkValue("A C.md", "s", "b")),
        ("[](A.md)", LinkValue("A.md", "s")),
        ("[b](https://e.org/x)", LinkValue("https://e.org/x", "s", "b", external=True)),
    ],
)
def test_a_text_that_is_a_link_becomes_a_link(text: str, link: LinkValue) -> None:
    assert parse_link(text, "s") == link


@pytest.mark.parametrize(
    "text", ["", "A", "see [[A]]", "[[A]] and [[B]]", "[[]]", "[[a\nb]]", "https://e.org", "[a]"]
)
def test_other_texts_do_not_become_links(text: str) -> None:
    assert parse_link(text, "s") is None


def test_any_text_can_become_a_link() -> None:
    assert make_link_value("A/B", "s") == LinkValue("A/B", "s")
    assert make_link_value("[[A|b]]", "s") == LinkValue("A", "s", "b")
    assert make_link_value("https://e.org", "s") == LinkValue("https://e.org", "s", external=True)


def test_a_url_has_a_scheme_and_no_blanks() -> None:
    assert is_url("https://e.org")
    assert is_url("mailto:a@e.org")
    assert not is_url("A: note")
    assert not is_url("A")
