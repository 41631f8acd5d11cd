"""What a `.base` file says, as values: filters, formulas, display names, summaries and views.

`bases.parse` reads them from YAML; `bases.run` runs a view of them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from vaultbridge.bases.expr import Node
from vaultbridge.errors import InvalidQuery
from vaultbridge.note.model import Problem

Space = Literal["note", "file", "formula"]


class PropertyId(Struct, frozen=True):
    """Where a column's, sort's or group's values come from."""

    space: Space
    name: str

    def __str__(self) -> str:
        return self.name if self.space == "note" else f"{self.space}.{self.name}"


class Expression(Struct, frozen=True):
    """`tree` is None when the source cannot be read; `error` then says why."""

    source: str
    line: int
    tree: Node | None = None
    error: InvalidQuery | None = None

    def usable(self) -> Node:
        """The tree; raises the InvalidQuery that reading it gave."""
        if self.tree is None:
            raise self.error or InvalidQuery(f"{self.source!r} cannot be read.")
        return self.tree


class Statement(Struct, frozen=True):
    expression: Expression


class AllOf(Struct, frozen=True):
    parts: tuple[Filter, ...]


class AnyOf(Struct, frozen=True):
    parts: tuple[Filter, ...]


class NoneOf(Struct, frozen=True):
    parts: tuple[Filter, ...]


Filter: TypeAlias = Statement | AllOf | AnyOf | NoneOf


class SortKey(Struct, frozen=True):
    property: PropertyId
    descending: bool = False


class View(Struct, frozen=True):
    """`summaries` are pairs of a column and the name of a summary."""

    name: str
    type: str = "table"
    filters: Filter | None = None
    order: tuple[PropertyId, ...] = ()
    sort: tuple[SortKey, ...] = ()
    group_by: SortKey | None = None
    limit: int | None = None
    summaries: tuple[tuple[PropertyId, str], ...] = ()


class Base(Struct, frozen=True):
    """`properties` are the display names of columns; `summaries` the base's own summary formulas. `readable`
    is False when the text is no base at all: then the problems say why, and no view of it can be run."""

    filters: Filter | None = None
    formulas: dict[str, Expression] = {}
    properties: dict[PropertyId, str] = {}
    summaries: dict[str, Expression] = {}
    views: tuple[View, ...] = ()
    problems: tuple[Problem, ...] = ()
    readable: bool = True


def property_id(text: str) -> PropertyId:
    """`file.name`, `formula.x`, `note.x`, or a bare name, which is the note's."""
    space, dot, name = text.strip().partition(".")
    if dot and name and space in ("note", "file", "formula"):
        return PropertyId(space, name)  # type: ignore[arg-type]
    return PropertyId("note", text.strip())
