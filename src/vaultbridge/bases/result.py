"""What running a view gives: columns, rows, groups and summaries, as values."""

from __future__ import annotations

from msgspec import Struct

from vaultbridge.bases.values import Value


class Column(Struct, frozen=True):
    """`id` as the base writes it, `name` as the app shows it."""

    id: str
    name: str


class ViewRow(Struct, frozen=True):
    """One file; its cells in the order of the columns."""

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
    """`rows` are those shown, `total` is how many the filters let through; `groups` is empty for a view
    without groupBy. `problems` name filter statements that failed for some row."""

    view: str
    columns: tuple[Column, ...]
    rows: tuple[ViewRow, ...]
    groups: tuple[Group, ...]
    summaries: tuple[Summary, ...]
    total: int
    problems: tuple[str, ...] = ()
