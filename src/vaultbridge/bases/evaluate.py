"""A tree and a row -> a value.

Every node costs a step of the row's allowance (`bases.context`), so no expression can hang. What fails for
this row is a `FormulaError`; names and functions that exist nowhere were refused before, by `bases.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.expr import (
    Binary,
    Call,
    Hyphenated,
    Index,
    ListLiteral,
    Literal,
    Member,
    MethodCall,
    Name,
    Node,
    ObjectLiteral,
    Pattern,
    Unary,
)
from vaultbridge.bases.functions import PER_ELEMENT, method_of
from vaultbridge.bases.functions_date import DATE_FIELDS, DURATION_FIELDS
from vaultbridge.bases.functions_file import FILE_FIELDS, find_property, note_property
from vaultbridge.bases.functions_global import GLOBAL
from vaultbridge.bases.operators import calculated, equal, ordered
from vaultbridge.bases.regex_compile import InvalidPattern, compile_regex
from vaultbridge.bases.regex_match import Regex
from vaultbridge.bases.row import FileRow
from vaultbridge.bases.values import (
    Date,
    Duration,
    ErrorValue,
    File,
    FormulaError,
    Value,
    truthy,
    type_name,
    weight,
)


class Evaluator:
    """Evaluates trees for one row. `formula(name)` gives another formula's value; `values` is what a summary
    runs over, None outside of one."""

    def __init__(
        self,
        world: Surroundings,
        row: FileRow | None,
        formula: Callable[[str], Value],
        values: tuple[Value, ...] | None = None,
    ) -> None:
        self._world = world
        self._row = row
        self._formula = formula
        self._values = values
        self._locals: list[Mapping[str, Value]] = []
        self._patterns: dict[tuple[str, str], Regex] = {}

    def value(self, node: Node) -> Value:
        """The value of a tree; FormulaError when it has none for this row."""
        self._world.begin_value()
        return self._of(node)

    def _of(self, node: Node) -> Value:
        self._world.charge(1)
        evaluate: Callable[[Evaluator, Any], Value] = _BY_NODE[type(node)]
        result = evaluate(self, node)
        if isinstance(result, ErrorValue):  # another formula failed: so does what uses it
            raise FormulaError(result.message)
        return result

    def _literal(self, node: Literal) -> Value:
        return node.value

    def _pattern(self, node: Pattern) -> Value:
        key = (node.source, node.flags)
        if key not in self._patterns:
            try:
                self._patterns[key] = compile_regex(*key)
            except InvalidPattern as error:
                raise FormulaError(f"/{node.source}/: {error.reason}.") from None
        return self._patterns[key]

    def _name(self, node: Name) -> Value:
        for scope in reversed(self._locals):
            if node.name in scope:
                return scope[node.name]
        match node.name:
            case "file":
                return File(self._row) if self._row else None
            case "note":
                return FILE_FIELDS["properties"](self._world, self._row) if self._row else None
            case "this":
                return File(self._world.this, as_note=True) if self._world.this else None
            case "values" if self._values is not None:
                return self._values
        return note_property(self._world, self._row, node.name) if self._row else None

    def _hyphenated(self, node: Hyphenated) -> Value:
        if self._row and find_property(self._row.properties, node.name)[0]:
            return note_property(self._world, self._row, node.name)
        return self._of(node.difference)

    def _member(self, node: Member) -> Value:
        if isinstance(node.target, Name) and not self._is_local(node.target.name):
            direct = self._direct(node.target.name, node.name)
            if direct is not None:
                return direct()
        return self._part(self._of(node.target), node.name)

    def _index(self, node: Index) -> Value:
        key = self._of(node.key)
        if isinstance(node.target, Name) and isinstance(key, str) and not self._is_local(node.target.name):
            direct = self._direct(node.target.name, key)
            if direct is not None:
                return direct()
        target = self._of(node.target)
        if isinstance(key, float):
            if isinstance(target, tuple | str):
                return target[int(key)] if key == key // 1 and 0 <= key < len(target) else None
            return None
        return self._part(target, key) if isinstance(key, str) else None

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._locals)

    def _direct(self, space: str, name: str) -> Callable[[], Value] | None:
        """`note.x` and `formula.x` without building the object of all of them first."""
        if space == "formula":
            return lambda: self._formula(name)
        row = self._row
        if space == "note" and row is not None:
            return lambda: note_property(self._world, row, name)
        return None

    def _part(self, target: Value, name: str) -> Value:
        """The member `name` of a value; null when it has none, as in JavaScript."""
        match target:
            case dict():
                found = target.get(name)
                return found if found is not None else find_property(target, name)[1]
            case str() | tuple() if name == "length":
                return float(len(target))
            case Date() if name in DATE_FIELDS:
                return DATE_FIELDS[name](target)
            case Duration() if name in DURATION_FIELDS:
                return DURATION_FIELDS[name](target)
            case File(row=row, as_note=True) if name not in ("file", "note"):
                return note_property(self._world, row, name)
            case File(row=row, as_note=True) if name == "note":
                return FILE_FIELDS["properties"](self._world, row)
            case File(row=row) if name in FILE_FIELDS:
                return FILE_FIELDS[name](self._world, row)
            case _:
                return None

    def _call(self, node: Call) -> Value:
        if node.name == "if":
            if truthy(self._of(node.arguments[0])):
                return self._of(node.arguments[1])
            return self._of(node.arguments[2]) if len(node.arguments) > 2 else None
        arguments = tuple(self._of(argument) for argument in node.arguments)
        for argument in arguments:
            self._world.charge_walk(argument)
        return GLOBAL[node.name].call(self._world, File(self._row) if self._row else None, arguments)

    def _method_call(self, node: MethodCall) -> Value:
        target = self._of(node.target)
        if node.name in PER_ELEMENT and isinstance(target, tuple):
            return self._per_element(node, target)
        kind = type_name(target)
        method = method_of(kind, node.name)
        if method is None:
            what = "an empty value" if target is None else f"a value of type {kind}"
            raise FormulaError(f"Cannot call {node.name}() on {what}.")
        refusal = method.refusal(node.name, len(node.arguments))
        if refusal:
            raise FormulaError(refusal)
        arguments = tuple(self._of(argument) for argument in node.arguments)
        for value in (target, *arguments):
            self._world.charge_walk(value)
        return method.call(self._world, target, arguments)

    def _per_element(self, node: MethodCall, items: tuple[Value, ...]) -> Value:
        body = node.arguments[0]
        accumulated = self._of(node.arguments[1]) if len(node.arguments) > 1 else None
        results: list[Value] = []
        for index, value in enumerate(items):
            scope: dict[str, Value] = {"value": value, "index": float(index)}
            if node.name == "reduce":
                scope["acc"] = accumulated
            self._locals.append(scope)
            try:
                accumulated = self._of(body)
            finally:
                self._locals.pop()
            results.append(accumulated)
        if node.name == "reduce":
            return accumulated
        if node.name == "filter":
            return tuple(item for item, keep in zip(items, results, strict=True) if truthy(keep))
        return self._weighed(tuple(results))

    def _weighed(self, value: tuple[Value, ...] | dict[str, Value]) -> Value:
        self._world.charge(weight(value))
        return value

    def _unary(self, node: Unary) -> Value:
        operand = self._of(node.operand)
        if node.operator == "!":
            return not truthy(operand)
        if operand is None:
            return None
        if isinstance(operand, Duration):
            sign = -1 if node.operator == "-" else 1
            return Duration(sign * operand.months, sign * operand.milliseconds)
        if isinstance(operand, bool) or not isinstance(operand, float):
            raise FormulaError(f"Cannot negate a value of type {type_name(operand)}.")
        return -operand if node.operator == "-" else operand

    def _binary(self, node: Binary) -> Value:
        operator = node.operator
        left = self._of(node.left)
        if operator == "&&":
            return truthy(left) and truthy(self._of(node.right))
        if operator == "||":
            return truthy(left) or truthy(self._of(node.right))
        right = self._of(node.right)
        self._world.charge_walk(left)
        self._world.charge_walk(right)
        if operator in ("==", "!="):
            return equal(left, right, self._world) == (operator == "==")
        if operator in ("<", ">", "<=", ">="):
            return ordered(operator, left, right, self._world)
        return calculated(operator, left, right, self._world)

    def _list(self, node: ListLiteral) -> Value:
        return self._weighed(tuple(self._of(item) for item in node.items))

    def _object(self, node: ObjectLiteral) -> Value:
        return self._weighed({key: self._of(item) for key, item in node.items})


_BY_NODE: Final[dict[type, Callable[[Evaluator, Any], Value]]] = {
    Literal: Evaluator._literal,
    Pattern: Evaluator._pattern,
    Name: Evaluator._name,
    Hyphenated: Evaluator._hyphenated,
    Member: Evaluator._member,
    Index: Evaluator._index,
    Call: Evaluator._call,
    MethodCall: Evaluator._method_call,
    Unary: Evaluator._unary,
    Binary: Evaluator._binary,
    ListLiteral: Evaluator._list,
    ObjectLiteral: Evaluator._object,
}
