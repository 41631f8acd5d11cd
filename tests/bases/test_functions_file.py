from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from support.bases import AUTHOR, INDEX, NOW, evaluate, make_context, make_file_row
from vaultbridge.bases.values import Date, File, FormulaError, LinkValue, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("file.name", "Dune"),
        ("file.basename", "Dune"),
        ("file.path", "Books/Dune.md"),
        ("file.folder", "Books"),
        ("file.ext", "md"),
        ("file.size", 100.0),
        ("file.ctime", Date(datetime(2025, 5, 20, 9))),
        ("file.tags", ("#book", "#genre/science-fiction")),
        ("file.links[0]", LinkValue("Frank Herbert", "Books/Dune.md", "Frank Herbert")),
        ("file.links.length", 3.0),
        ("file.embeds", (LinkValue("cover.png", "Books/Dune.md", "cover.png"),)),
        ("file.backlinks", (LinkValue("Index.md", "Books/Dune.md", "Index"),)),
        ("file.properties.status", "reading"),
        ("file.file.name", "Dune"),
        ("file.asLink('shown')", LinkValue("Books/Dune.md", "Books/Dune.md", "shown")),
        ("file.hasLink('Frank Herbert')", True),
        ("file.hasLink('People/Frank Herbert.md')", True),
        ("file.hasLink('[[Frank Herbert]]')", True),
        ("file.hasLink(author)", True),
        ("file.hasLink(file('Index.md'))", False),
        ("file.hasLink('Nobody')", True),
        ("file.hasLink(link('Nobody'))", True),
        ("file.hasLink('Nowhere')", False),
        ("file.hasLink(missing)", False),
        ("file.hasLink('cover.png')", True),
        ("file.hasTag('#BOOK')", True),
        ("file.hasTag('genre/science-fiction')", True),
        ("file.hasTag('genre/')", True),
        ("file.hasTag('science-fiction')", False),
        ("file.hasTag('boo')", False),
        ("file.inFolder('/books/')", True),
        ("file.inFolder('Book')", False),
        ("file.inFolder('/')", True),
        ("file.hasProperty('price')", True),
        ("file.hasProperty('PRICE')", True),
        ("file.hasProperty('empty')", True),
        ("file.hasProperty('missing')", False),
        ("author.asFile().properties.born", 1920.0),
        ("author.linksTo(file)", True),
        ("author.linksTo('Index.md')", False),
        ("link('Nobody').asFile()", None),
        ("link('Nobody').linksTo(file)", False),
        ("link('https://e.org').asFile()", None),
        ("file('Nobody')", None),
        ("file(missing)", None),
    ],
)
def test_file_and_link_functions_and_fields(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


def test_the_root_folder_is_a_slash() -> None:
    assert evaluate("file.folder", INDEX) == "/"
    assert evaluate("file.inFolder('Books')", INDEX) is False


def test_this_is_the_file_that_shows_the_base() -> None:
    context = make_context(this=AUTHOR)
    assert evaluate("this.file.name", context=context) == "Frank Herbert"
    assert evaluate("this.born", context=context) == 1920
    assert evaluate("this.note.born", context=context) == 1920
    assert evaluate("this.file.properties.born", context=context) == 1920
    assert evaluate("author == this", context=context) is True
    assert evaluate("authors.contains(this)", context=context) is True
    assert evaluate("file.hasLink(this.file)", context=context) is True
    assert evaluate("this", context=context) == File(AUTHOR, as_note=True)


def test_this_is_null_when_no_file_shows_the_base() -> None:
    assert evaluate("this.file.name") is None


def test_a_number_is_refused_as_a_file() -> None:
    with pytest.raises(FormulaError, match="file, link or path"):
        evaluate("file.hasLink(5)")


def test_an_aware_time_is_shown_in_the_zone_of_now() -> None:
    row = make_file_row("A.md", mtime=datetime(2025, 5, 1, 10, 0, tzinfo=UTC))
    context = make_context(now=NOW.replace(tzinfo=timezone(timedelta(hours=2))))
    assert evaluate("file.mtime", row, context) == Date(datetime(2025, 5, 1, 12, 0))
