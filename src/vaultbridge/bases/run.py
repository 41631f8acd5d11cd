"""Runs one view of a base over the files of a vault: filters, sorts, limits, groups and summarizes.

An expression that cannot be parsed, or that names something that does not exist, stops the view with
InvalidQuery; one that fails for a row becomes an error value in that row's cell. A filter statement that
fails for a row is false for it. The built-in summaries have the app's names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from vaultbridge.bases.context import STEPS_PER_VIEW, EvaluationContext, FormatMoment, Resolve
from vaultbridge.bases.evaluate import Evaluator, check_expression, formula_order
from vaultbridge.bases.expression import Node
from vaultbridge.bases.functions import FILE_FIELDS, note_property
from vaultbridge.bases.methods import numbers_in
from vaultbridge.bases.operators import identity_key, sort_key
from vaultbridge.bases.parse import (
    AllOf,
    AnyOf,
    Base,
    Expression,
    Filter,
    NoneOf,
    PropertyId,
    SortKey,
    Statement,
    View,
)
from vaultbridge.bases.result import Column, Group, Summary, ViewResult, ViewRow
from vaultbridge.bases.values import (
    Date,
    Duration,
    ErrorValue,
    FileRow,
    FormulaError,
    Value,
    is_empty,
    truthy,
)
from vaultbridge.errors import InvalidArgument, InvalidQuery

Summarize: TypeAlias = Callable[[EvaluationContext, tuple[Value, ...]], Value]


def _over_numbers(function: Callable[[Sequence[float]], float]) -> Summarize:
    def summarize(context: EvaluationContext, values: tuple[Value, ...]) -> Value:
        numbers = numbers_in(values)
        return float(function(numbers)) if numbers else None

    return summarize


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _median(numbers: Sequence[float]) -> float:
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(numbers) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _deviation(numbers: Sequence[float]) -> float:
    """Return the standard deviation of the whole population: the rows are not a sample."""
    mean = _mean(numbers)
    return math.sqrt(_mean([(number - mean) * (number - mean) for number in numbers]))


def _dates(values: tuple[Value, ...]) -> list[Date]:
    return sorted((value for value in values if isinstance(value, Date)), key=lambda date: date.when)


def _earliest(context: EvaluationContext, values: tuple[Value, ...]) -> Value:
    dates = _dates(values)
    return dates[0] if dates else None


def _latest(context: EvaluationContext, values: tuple[Value, ...]) -> Value:
    dates = _dates(values)
    return dates[-1] if dates else None


def _range(context: EvaluationContext, values: tuple[Value, ...]) -> Value:
    """Return the range of the dates if there are any, else of the numbers: the app uses one name for both."""
    dates = _dates(values)
    if dates:
        return Duration(0, (dates[-1].when - dates[0].when).total_seconds() * 1_000)
    numbers = numbers_in(values)
    return max(numbers) - min(numbers) if numbers else None


def _absent(value: Value) -> bool:
    return is_empty(value) or isinstance(value, ErrorValue)


def _count(counts: Callable[[Value], bool]) -> Summarize:
    return lambda context, values: float(sum(counts(value) for value in values))


def _unique(context: EvaluationContext, values: tuple[Value, ...]) -> Value:
    return float(len({identity_key(value, context) for value in values if not _absent(value)}))


BUILT_IN: Final[dict[str, Summarize]] = {
    "Average": _over_numbers(_mean),
    "Min": _over_numbers(min),
    "Max": _over_numbers(max),
    "Sum": _over_numbers(sum),
    "Range": _range,
    "Median": _over_numbers(_median),
    "Stddev": _over_numbers(_deviation),
    "Earliest": _earliest,
    "Latest": _latest,
    "Checked": _count(lambda value: value is True),
    "Unchecked": _count(lambda value: value is False),
    "Empty": _count(_absent),
    "Filled": _count(lambda value: not _absent(value)),
    "Unique": _unique,
}


def find_summary(name: str) -> Summarize | None:
    """Find a built-in summary by its name, in any case."""
    return BUILT_IN.get(name) or BUILT_IN.get(name.capitalize())


MAX_COMPUTED_NESTING: Final = 2
"""The deepest nesting of formulas that refer to each other by computed names, formula[…]: each level takes as
much of the stack as the deepest expression."""

MAX_PROBLEMS: Final = 20
"""The most failing filter statements in a result; every row may fail in a different way."""

SOURCE_CHARS: Final = 80
"""How much of an expression an error shows: with its line, enough to find it."""

_FileAndRow: TypeAlias = "tuple[_Row, ViewRow]"


def run_view(
    base: Base,
    view: str | None,
    rows: Iterable[FileRow],
    *,
    now: datetime,
    resolve: Resolve,
    format_moment: FormatMoment,
    this: FileRow | None = None,
    row_of: Callable[[str], FileRow | None] | None = None,
    types: Mapping[str, str] | None = None,
    random: Callable[[], float] | None = None,
    limit: int | None = None,
    max_steps: int = STEPS_PER_VIEW,
) -> ViewResult:
    """Run a view of `base` (the first if `view` is None) over `rows`.

    `this` is the file that shows the base: the note that embeds it, or the base itself. `now` is the local
    time, aware if `number(date)` should be exact; `row_of` also finds files outside of `rows`; `types` are
    the vault's property types; `limit` lowers the view's own. Raises InvalidArgument for a view that does not
    exist, InvalidQuery for an expression that cannot be used, TimedOut if the view needs more than
    `max_steps`.
    """
    from random import Random

    every = list(rows)
    chosen = choose_view(base, view)
    by_path: dict[str, FileRow] = {}
    if row_of is None:
        by_path = {row.path: row for row in every}
    context = EvaluationContext(
        now=now,
        resolve=resolve,
        row_of=row_of or by_path.get,
        format_moment=format_moment,
        random=random or Random(now.isoformat()).random,
        this=this,
        types=types,
        max_steps=max_steps,
    )
    return _ViewRun(base, chosen, context).result(every, limit)


def choose_view(base: Base, name: str | None) -> View:
    """Return the view of that name, the first if `name` is None; a base without views has one plain table."""
    views = base.views or (View(name="Table"),)
    if name is None:
        return views[0]
    for candidate in views:
        if candidate.name == name:
            return candidate
    for candidate in views:
        if candidate.name.lower() == name.lower():
            return candidate
    raise InvalidArgument(
        f"The base has no view {name!r}.",
        argument="view",
        hint=f"It has: {', '.join(candidate.name for candidate in views)}.",
    )


class _Row:
    """One file during the run: its formulas are evaluated when first needed, and cached."""

    def __init__(self, run: _ViewRun, file: FileRow) -> None:
        self.file = file
        self._run = run
        self._formulas: dict[str, Value] = {}
        self._evaluating: set[str] = set()
        self._evaluator = Evaluator(run.context, file, self.formula)

    def formula(self, name: str) -> Value:
        """Return the formula's value for this file; an ErrorValue if it has none."""
        if name in self._formulas:
            return self._formulas[name]
        if not self._run.has_formula(name):
            raise FormulaError(f"There is no formula.{name}.")
        for need in self._run.order_of(name):
            if need not in self._formulas:
                self._formulas[need] = self._evaluate(need)
        return self._formulas[name]

    def _evaluate(self, name: str) -> Value:
        # Only a computed name, formula[…], can lead here again: written names were put in order before.
        if name in self._evaluating or len(self._evaluating) > MAX_COMPUTED_NESTING:
            raise FormulaError(f"formula.{name} refers to itself, or formulas compute each other's names.")
        self._evaluating.add(name)
        try:
            return self.value(self._run.formulas[name])
        finally:
            self._evaluating.discard(name)

    def value(self, tree: Node) -> Value:
        try:
            return self._evaluator.value(tree)
        except FormulaError as error:
            return ErrorValue(str(error))

    def property(self, wanted: PropertyId) -> Value:
        match wanted.space:
            case "formula":
                return self.formula(wanted.name)
            case "file":
                return FILE_FIELDS[wanted.name](self._run.context, self.file)
            case "note":
                return note_property(self._run.context, self.file, wanted.name)


