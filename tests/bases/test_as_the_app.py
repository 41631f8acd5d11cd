"""What the running app answers where its help is silent: each kind of value where notes have it."""

from __future__ import annotations

import pytest

from support.bases import evaluate, make_context, make_file_row, make_row_link
from vaultbridge.bases.values import FormulaError, LinkValue, Value

ROW = make_file_row(
    "Notes/Row.md",
    properties={
        "one": "[[Books]]",
        "many": ["[[Books]]", "[[Films|films]]"],
        "written": "[Books](Books.md)",
        "tags": ["projects/garden", "home"],
        "words": ["projects/garden"],
        "site": "https://example.org/a",
    },
    tags=("projects/garden", "home"),
    links=(
        make_row_link("Books#Read", "Library/Books.md"),
        make_row_link("Books", "Library/Books.md", "mine"),
        make_row_link("Books", "Library/Books.md", "mine"),
        make_row_link("Nowhere#Part"),
    ),
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one.contains(link('Books'))", True),
        ("many.contains(link('Books'))", True),
        ("one.contains(link('Films'))", False),
        ("one.lower()", "books"),
        ("one.length", 5.0),
        ("one.startsWith('Bo')", True),
        ("one.split('o').length", 3.0),
        ("one.isType('link')", True),
        ("written.isType('string')", True),
        ("written.contains('Books.md')", True),
        ("'see Books'.contains(one)", True),
        ("missing.contains(link('Books'))", None),
        ("missing.containsAny('a', 'b').isEmpty()", True),
        ("missing.floor()", None),
        ("missing.map(value.lower())", None),
        ("missing.deeper", None),
        ("html('<b>x</b>').contains('x')", True),
        ("icon('plus').endsWith('us')", True),
        ("image('a.png').length", 5.0),
        ("image('a.png').toString()", "![](a.png)"),
    ],
)
def test_texts_of_every_kind_have_the_functions_of_texts(source: str, expected: Value) -> None:
    assert evaluate(source, ROW) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("tags.contains('projects')", True),
        ("tags.contains('#projects/garden')", True),
        ("tags.contains('Projects')", True),
        ("tags.contains('proj')", False),
        ("file.tags.contains('projects')", True),
        ("file.tags.containsAll('projects', 'home')", True),
        ("words.contains('projects')", False),
        ("tags[0] == 'projects/garden'", True),
        ("file.tags[0]", "#projects/garden"),
    ],
)
def test_a_list_of_tags_contains_the_tags_above_its_own(source: str, expected: Value) -> None:
    assert evaluate(source, ROW) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("file.name", "Row"),
        ("file.links.map(value.toString())[0]", "[[Books#Read|Books > Read]]"),
        ("file.links.map(value.toString())[1]", "[[Books|mine]]"),
        ("file.links.unique().length", 3.0),
        ("file.links.length", 4.0),
        ("file.hasLink('Nowhere')", True),
        ("file.hasLink('Nowhere#Other')", True),
        ("file.hasLink('Nowhere.md')", False),
        ("file.links.contains(link('Nowhere'))", False),
        ("file.links.contains(link('Nowhere#Part'))", True),
    ],
)
def test_links_are_as_written_with_what_they_show(source: str, expected: Value) -> None:
    assert evaluate(source, ROW) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(date('2026-06-11') - date('2026-06-10')).toString()", "a day"),
        ("duration('2w').toString()", "14 days"),
        ("duration('45s').toString()", "a minute"),
        ("(duration('1h') * 2).toString()", "2 hours"),
        ("duration('1d') / 86400000", 1.0),
        ("date('2026-06-10 12:34:56').toString()", "2026-06-10T12:34:56"),
    ],
)
def test_times_read_as_in_the_app(source: str, expected: Value) -> None:
    assert evaluate(source, ROW) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("link('Some').path", "Cannot find path on a value of type link"),
        ("'text'.nothing", "Cannot find nothing on a value of type string"),
        ("2 * duration('1h')", "Cannot multiply number and duration"),
        ("number('nope')", "is not a number"),
    ],
)
def test_what_the_app_refuses_is_refused(source: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        evaluate(source, ROW)


def test_a_link_of_a_property_resolves_from_its_note() -> None:
    assert evaluate("many[1]", ROW, make_context()) == LinkValue("Films", "Notes/Row.md", "films")
