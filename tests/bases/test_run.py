from __future__ import annotations

from typing import Any

import pytest

from support.bases import AUTHOR, NOW, ROWS, make_file_row, resolve
from vaultbridge.bases.parse import parse_base
from vaultbridge.bases.result import Column, Group, Summary, ViewResult
from vaultbridge.bases.run import MAX_PROBLEMS, choose_view, run_view
from vaultbridge.bases.values import Date, ErrorValue, FileRow, Value
from vaultbridge.errors import InvalidArgument, InvalidQuery, TimedOut
from vaultbridge.vault.dates import format_moment


def make_row(name: str, folder: str = "Tasks", tags: tuple[str, ...] = (), **properties: Any) -> FileRow:
    return make_file_row(f"{folder}/{name}.md", properties=properties, tags=tags)


TASKS = (
    make_row("Log 10", status="open", cost=5, due="2025-06-02", tags=("work",)),
    make_row("Log 9", status="done", cost=2, due="2025-05-01", tags=("work/urgent",)),
    make_row("Ask", status="open", cost=8, tags=("home",)),
    make_row("Zero", cost="free"),
    make_row("Élan", "Other", status="waiting", cost=1),
)


def run(text: str, view: str | None = None, rows: tuple[FileRow, ...] = TASKS, **options: Any) -> ViewResult:
    return run_view(
        parse_base(text), view, rows, now=NOW, resolve=resolve, format_moment=format_moment, **options
    )


def list_names(result: ViewResult) -> list[str]:
    return [row.path.rpartition("/")[2].removesuffix(".md") for row in result.rows]


def list_cells(result: ViewResult, column: int = 0) -> list[Value]:
    return [row.cells[column] for row in result.rows]


def test_a_base_without_anything_lists_every_file_by_name() -> None:
    result = run("")
    assert list_names(result) == ["Ask", "Élan", "Log 9", "Log 10", "Zero"]
    assert result.columns == (Column("file.name", "file name"),)
    assert (result.view, result.total, result.groups, result.summaries) == ("Table", 5, (), ())


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ("status == 'open'", ["Ask", "Log 10"]),
        ("{and: ['status == \"open\"', 'cost > 6']}", ["Ask"]),
        ("{or: ['status == \"done\"', 'cost > 6']}", ["Ask", "Log 9"]),
        ("{not: ['status == \"open\"', 'cost < 2']}", ["Log 9", "Zero"]),
        (
            "{and: [{or: [status, cost]}, {not: ['file.inFolder(\"Other\")']}]}",
            ["Ask", "Log 9", "Log 10", "Zero"],
        ),
        ("file.hasTag('work')", ["Log 9", "Log 10"]),
        ("due < today()", ["Log 9"]),
        ("'!status'", ["Zero"]),
        ("{and: []}", ["Ask", "Élan", "Log 9", "Log 10", "Zero"]),
        ("{or: []}", ["Ask", "Élan", "Log 9", "Log 10", "Zero"]),
        ("false", []),
    ],
)
def test_filters_choose_the_rows(filters: str, found: list[str]) -> None:
    assert list_names(run(f"filters: {filters}")) == found


def test_the_base_s_and_the_view_s_filters_must_both_hold() -> None:
    text = "filters: cost > 1\nviews: [{name: A, filters: 'status == \"open\"'}, {name: B}]"
    assert list_names(run(text, "A")) == ["Ask", "Log 10"]
    assert list_names(run(text, "B")) == ["Ask", "Log 9", "Log 10"]


def test_a_filter_that_fails_for_a_row_is_false_for_it_and_reported() -> None:
    result = run("filters: {or: ['cost.floor() > 4', 'cost == \"free\"']}")
    assert list_names(result) == ["Ask", "Log 10", "Zero"]
    assert result.problems == (
        "cost.floor() > 4: Cannot call floor() on a value of type string, expected number or duration.",
    )


def test_failing_filters_are_named_up_to_a_bound() -> None:
    text = "filters: {or: [" + ", ".join(f"file.slice({n})" for n in range(40)) + "]}"
    assert len(run(text).problems) == MAX_PROBLEMS


def test_columns_have_the_names_the_base_gives_them() -> None:
    text = """
properties: {cost: {displayName: Price}, file.ext: {displayName: Kind}, formula.x: {displayName: Ex}}
formulas: {x: '1', y: '2'}
views: [{name: A, order: [file.name, file.ext, note.cost, formula.x, formula.y, status]}]
"""
    columns = run(text).columns
    assert [column.name for column in columns] == ["file name", "Kind", "Price", "Ex", "y", "status"]
    assert [column.id for column in columns] == [
        "file.name",
        "file.ext",
        "cost",
        "formula.x",
        "formula.y",
        "status",
    ]


