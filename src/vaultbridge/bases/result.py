"""Defines the result of a view (columns, rows, groups and summaries) and renders it as a Markdown table."""

from __future__ import annotations

from msgspec import Struct

from vaultbridge.bases.values import ErrorValue, LinkValue, Value, default_display, to_text


class Column(Struct, frozen=True):
    """`id` is as written in the base, `name` as shown by the app."""

    id: str
    name: str


class ViewRow(Struct, frozen=True):
    """One file, with its cells in the order of the columns."""

    path: str
    cells: tuple[Value, ...]


class Summary(Struct, frozen=True):
    column: str
    name: str
    value: Value


class Group(Struct, frozen=True):
    value: Value
    rows: tuple[ViewRow, ...]
    summaries: tuple[Summary, ...] = ()


class ViewResult(Struct, frozen=True):
    """`rows` are those shown; `total` is the number of files that pass the filters; `groups` is empty for a
    view without groupBy. `problems` name filter statements that failed for some row."""

    view: str
    columns: tuple[Column, ...]
    rows: tuple[ViewRow, ...]
    groups: tuple[Group, ...]
    summaries: tuple[Summary, ...]
    total: int
    problems: tuple[str, ...] = ()


def render_view(result: ViewResult) -> str:
    """Render the table, or one per group under the group's value, each followed by its summaries."""
    if not result.groups:
        return _table(result, result.rows, result.summaries)
    parts = [
        f"### {_cell(group.value) or '(empty)'}\n\n{_table(result, group.rows, group.summaries)}"
        for group in result.groups
    ]
    parts.extend([f"All: {_summary_line(result, result.summaries)}\n"] if result.summaries else [])
    return "\n".join(parts)


def _table(result: ViewResult, rows: tuple[ViewRow, ...], summaries: tuple[Summary, ...]) -> str:
    lines = [_line([column.name for column in result.columns]), _line(["---"] * len(result.columns))]
    lines.extend(_line([_cell(value) for value in row.cells]) for row in rows)
    if summaries:
        lines.extend(["", _summary_line(result, summaries)])
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Value) -> str:
    text = f"Error: {value.message}" if isinstance(value, ErrorValue) else to_text(_without_default(value))
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r\n", " ").replace("\n", " ")


def _without_default(value: Value) -> Value:
    """Return the value with links as short as a person writes them: without a display that repeats the
    target."""
    if isinstance(value, tuple):
        return tuple(_without_default(item) for item in value)
    if isinstance(value, LinkValue) and value.display == default_display(value.target):
        return LinkValue(value.target, value.source, external=value.external)
    return value


def _summary_line(result: ViewResult, summaries: tuple[Summary, ...]) -> str:
    names = {column.id: column.name for column in result.columns}
    return "; ".join(
        f"{summary.name} of {names.get(summary.column, summary.column)}: {_cell(summary.value)}"
        for summary in summaries
    )
