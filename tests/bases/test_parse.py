from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.parse import (
    MAX_FILTER_DEPTH,
    MAX_PROBLEMS,
    AllOf,
    AnyOf,
    Base,
    Filter,
    NoneOf,
    PropertyId,
    SortKey,
    Statement,
    View,
    parse_base,
)
from vaultbridge.limits import BASE_CHARS

EXAMPLE = """\
filters:
  or:
    - file.hasTag("tag")
    - and:
        - file.hasTag("book")
        - file.hasLink("Textbook")
    - not:
        - file.hasTag("book")
        - file.inFolder("Required Reading")
formulas:
  formatted_price: 'if(price, price.toFixed(2) + " dollars")'
  ppu: "(price / age).toFixed(2)"
properties:
  status:
    displayName: Status
  formula.formatted_price:
    displayName: "Price"
  file.ext:
    displayName: Extension
summaries:
  customAverage: 'values.mean().round(3)'
views:
  - type: table
    name: "My table"
    limit: 10
    groupBy:
      property: note.age
      direction: DESC
    filters:
      and:
        - 'status != "done"'
        - or:
            - "formula.ppu > 5"
            - "price > 2.1"
    order:
      - file.name
      - note.age
      - formula.ppu
    sort:
      - property: file.mtime
        direction: DESC
      - column: price
    columnSize:
      file.name: 200
    summaries:
      formula.ppu: Average
  - type: cards
"""


def list_sources(part: Filter | None) -> object:
    match part:
        case None:
            return None
        case Statement(expression):
            return expression.source
        case AllOf(parts):
            return {"and": [list_sources(inner) for inner in parts]}
        case AnyOf(parts):
            return {"or": [list_sources(inner) for inner in parts]}
        case NoneOf(parts):
            return {"not": [list_sources(inner) for inner in parts]}


def test_the_example_of_the_help_pages_is_read_in_full() -> None:
    base = parse_base(EXAMPLE)
    assert base.problems == ()
    assert list_sources(base.filters) == {
        "or": [
            'file.hasTag("tag")',
            {"and": ['file.hasTag("book")', 'file.hasLink("Textbook")']},
            {"not": ['file.hasTag("book")', 'file.inFolder("Required Reading")']},
        ]
    }
    assert {name: formula.source for name, formula in base.formulas.items()} == {
        "formatted_price": 'if(price, price.toFixed(2) + " dollars")',
        "ppu": "(price / age).toFixed(2)",
    }
    assert base.formulas["ppu"].line == 12
    assert base.properties == {
        PropertyId("note", "status"): "Status",
        PropertyId("formula", "formatted_price"): "Price",
        PropertyId("file", "ext"): "Extension",
    }
    assert base.summaries["customAverage"].source == "values.mean().round(3)"
    first, second = base.views
    assert (first.name, first.type, first.limit) == ("My table", "table", 10)
    assert first.group_by == SortKey(PropertyId("note", "age"), descending=True)
    assert first.sort == (
        SortKey(PropertyId("file", "mtime"), descending=True),
        SortKey(PropertyId("note", "price")),
    )
    assert first.order == (
        PropertyId("file", "name"),
        PropertyId("note", "age"),
        PropertyId("formula", "ppu"),
    )
    assert list_sources(first.filters) == {
        "and": ['status != "done"', {"or": ["formula.ppu > 5", "price > 2.1"]}]
    }
    assert first.summaries == ((PropertyId("formula", "ppu"), "Average"),)
    assert second == View(name="View 2", type="cards")


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "views:\n", "filters:\nviews: []\n"])
def test_an_empty_base_is_a_base(text: str) -> None:
    assert parse_base(text) == Base()