class _ViewRun:
    def __init__(self, base: Base, view: View, context: EvaluationContext) -> None:
        self.context = context
        self.formulas: dict[str, Node] = {
            name: expression.tree for name, expression in base.formulas.items() if expression.tree
        }
        self._base = base
        self._view = view
        self._orders: dict[str, tuple[str, ...]] = {}
        self._problems: dict[str, None] = {}
        self._columns = view.order or (PropertyId("file", "name"),)
        self._filters = [part for part in (base.filters, view.filters) if part is not None]
        self._check()

    def _check(self) -> None:
        """Refuse, before any row is read, whatever the view uses that cannot be evaluated."""
        if not self._base.readable:
            first = self._base.problems[0]
            raise InvalidQuery(f"The base cannot be read (line {first.line}): {first.message}")
        for part in self._filters:
            for expression in _statements(part):
                self._usable(expression)
        keys = [*self._view.sort, *([self._view.group_by] if self._view.group_by else [])]
        for wanted in (*self._columns, *(key.property for key in keys), *dict(self._view.summaries)):
            self._check_property(wanted)
        for _, name in self._view.summaries:
            if name in self._base.summaries:
                self._usable(self._base.summaries[name])
            elif find_summary(name) is None:
                known = ", ".join((*self._base.summaries, *BUILT_IN))
                raise InvalidQuery(f"Unknown summary {name!r}.", hint=f"Choose one of: {known}.")

    def _usable(self, expression: Expression) -> Node:
        """The tree, after a check; an error says which of the base's expressions is wrong."""
        try:
            tree = expression.usable()
            check_expression(tree, self._base.formulas)
        except InvalidQuery as error:
            source = expression.source
            shown = f", {source[:SOURCE_CHARS]}{'…' * (len(source) > SOURCE_CHARS)}" if source else ""
            raise InvalidQuery(
                f"Line {expression.line}{shown}: {error.message}", position=error.position, hint=error.hint
            ) from None
        return tree

    def _check_property(self, wanted: PropertyId) -> None:
        if wanted.space == "file" and wanted.name not in FILE_FIELDS:
            raise InvalidQuery(
                f"Unknown file property {wanted}.", hint=f"Choose one of: {', '.join(FILE_FIELDS)}."
            )
        if wanted.space == "formula":
            self.order_of(wanted.name)

    def has_formula(self, name: str) -> bool:
        return name in self._base.formulas

    def order_of(self, name: str) -> tuple[str, ...]:
        """Return `formula_order`, after a check that every formula in it can be used."""
        order = self._orders.get(name)
        if order is None:
            if name not in self._base.formulas:
                known = ", ".join(self._base.formulas) or "none"
                raise InvalidQuery(f"Unknown formula formula.{name}.", hint=f"Formulas: {known}.")
            if name not in self.formulas:
                self._usable(self._base.formulas[name])
            order = self._orders[name] = formula_order(self.formulas, name)
            for need in order:
                self._usable(self._base.formulas[need])
        return order

    def result(self, files: list[FileRow], limit: int | None) -> ViewResult:
        passing = [row for row in (_Row(self, file) for file in files) if self._passes(row)]
        rows = self._sort(passing)
        limits = [most for most in (self._view.limit, limit) if most is not None]
        if limits:
            rows = rows[: min(limits)]
        shown = [(row, ViewRow(row.file.path, tuple(map(row.property, self._columns)))) for row in rows]
        return ViewResult(
            view=self._view.name,
            columns=tuple(Column(str(wanted), self._display_name(wanted)) for wanted in self._columns),
            rows=tuple(row for _, row in shown),
            groups=self._groups(shown),
            summaries=self._summaries([row for row, _ in shown]),
            total=len(passing),
            problems=tuple(self._problems),
        )

    def _display_name(self, wanted: PropertyId) -> str:
        shown = self._base.properties.get(wanted)
        if shown is None:
            return f"file {wanted.name}" if wanted.space == "file" else wanted.name
        return shown

    def _passes(self, row: _Row) -> bool:
        return all(self._holds(part, row) for part in self._filters)

    def _holds(self, part: Filter, row: _Row) -> bool:
        match part:
            case Statement(expression):
                value = row.value(expression.usable())
                if isinstance(value, ErrorValue) and len(self._problems) < MAX_PROBLEMS:
                    self._problems[f"{expression.source}: {value.message}"] = None
                return truthy(value)
            case AllOf(parts):
                return all(self._holds(inner, row) for inner in parts)
            case AnyOf(parts):
                # An empty group has no condition.
                return not parts or any(self._holds(inner, row) for inner in parts)
            case NoneOf(parts):
                return not any(self._holds(inner, row) for inner in parts)

    def _sort(self, rows: list[_Row]) -> list[_Row]:
        """Sort by group first, so that a limit keeps groups together, then by the view's keys, then by name.
        Python's sort is stable, so the keys are applied from the last to the first."""
        rows = sorted(rows, key=lambda row: (*sort_key(row.file.name), row.file.path))
        keys = [*self._view.sort]
        if self._view.group_by:
            keys.insert(0, self._view.group_by)
        for key in reversed(keys):
            rows = _sort_by(rows, key)
        return rows

    def _groups(self, shown: list[_FileAndRow]) -> tuple[Group, ...]:
        if self._view.group_by is None:
            return ()
        members: dict[object, list[_FileAndRow]] = {}
        values: dict[object, Value] = {}
        for row, cells in shown:
            value = row.property(self._view.group_by.property)
            key = None if is_empty(value) else identity_key(value, self.context)
            values.setdefault(key, None if key is None else value)
            members.setdefault(key, []).append((row, cells))
        return tuple(
            Group(values[key], tuple(cells for _, cells in rows), self._summaries([row for row, _ in rows]))
            for key, rows in members.items()
        )

    def _summaries(self, rows: list[_Row]) -> tuple[Summary, ...]:
        return tuple(
            Summary(str(wanted), name, self._summary(name, tuple(row.property(wanted) for row in rows)))
            for wanted, name in self._view.summaries
        )

    def _summary(self, name: str, values: tuple[Value, ...]) -> Value:
        own = self._base.summaries.get(name)
        if own is None:
            summarize = find_summary(name)
            assert summarize is not None, "refused by _check"
            return summarize(self.context, values)
        whole = tuple(None if isinstance(value, ErrorValue) else value for value in values)
        try:
            return Evaluator(self.context, None, _no_formula, whole).value(own.usable())
        except FormulaError as error:
            return ErrorValue(str(error))


def _no_formula(name: str) -> Value:
    raise FormulaError(f"A summary can use values, not formula.{name}.")


def _statements(part: Filter) -> Iterable[Expression]:
    if isinstance(part, Statement):
        yield part.expression
    else:
        for inner in part.parts:
            yield from _statements(inner)


def _sort_by(rows: list[_Row], key: SortKey) -> list[_Row]:
    """Sort by one key; rows without a value come last in either direction."""
    filled: list[tuple[tuple[object, ...], _Row]] = []
    absent: list[_Row] = []
    for row in rows:
        value = row.property(key.property)
        if is_empty(value) or isinstance(value, ErrorValue):
            absent.append(row)
        else:
            filled.append((sort_key(value), row))
    filled.sort(key=lambda pair: pair[0], reverse=key.descending)
    return [row for _, row in filled] + absent
