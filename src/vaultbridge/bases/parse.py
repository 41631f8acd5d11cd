"""Parses a `.base` file, and finds the ```base blocks of a note.

A base has filters, formulas, display names, summaries and views. Parsing never raises: it reports what is
wrong with its line, because one bad formula must not hide the other views. Running a view that uses a bad
expression raises its error (`bases.run`). Keys for the app's interface only (column widths, card sizes) are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.bases.evaluate import check_expression
from vaultbridge.bases.expression import Node, parse_expression
from vaultbridge.errors import InvalidQuery
from vaultbridge.limits import BASE_CHARS
from vaultbridge.markdown.embedded import Embedded
from vaultbridge.markdown.model import Problem
from vaultbridge.markdown.text import split_with_starts
from vaultbridge.markdown.yaml import base_loader

Space = Literal["note", "file", "formula"]


class PropertyId(Struct, frozen=True):
    """The property that a column, sort or group takes its values from."""

    space: Space
    name: str

    def __str__(self) -> str:
        return self.name if self.space == "note" else f"{self.space}.{self.name}"


class Expression(Struct, frozen=True):
    """An expression of a base. `tree` is None if the source cannot be parsed; `error` then says why."""

    source: str
    line: int
    tree: Node | None = None
    error: InvalidQuery | None = None

    def usable(self) -> Node:
        """Return the tree, or raise the InvalidQuery of parsing it."""
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
    """`summaries` are pairs of a column and the name of a summary; `image` is the property whose picture the
    cards of a view show. `problems` are those of the base that are in this view."""

    name: str
    type: str = "table"
    filters: Filter | None = None
    order: tuple[PropertyId, ...] = ()
    sort: tuple[SortKey, ...] = ()
    group_by: SortKey | None = None
    limit: int | None = None
    summaries: tuple[tuple[PropertyId, str], ...] = ()
    image: PropertyId | None = None
    problems: tuple[Problem, ...] = ()


class Base(Struct, frozen=True):
    """`properties` are the display names of columns; `summaries` the base's own summary formulas. `readable`
    is False if the text is not a base: then the problems say why, and no view can be run."""

    filters: Filter | None = None
    formulas: dict[str, Expression] = {}
    properties: dict[PropertyId, str] = {}
    summaries: dict[str, Expression] = {}
    views: tuple[View, ...] = ()
    problems: tuple[Problem, ...] = ()
    readable: bool = True

    def problems_of(self, view: str) -> tuple[Problem, ...]:
        """Return the problems that concern a view: not those in other views, which the app does not show
        there either."""
        elsewhere = {problem for other in self.views if other.name != view for problem in other.problems}
        return tuple(problem for problem in self.problems if problem not in elsewhere)


def property_id(text: str) -> PropertyId:
    """Parse `file.name`, `formula.x`, `note.x`, or a bare name, which is a property of the note."""
    space, dot, name = text.strip().partition(".")
    if dot and name and space in ("note", "file", "formula"):
        return PropertyId(space, name)  # type: ignore[arg-type]
    return PropertyId("note", text.strip())


MAX_PROBLEMS: Final = 50
"""The most problems reported for one base: a file of another kind would give one per line."""

MAX_YAML_NODES: Final = 20_000
"""The most nodes visited. With YAML aliases a short text can expand without end."""

MAX_FILTER_DEPTH: Final = 30
"""The deepest nesting of filter groups; evaluation recurses once per level."""


def parse_base(text: str, first_line: int = 1) -> Base:
    """Parse the text of a base. `first_line` is its line in the note, for the lines of problems."""
    reader = _BaseReader(first_line)
    root = reader.compose(text)
    if root is None:
        return Base(problems=tuple(reader.problems), readable=not reader.problems)
    return reader.base(root)


class _BaseReader:
    """Walks the YAML nodes, which unlike loaded values have their lines and the text of each scalar."""

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self._visited = 0
        self._readable = True
        self._formulas: dict[str, Expression] = {}
        self.problems: list[Problem] = []

    def compose(self, text: str) -> Any:
        import yaml  # imported when needed: a server that reads no base starts without it

        if len(text) > BASE_CHARS:
            self._report(
                f"The base has more than {BASE_CHARS} characters, so it is not read.", self._first_line
            )
            return None
        try:
            return yaml.compose(text, Loader=base_loader())
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            # The end of the text is after its last line, where there is nothing to look at.
            line = min(mark.line + 1, text.rstrip().count("\n") + 1) if mark else 1
            reason = getattr(error, "problem", None) or "it cannot be read"
            reason = reason.replace("'<stream end>'", "the end")
            self._report(f"The base is not valid YAML: {reason}.", self._first_line + line - 1)
        except (RecursionError, ValueError):
            self._report(
                "The base is not valid YAML: it is nested too deeply or has bad values.", self._first_line
            )
        return None

    def base(self, root: Any) -> Base:
        fields = self._mapping(root, "The base")
        self._readable = not self.problems
        formulas = self._expressions(fields.get("formulas"), "formulas")
        summaries = self._expressions(fields.get("summaries"), "summaries")
        self._check(formulas.values(), formulas)
        self._check(summaries.values(), formulas)
        self._formulas = formulas
        views = tuple(
            self._view(node, number) for number, node in enumerate(self._items(fields.get("views"), "views"))
        )
        return Base(
            filters=self._filter(fields.get("filters")),
            formulas=formulas,
            properties=self._display_names(fields.get("properties")),
            summaries=summaries,
            views=views,
            problems=tuple(sorted(self.problems, key=lambda problem: problem.line)),
            readable=self._readable,
        )

    def _report(self, message: str, line: int) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem("bad-base", message, line))

    def _line(self, node: Any) -> int:
        return self._first_line + int(node.start_mark.line)

    def _visit(self) -> bool:
        self._visited += 1
        if self._visited == MAX_YAML_NODES:
            # A filter may be left out, and without it every file would pass.
            self._report(f"The base has more than {MAX_YAML_NODES} entries.", self._first_line)
            self._readable = False
        return self._visited < MAX_YAML_NODES

    def _kind(self, node: Any) -> str:
        return str(node.id)  # PyYAML's own name for it: scalar, sequence or mapping

    def _text(self, node: Any) -> str | None:
        if node is None or self._kind(node) != "scalar":
            return None
        empty = node.style is None and node.value in ("", "~", "null", "Null", "NULL")
        return None if empty else str(node.value)

    def _mapping(self, node: Any, what: str) -> dict[str, Any]:
        if node is None or (self._kind(node) == "scalar" and self._text(node) is None):
            return {}
        if self._kind(node) != "mapping":
            self._report(f"{what} should be a mapping of keys to values.", self._line(node))
            return {}
        fields: dict[str, Any] = {}
        for key, value in node.value:
            if not self._visit():
                break
            name = str(key.value) if self._kind(key) == "scalar" else ""
            if name in fields:
                # Refused as in the app, because it is unclear which of the two is meant.
                self._report(f"The key {name!r} is used twice.", self._line(key))
                self._readable = False
            fields[name] = value
        return fields

    def _items(self, node: Any, what: str) -> list[Any]:
        if node is None or (self._kind(node) == "scalar" and self._text(node) is None):
            return []
        if self._kind(node) != "sequence":
            self._report(f"{what} should be a list.", self._line(node))
            return []
        return [item for item in node.value if self._visit()]

    def _expressions(self, node: Any, what: str) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for name, value in self._mapping(node, what).items():
            source = self._text(value)
            if source is None:
                self._report(f"{what}.{name} should be an expression as text.", self._line(value))
            else:
                found[name] = self._expression(source, self._line(value))
        return found

    def _expression(self, source: str, line: int) -> Expression:
        try:
            return Expression(source, line, parse_expression(source))
        except InvalidQuery as error:
            self._report(f"{source}: {error}", line)
            return Expression(source, line, error=error)

    def _check(self, expressions: Iterable[Expression], formulas: Collection[str]) -> None:
        for expression in expressions:
            if expression.tree is not None:
                try:
                    check_expression(expression.tree, formulas)
                except InvalidQuery as error:
                    self._report(f"{expression.source}: {error}", expression.line)

    def _filter(self, node: Any, depth: int = 0) -> Filter | None:
        if node is None:
            return None
        if self._kind(node) == "scalar":
            if node.tag.startswith("!"):
                return self._bad_filter(node, f"YAML reads {node.tag} as a tag: put the filter in quotes.")
            source = self._text(node)
            if source is None or not source.strip():
                return None
            expression = self._expression(source, self._line(node))
            self._check((expression,), self._formulas)
            return Statement(expression)
        if depth >= MAX_FILTER_DEPTH:
            return self._bad_filter(node, f"Filters are nested deeper than {MAX_FILTER_DEPTH} groups.")
        if self._kind(node) == "sequence":  # a bare list means "and"
            return AllOf(self._filters(node, depth))
        groups: list[Filter] = []
        for key, value in self._mapping(node, "filters").items():
            match key:
                case "and":
                    groups.append(AllOf(self._filters(value, depth)))
                case "or":
                    groups.append(AnyOf(self._filters(value, depth)))
                case "not":
                    groups.append(NoneOf(self._filters(value, depth)))
                case _:
                    groups.append(self._bad_filter(value, f"A filter group is and, or, not; got {key!r}."))
        return groups[0] if len(groups) == 1 else AllOf(tuple(groups)) if groups else None

    def _bad_filter(self, node: Any, message: str) -> Filter:
        """Return a filter that cannot be run. Without a filter every file would pass."""
        self._report(message, self._line(node))
        return Statement(Expression("", self._line(node), error=InvalidQuery(message)))

    def _filters(self, node: Any, depth: int) -> tuple[Filter, ...]:
        items = [node] if self._kind(node) != "sequence" else self._items(node, "filters")
        parts = (self._filter(item, depth + 1) for item in items)
        return tuple(part for part in parts if part is not None)

    def _display_names(self, node: Any) -> dict[PropertyId, str]:
        names: dict[PropertyId, str] = {}
        for key, value in self._mapping(node, "properties").items():
            shown = self._text(self._mapping(value, f"properties.{key}").get("displayName"))
            if shown is not None:
                names[property_id(key)] = shown
        return names

    def _view(self, node: Any, number: int) -> View:
        fields = self._mapping(node, "A view")
        kind = self._text(fields.get("type")) or "table"
        before = len(self.problems)
        view = View(
            name=self._text(fields.get("name")) or (f"View {number + 1}" if number else "Table"),
            type=kind,
            filters=self._filter(fields.get("filters")),
            order=tuple(property_id(text) for text in self._texts(fields.get("order"), "order")),
            sort=tuple(
                key for item in self._items(fields.get("sort"), "sort") if (key := self._sort_key(item))
            ),
            group_by=self._sort_key(fields["groupBy"]) if "groupBy" in fields else None,
            limit=self._limit(fields.get("limit")),
            summaries=self._summaries(fields.get("summaries")),
            image=property_id(image) if (image := self._text(fields.get("image"))) else None,
        )
        return replace(view, problems=tuple(self.problems[before:]))

    def _texts(self, node: Any, what: str) -> list[str]:
        texts = [(item, self._text(item)) for item in self._items(node, what)]
        for item, text in texts:
            if text is None:
                self._report(f"An entry of {what} should be the name of a property.", self._line(item))
        return [text for _, text in texts if text is not None]

    def _sort_key(self, node: Any) -> SortKey | None:
        """Read `{property, direction}`, or just a property; early bases say `column` instead of
        `property`."""
        if self._kind(node) == "scalar":
            text = self._text(node)
            return SortKey(property_id(text)) if text is not None else None
        fields = self._mapping(node, "A sort or group")
        name = self._text(fields.get("property")) or self._text(fields.get("column"))
        if name is None:
            self._report("A sort or group needs a property.", self._line(node))
            return None
        direction = (self._text(fields.get("direction")) or "ASC").upper()
        if direction not in ("ASC", "DESC"):
            self._report(f"A direction is ASC or DESC, not {direction!r}.", self._line(node))
        return SortKey(property_id(name), descending=direction == "DESC")

    def _limit(self, node: Any) -> int | None:
        text = self._text(node)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            self._report(f"limit should be a whole number, got {text[:30]!r}.", self._line(node))
            return None
        return int(text) or None  # the app writes 0 for "no limit"

    def _summaries(self, node: Any) -> tuple[tuple[PropertyId, str], ...]:
        pairs = ((key, self._text(value)) for key, value in self._mapping(node, "summaries").items())
        return tuple((property_id(key), name) for key, name in pairs if name is not None)


_FENCE: Final = re.compile(r"(?P<quote>(?: {0,3}>[ \t]?)*)[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_QUOTE: Final = re.compile(r" {0,3}>[ \t]?")


class BaseBlock(Struct, frozen=True):
    """`inside` is the YAML without quote marks, with the offset of each character in the note; `line` is its
    first line. The span covers it in the note, without the fences."""

    inside: Embedded
    line: int
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.inside.text


def extract_base_blocks(text: str) -> tuple[BaseBlock, ...]:
    """Return all base blocks in order. A fence inside another code block opens nothing; one without an end
    runs to the end of the note, as the app renders it."""
    blocks: list[BaseBlock] = []
    lines, starts = split_with_starts(text)
    starts.append(len(text))
    opened: re.Match[str] | None = None
    first = 0
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is None:
            if fence and not (fence["marks"][0] == "`" and "`" in fence["info"]):
                opened, first = fence, number + 1
        elif fence and _closes(fence, opened["marks"]):
            if _is_base(opened):
                blocks.append(_block(text, starts, first, number, opened))
            opened = None
    if opened is not None and _is_base(opened):
        blocks.append(_block(text, starts, first, len(lines), opened))
    return tuple(blocks)


def _is_base(fence: re.Match[str]) -> bool:
    return fence["info"].strip().split(" ", 1)[0].lower() == "base"


def _closes(fence: re.Match[str], open_marks: str) -> bool:
    marks = fence["marks"]
    return marks[0] == open_marks[0] and len(marks) >= len(open_marks) and not fence["info"].strip()


def _block(text: str, starts: list[int], first: int, last: int, fence: re.Match[str]) -> BaseBlock:
    """Return the lines from `first` up to `last`, without the quote marks that the fence also has."""
    depth = fence["quote"].count(">")
    pieces: list[str] = []
    offsets: list[int] = []
    for number in range(first, last):
        at, end = starts[number], starts[number + 1]
        for _ in range(depth):
            if mark := _QUOTE.match(text, at, end):
                at = mark.end()
        pieces.append(text[at:end])
        offsets.extend(range(at, end))
    offsets.append(starts[last])
    inside = Embedded("".join(pieces), offsets, "none")
    return BaseBlock(inside, first + 1, starts[first], starts[last])