def test_a_filter_may_be_one_statement_or_a_bare_list() -> None:
    assert list_sources(parse_base("filters: price > 2").filters) == "price > 2"
    assert list_sources(parse_base("filters: ['a', 'b']").filters) == {"and": ["a", "b"]}
    assert list_sources(parse_base("filters: {and: 'a'}").filters) == {"and": ["a"]}
    assert list_sources(parse_base("filters: true").filters) == "true"
    assert list_sources(parse_base("filters: {and: ['a'], not: ['b']}").filters) == {
        "and": [{"and": ["a"]}, {"not": ["b"]}]
    }


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: [1\n", 1, "not valid YAML: expected ',' or ']', but got the end"),
        ("a: 1\nb: [1, }\n", 2, "not valid YAML"),
        ("just text", 1, "should be a mapping"),
        ("formulas:\n  x: 1 +\n", 2, "1 +: Unexpected end"),
        ("formulas:\n  x: a.nope()\n", 2, "Unknown function nope()"),
        ("formulas:\n  x: [1]\n", 2, "should be an expression"),
        ("filters:\n  and:\n    - a\n    - b ==\n", 4, "b ==: Unexpected"),
        ("filters:\n  xor: [a]\n", 2, "got 'xor'"),
        ("filters: !status\n", 1, "put the filter in quotes"),
        ("filters: formula.x\n", 1, "Unknown formula formula.x"),
        ("views: 5\n", 1, "views should be a list"),
        ("views:\n  - 5\n", 2, "A view should be a mapping"),
        ("views:\n  - name: A\n    limit: ten\n", 3, "limit should be a whole number, got 'ten'"),
        ("views:\n  - name: A\n    sort: [{direction: ASC}]\n", 3, "needs a property"),
        ("views:\n  - name: A\n    groupBy: {property: x, direction: up}\n", 3, "not 'UP'"),
        ("views:\n  - name: A\n    order: [[x]]\n", 3, "should be the name of a property"),
        ("formulas:\n  x: '1'\n  x: '2'\n", 3, "is used twice"),
        ("summaries:\n  s: values.\n", 2, "values.: Unexpected"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(text: str, line: int, message: str) -> None:
    problems = parse_base(text).problems
    assert [(problem.code, problem.line) for problem in problems] == [("bad-base", line)]
    assert message in problems[0].message
    assert parse_base(text, first_line=11).problems[0].line == line + 10


def test_lines_count_from_the_first_line_of_the_block() -> None:
    assert parse_base("formulas:\n  x: 1 +\n", first_line=20).problems[0].line == 21
    assert parse_base("a: 1\nb: [1, }\n", first_line=20).problems[0].line == 21


def test_one_bad_formula_does_not_hide_the_rest() -> None:
    base = parse_base("formulas:\n  bad: 1 +\n  good: 1 + 1\nviews:\n  - name: A\n")
    assert base.formulas["good"].tree is not None
    assert base.formulas["bad"].tree is None
    assert base.views[0].name == "A"


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert len(parse_base("views:\n" + "- a\n" * 500).problems) == MAX_PROBLEMS


@pytest.mark.parametrize("blank", ["\t", "\t\t", " \t", "\t "])
def test_a_tab_before_a_value_is_a_blank_as_in_the_app(blank: str) -> None:
    """npm's yaml 2 reads these; PyYAML's loader in Python does not."""
    text = (
        "views:\n  - type: table\n    name: T\n    limit: 3\n"
        'filters:\n  and:\n    - "status == \\"a:\tb\\""\n'
        "formulas:\n  doubled: price * 2\n"
    )
    spaced = text.replace(": ", f":{blank}")
    assert parse_base(spaced) == parse_base(text)
    assert parse_base(spaced).readable


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("formulas:\n  a: price\t* 2\n", "price\t* 2"),
        ("formulas:\n  a: price \t * 2\t\n", "price \t * 2"),
        ("formulas:\n  a: price *\n    \t2\n", "price * 2"),
        ("formulas:\n  a\t: price * 2\t# note\n", "price * 2"),
        ("formulas:\t{a:\tprice * 2,\tb: 1\t}\n", "price * 2"),
        ("formulas:\n  a: |\n    price\t* 2\n  b:\t1\n", "price\t* 2\n"),
        ("formulas:\n\t\n  a: price * 2\n", "price * 2"),
    ],
)
def test_tabs_are_read_everywhere_but_in_the_indentation(text: str, formula: str) -> None:
    """The values are what npm's yaml 2 reads, as the app does."""
    base = parse_base(text)
    assert base.readable, base.problems
    assert base.formulas["a"].source == formula
    assert base.formulas["a"].tree is not None


def test_a_tab_in_the_indentation_is_a_problem_as_in_the_app() -> None:
    assert not parse_base("formulas:\n\ta: 1\n").readable


def test_a_limit_of_zero_is_none() -> None:
    assert parse_base("views:\n  - name: A\n    limit: 0\n").views[0].limit is None


@pytest.mark.parametrize(
    "text",
    [
        "x" * (BASE_CHARS + 1),
        "[" * 5_000,
        "filters: " + "{and: [" * (MAX_FILTER_DEPTH + 5) + "a" + "]}" * (MAX_FILTER_DEPTH + 5),
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}' if n else '*a'] * 9)}]\n" for n in range(9))
        + "filters: {and: *k8}\n",
        "? [a]\n: b\n",
        "a: !!python/object/apply:os.system ['x']\n",
        "\x00",
    ],
)
def test_a_hostile_base_is_reported_or_read_quickly(text: str) -> None:
    base = parse_base(text)
    assert base.problems or base == Base()


@settings(deadline=None)
@given(st.text(alphabet="filters:adn-[]{}'\" \n#&*!|>", max_size=60))
def test_any_text_gives_a_base(text: str) -> None:
    parse_base(text)
