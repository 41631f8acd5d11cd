"""Every example of a function in the help pages works, and every function named there exists."""

from __future__ import annotations

from datetime import datetime

import pytest

from support.bases import BOOK, evaluate
from vaultbridge.bases.evaluate import GLOBAL_NAMES, METHODS, PER_ELEMENT, find_method
from vaultbridge.bases.functions import FILE_FIELDS
from vaultbridge.bases.methods import DATE_FIELDS
from vaultbridge.bases.values import (
    Date,
    Duration,
    File,
    HtmlValue,
    IconValue,
    ImageValue,
    LinkValue,
    TypeName,
    Value,
)

DOCUMENTED: dict[TypeName, str] = {
    "date": "date format time relative isEmpty",
    "string": "contains containsAll containsAny endsWith isEmpty lower replace repeat reverse slice split "
    "startsWith title trim",
    "number": "abs ceil floor isEmpty round toFixed",
    "list": "contains containsAll containsAny filter flat isEmpty join map reduce reverse slice sort unique",
    "link": "asFile linksTo",
    "file": "asLink hasLink hasProperty hasTag inFolder",
    "object": "isEmpty keys values",
    "regexp": "matches",
    "boolean": "isTruthy isType toString",
}


def test_every_documented_global_function_exists() -> None:
    documented = "escapeHTML date duration file html if image icon link list max min now number today random"
    assert set(documented.split()) == GLOBAL_NAMES


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_every_documented_function_of_a_type_exists(kind: TypeName) -> None:
    for name in (*DOCUMENTED[kind].split(), "isTruthy", "isType", "toString"):
        assert (find_method(kind, name) is None) == (kind == "list" and name in PER_ELEMENT), name


def test_only_the_documented_functions_exist_and_the_mean_for_summaries() -> None:
    for kind, table in METHODS.items():
        own = {"duration": "number", "html": "string", "icon": "string", "image": "string"}.get(kind, kind)
        # A link is also a text: what the app's own types say, and its help does not.
        documented = {
            *DOCUMENTED[own].split(),
            "mean",
            *(DOCUMENTED["string"].split() if kind == "link" else ()),
        }
        assert set(table) <= documented


def test_every_documented_field_exists() -> None:
    assert set(DATE_FIELDS) == {"year", "month", "day", "hour", "minute", "second", "millisecond"}
    documented = "backlinks ctime embeds ext file folder links mtime name path properties size tags basename"
    assert set(documented.split()) <= set(FILE_FIELDS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('file(link("[[Dune]]")) == file', True),
        ('file("Books/Dune.md")', File(BOOK)),
        ('if(done, "Modified", "Unmodified")', "Unmodified"),
        ("image(image-property)", ImageValue("cover.png")),
        ('image("https://example.org/logo.svg")', ImageValue("https://example.org/logo.svg")),
        ('icon("arrow-right")', IconValue("arrow-right")),
        ('list("value")', ("value",)),
        ('number("3.4")', 3.4),
        ("1.isTruthy()", True),
        ('"example".isType("string")', True),
        ('true.isType("boolean")', True),
        ("123.toString()", "123"),
        ('now().date().format("YYYY-MM-DD HH:mm:ss")', "2025-05-27 00:00:00"),
        ('now().format("YYYY-MM-DD")', "2025-05-27"),
        ("now().time()", "14:30:15"),
        ("file.mtime.relative()", "3 days ago"),
        ("now().isEmpty()", False),
        ('"hello".contains("ell")', True),
        ('"hello".containsAll("h", "e")', True),
        ('"hello".containsAny("x", "y", "e")', True),
        ('"hello".endsWith("lo")', True),
        ('"Hello world".isEmpty()', False),
        ('"".isEmpty()', True),
        ('"a:b:c:d".replace(/:/, "-")', "a-b:c:d"),
        ('"a:b:c:d".replace(/:/g, "-")', "a-b-c-d"),
        (r'"John Smith".replace(/(\w+) (\w+)/, "$2, $1")', "Smith, John"),
        ('"123".repeat(2)', "123123"),
        ('"hello".reverse()', "olleh"),
        ('"hello".slice(1, 4)', "ell"),
        ('"a,b,c,d".split(",", 3)', ("a", "b", "c")),
        ('"a,b,c,d".split(/,/, 3)', ("a", "b", "c")),
        ('"hello".startsWith("he")', True),
        ('"hello world".title()', "Hello World"),
        ('"  hi  ".trim()', "hi"),
        ("(-5).abs()", 5.0),
        ("(2.1).ceil()", 3.0),
        ("(2.9).floor()", 2.0),
        ("5.isEmpty()", False),
        ("(2.5).round()", 3.0),
        ("(2.3333).round(2)", 2.33),
        ("(3.14159).toFixed(2)", "3.14"),
        ("[1,2,3].contains(2)", True),
        ("[1,2,3].containsAll(2,3)", True),
        ("[1,2,3].containsAny(3,4)", True),
        ("[1,2,3,4].filter(value > 2)", (3.0, 4.0)),
        ("[1,[2,3]].flat()", (1.0, 2.0, 3.0)),
        ("[1,2,3].isEmpty()", False),
        ('[1,2,3].join(",")', "1,2,3"),
        ("[1,2,3,4].map(value + 1)", (2.0, 3.0, 4.0, 5.0)),
        ("[1,2,3].reduce(acc + value, 0)", 6.0),
        (
            '[3,"x",9,4].filter(value.isType("number"))'
            ".reduce(if(acc == null || value > acc, value, acc), null)",
            9.0,
        ),
        ("[1,2,3].reverse()", (3.0, 2.0, 1.0)),
        ("[1,2,3,4].slice(1,3)", (2.0, 3.0)),
        ("[3, 1, 2].sort()", (1.0, 2.0, 3.0)),
        ('["c", "a", "b"].sort()', ("a", "b", "c")),
        ("[1,2,2,3].unique()", (1.0, 2.0, 3.0)),
        ('link("[[Dune]]").asFile()', File(BOOK)),
        ("file.asLink()", LinkValue("Books/Dune.md", "Books/Dune.md")),
        ('file.hasTag("tag1", "book")', True),
        ('file.hasTag("genre")', True),
        ('file.inFolder("Books")', True),
        ("{}.isEmpty()", True),
        ('/abc/.matches("abcde")', True),
        ("(now() + '1d') - now()", Duration(0, 86_400_000.0)),
        ('date("2025-01-01 12:00:00")', Date(datetime(2025, 1, 1, 12))),
        ("link(file.ctime.date().toString())", LinkValue("2025-05-20", "Books/Dune.md")),
        ('link("filename", icon("plus"))', LinkValue("filename", "Books/Dune.md", IconValue("plus"))),
        ('html("<b>x</b>")', HtmlValue("<b>x</b>")),
        ('if(price, "$" + price.toFixed(2), "")', "$12.50"),
        ("(price / age).toFixed(2)", "3.13"),
    ],
)
def test_an_example_of_the_help_pages(source: str, expected: Value) -> None:
    assert evaluate(source) == expected