def test_formulas_use_each_other_and_may_filter_and_sort() -> None:
    text = """
formulas:
  total: formula.tax + cost
  tax: cost * 0.5
views:
  - name: A
    filters: formula.total > 2
    order: [formula.total]
    sort: [{property: formula.total, direction: DESC}]
"""
    assert list_cells(run(text)) == [12.0, 7.5, 3.0]


def test_an_error_in_one_row_stays_in_its_cell() -> None:
    text = "formulas: {f: cost * 2, g: formula.f + 1}\nviews: [{name: A, order: [formula.f, formula.g]}]"
    result = run(text)
    assert list_cells(result)[-1] == ErrorValue("Cannot multiply string and number, expected numbers.")
    assert list_cells(result, 1)[-1] == ErrorValue("Cannot multiply string and number, expected numbers.")
    assert list_cells(result, 1)[0] == 17


def test_rows_without_a_value_sort_last_in_either_direction() -> None:
    text = "views: [{name: A, sort: [{property: due, direction: %s}]}]"
    assert list_names(run(text % "ASC")) == ["Log 9", "Log 10", "Ask", "Élan", "Zero"]
    assert list_names(run(text % "DESC")) == ["Log 10", "Log 9", "Ask", "Élan", "Zero"]


def test_several_sorts_apply_in_their_order() -> None:
    text = "views: [{name: A, sort: [{property: status}, {property: cost, direction: DESC}]}]"
    assert list_names(run(text)) == ["Log 9", "Ask", "Log 10", "Élan", "Zero"]


def test_a_limit_keeps_the_first_and_the_total_counts_all() -> None:
    text = "views: [{name: A, limit: 3, sort: [cost]}]"
    result = run(text)
    assert (list_names(result), result.total) == (["Élan", "Log 9", "Log 10"], 5)
    assert list_names(run(text, limit=2)) == ["Élan", "Log 9"]
    assert len(run(text, limit=9).rows) == 3


def test_groups_come_in_their_order_with_their_own_summaries() -> None:
    text = """
views:
  - name: A
    order: [file.name, cost]
    groupBy: {property: status, direction: DESC}
    sort: [{property: cost}]
    summaries: {cost: Sum}
"""
    result = run(text)
    assert [(group.value, [row.cells[1] for row in group.rows]) for group in result.groups] == [
        ("waiting", [1.0]),
        ("open", [5.0, 8.0]),
        ("done", [2.0]),
        (None, ["free"]),
    ]
    assert [group.summaries[0].value for group in result.groups] == [1.0, 13.0, 2.0, None]
    assert result.summaries == (Summary("cost", "Sum", 16.0),)
    assert [row for group in result.groups for row in group.rows] == list(result.rows)


def test_groups_of_links_are_by_the_file_they_lead_to() -> None:
    rows = (
        make_row("A", by="[[Frank Herbert]]"),
        make_row("B", by="[[People/Frank Herbert|Frank]]"),
        make_row("C", by="[[x]]"),
    )
    result = run("views: [{name: A, groupBy: by}]", rows=rows)
    assert [len(group.rows) for group in result.groups] == [2, 1]
    assert isinstance(result.groups[0], Group)


def test_summaries_built_in_and_the_base_s_own() -> None:
    text = """
summaries:
  double: values.filter(value.isType("number")).reduce(acc + value, 0) * 2
  bad: values[0].lower()
  reach: values.length + formula.x
formulas: {x: '1'}
views:
  - name: A
    sort: [cost]
    limit: 2
    summaries: {cost: double, due: Latest, status: Filled, file.name: bad, formula.x: reach}
"""
    assert [(summary.column, summary.value) for summary in run(text).summaries] == [
        ("cost", 6.0),
        ("due", Date(NOW.replace(month=5, day=1, hour=0, minute=0, second=0, microsecond=0), has_time=False)),
        ("status", 2.0),
        ("file.name", "élan"),
        ("formula.x", ErrorValue("A summary can use values, not formula.x.")),
    ]


def test_the_file_called_this_is_passed_on_to_filters() -> None:
    result = run("filters: file.hasLink(this.file)", rows=ROWS, this=AUTHOR)
    assert [row.path for row in result.rows] == ["Books/Dune.md"]


def test_files_outside_of_the_rows_are_found_by_row_of() -> None:
    text = "formulas: {born: author.asFile().properties.born}\nviews: [{name: A, order: [formula.born]}]"
    book = ROWS[:1]
    assert list_cells(run(text, rows=book)) == [None]
    assert list_cells(run(text, rows=book, row_of={AUTHOR.path: AUTHOR}.get)) == [1920.0]


def test_property_types_and_random_numbers_are_passed_on() -> None:
    text = "formulas: {t: 'due.isType(\"string\")', r: random()}\nviews: [{order: [formula.t, formula.r]}]"
    result = run(text, rows=TASKS[:1], types={"due": "text"}, random=lambda: 0.5)
    assert result.rows[0].cells == (True, 0.5)


def test_random_numbers_are_the_same_for_the_same_moment() -> None:
    text = "formulas: {r: random()}\nviews: [{order: [formula.r]}]"
    assert list_cells(run(text)) == list_cells(run(text))
    assert len(set(map(str, list_cells(run(text))))) == len(TASKS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("filters: status.nope()", r"Unknown function nope\(\) at 7"),
        ("filters: '1 +'", "Unexpected end"),
        ("filters: {or: [a, {not: ['b +']}]}", "Unexpected end"),
        ("filters: formula.x", "Unknown formula formula.x"),
        ("formulas: {x: 1 +}\nviews: [{order: [formula.x]}]", "Unexpected end"),
        ("formulas: {x: y.nope()}\nfilters: formula.x", r"Unknown function nope\(\)"),
        ("formulas: {x: formula.y, y: formula.x}\nviews: [{order: [formula.x]}]", "formula.x -> formula.y"),
        ("formulas: {x: formula.y, y: z.nope()}\nviews: [{sort: [formula.x]}]", r"nope\(\)"),
        ("filters: !status", "put the filter in quotes"),
        ("filters: {xor: [a]}", "got 'xor'"),
        ("filters: [", "not valid YAML"),
        ("just text", r"cannot be read \(line 1\): The base should be a mapping"),
        ("filters: 'true'\nfilters: 'false'\n", "'filters' is used twice"),
        ("x: [" + "a, " * 25_000 + "]\nviews: [" + "{}, " * 25_000 + "]", "more than"),
        ("views: [{order: [file.nme]}]", "Unknown file property file.nme"),
        ("views: [{order: [formula.nme]}]", "Unknown formula formula.nme"),
        ("views: [{groupBy: formula.nme}]", "Unknown formula formula.nme"),
        ("views: [{summaries: {a: Nonsense}}]", "Unknown summary 'Nonsense'"),
        ("summaries: {s: values.nope()}\nviews: [{summaries: {a: s}}]", r"nope\(\)"),
    ],
)
def test_a_view_stops_at_what_cannot_be_evaluated(text: str, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        run(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("formulas:\n  a: 1\n  b: if(\nviews: [{order: [formula.b]}]", "Line 3, if(: Unexpected end"),
        (
            "formulas:\n  a: 1\n  b: x.nope()\nviews: [{order: [formula.b]}]",
            "Line 3, x.nope(): Unknown function",
        ),
        (
            "views:\n  - filters:\n      and:\n        - a\n        - b.nope()",
            "Line 5, b.nope(): Unknown function",
        ),
        ("filters: '" + "a + " * 40 + "'", "Line 1, " + "a + " * 20 + "…: Unexpected end"),
        ("filters: {xor: [a]}", "Line 1: A filter group is"),
    ],
)
def test_an_error_says_which_expression_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        run(text)
    assert str(refused.value).startswith(message)


def test_faults_that_a_view_does_not_use_do_not_stop_it() -> None:
    text = "formulas: {bad: 1 +, loop: formula.loop}\nviews: [{name: A}, {name: B, filters: '1 +'}]"
    assert len(run(text).rows) == 5


def test_formulas_by_computed_names_cannot_go_in_circles() -> None:
    text = """
formulas:
  x: formula["x" + ""]
  y: formula["z" + ""]
views: [{order: [formula.x, formula.y]}]
"""
    result = run(text, rows=TASKS[:1])
    first, second = result.rows[0].cells
    assert isinstance(first, ErrorValue)
    assert "refers to itself" in first.message
    assert second == ErrorValue("There is no formula.z.")


def test_a_long_chain_of_formulas_runs() -> None:
    chain = "\n".join(f"  f{n}: formula.f{n + 1} + 1" for n in range(300))
    text = f"formulas:\n{chain}\n  f300: '0'\nviews: [{{order: [formula.f0]}}]"
    assert list_cells(run(text, rows=TASKS[:1])) == [300.0]


def test_a_view_that_needs_too_much_work_is_stopped() -> None:
    rows = tuple(make_row(f"n{n}") for n in range(20))
    text = "filters: status != 1"
    assert len(run(text, rows=rows, max_steps=60).rows) == 20
    with pytest.raises(TimedOut, match="too many steps"):
        run(text, rows=rows, max_steps=59)


def test_a_view_is_chosen_by_name() -> None:
    base = parse_base("views: [{name: One}, {name: two}, {name: Two}]")
    assert choose_view(base, None).name == "One"
    assert choose_view(base, "Two").name == "Two"
    assert choose_view(base, "ONE").name == "One"
    with pytest.raises(InvalidArgument, match=r"no view 'Three'\. It has: One, two, Two\."):
        choose_view(base, "Three")
