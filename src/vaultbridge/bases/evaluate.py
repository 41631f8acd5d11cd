"""Checks expressions before they run, and evaluates them for one row.

`check_expression` finds what is wrong whatever the row: functions, file properties and formulas that do not
exist, wrong numbers of arguments, bad regular expressions. `formula_order` refuses formulas that depend on
each other in a circle. `Evaluator` turns a tree and a row into a value. Every node costs a step of the row's
allowance (`bases.context`), so no expression can hang. What fails for one row is a `FormulaError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from vaultbridge.bases.context import EvaluationContext, Method
from vaultbridge.bases.expression import (
    Binary,
    FunctionCall,
    Hyphenated,
    ListLiteral,
    Member,
    MethodCall,
    Name,
    Node,
    ObjectLiteral,
    Pattern,
    ScalarLiteral,
    Subscript,
    Unary,
    children,
)
from vaultbridge.bases.functions import (
    ANY,
    FILE,
    FILE_FIELDS,
    GLOBAL,
    LINK,
    find_property,
    note_property,
)
from vaultbridge.bases.methods import (
    DATE,
    DATE_FIELDS,
    DURATION_FIELDS,
    LIST,
    NUMBER,
    OBJECT,
    REGEXP,
    STRING,
)
from vaultbridge.bases.operators import are_equal, calculate, compare
from vaultbridge.bases.regex_compile import InvalidPattern, compile_regex
from vaultbridge.bases.regex_match import CompiledRegex
from vaultbridge.bases.values import (
    Date,
    Duration,
    ErrorValue,
    File,
    FileRow,
    FormulaError,
    HtmlValue,
    IconValue,
    ImageValue,
    LinkValue,
    TypeName,
    Value,
    count_values,
    plain_text,
    truthy,
    type_name,
)
from vaultbridge.errors import InvalidQuery

METHODS: Final[dict[TypeName, dict[str, Method]]] = {
    "string": STRING,
    "number": NUMBER,
    "duration": NUMBER,
    "date": DATE,
    "list": LIST,
    "object": OBJECT,
    "link": {**STRING, **LINK},
    "html": STRING,
    "icon": STRING,
    "image": STRING,
    "file": FILE,
    "regexp": REGEXP,
}

PER_ELEMENT: Final = {"map": (1, 1), "filter": (1, 1), "reduce": (1, 2)}
"""The list functions that run their first argument once per element, and how many arguments they take."""

IF_ARGUMENTS: Final = (2, 3)
"""`if()` evaluates only the branch it takes, so it is not an ordinary function."""

GLOBAL_NAMES: Final = frozenset({*GLOBAL, "if"})
METHOD_NAMES: Final = frozenset({*ANY, *PER_ELEMENT, *(name for table in METHODS.values() for name in table)})


def find_method(kind: TypeName, name: str) -> Method | None:
    """Return the function of that name that values of the type have."""
    return METHODS.get(kind, {}).get(name) or ANY.get(name)


def list_types_with(name: str) -> list[TypeName]:
    """Return the types whose values have the function; links, pictures and the like are texts too."""
    having: list[TypeName] = []
    for kind, table in METHODS.items():
        method = table.get(name)
        if (method and (kind == "string" or method is not STRING.get(name))) or (
            kind == "list" and name in PER_ELEMENT
        ):
            having.append(kind)
    return having


def check_expression(tree: Node, formulas: Collection[str]) -> None:
    """Raise InvalidQuery for the first thing in `tree` that does not exist, with its position."""
    for node in _walk(tree):
        match node:
            case FunctionCall():
                _check_call(node)
            case MethodCall():
                _check_method(node)
            case Pattern():
                _check_pattern(node)
            case Member(target=Name(name="file")) if node.name not in FILE_FIELDS:
                raise _unknown_name("file property", f"file.{node.name}", node.start, FILE_FIELDS, "file.")
    for name, start in formula_names(tree):
        if name not in formulas:
            raise _unknown_name("formula", f"formula.{name}", start, formulas, "formula.")


def formula_names(tree: Node) -> Iterator[tuple[str, int]]:
    """Yield the formulas that `tree` names, each with its position."""
    for node in _walk(tree):
        match node:
            case Member(target=Name(name="formula")):
                yield node.name, node.start
            case Subscript(target=Name(name="formula"), key=ScalarLiteral(value=str() as name)):
                yield name, node.start


def formula_order(trees: Mapping[str, Node], wanted: str) -> tuple[str, ...]:
    """Return the formulas that `wanted` needs, each after those that it needs itself; `wanted` is the last.

    In this order no formula has to evaluate another, so a long chain cannot exhaust the stack. Raises
    InvalidQuery, naming the circle, if there is one.
    """
    order: dict[str, None] = {}
    path: list[str] = []
    # An explicit stack, because the chain may be as long as the base: None means "all it needs is in order".
    waiting: list[str | None] = [wanted]
    while waiting:
        name = waiting.pop()
        if name is None:
            order[path.pop()] = None
            continue
        if name in order:
            continue
        if name in path:
            circle = " -> ".join(f"formula.{step}" for step in (*path[path.index(name) :], name))
            raise InvalidQuery(f"Formulas refer to each other in a circle: {circle}.")
        path.append(name)
        waiting.append(None)
        waiting.extend(need for need, _ in formula_names(trees[name]) if need in trees)
    return tuple(order)


def _walk(tree: Node) -> Iterator[Node]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def _check_call(node: FunctionCall) -> None:
    if node.name not in GLOBAL_NAMES:
        hint = _OTHER_FORMS.get(node.name.lower(), "")
        if node.name in METHOD_NAMES:
            hint = f"It is a function of values: write value.{node.name}()."
        raise _unknown_name("function", f"{node.name}()", node.start, GLOBAL_NAMES, hint=hint)
    method = GLOBAL.get(node.name) or _form(IF_ARGUMENTS)
    refusal = method.refusal(node.name, len(node.arguments))
    if refusal:
        raise InvalidQuery(refusal, position=node.start)


_OTHER_FORMS: Final = {
    "not": "Write !value.",
    "and": "Write a && b.",
    "or": "Write a || b.",
    "empty": "Write value.isEmpty().",
}
"""Functions of other query languages, and of the first bases, and what to write now."""


def _check_method(node: MethodCall) -> None:
    if node.name not in METHOD_NAMES:
        hint = ""
        if node.name in GLOBAL_NAMES:
            hint = f"It is a global function: write {node.name}(…)."
        raise _unknown_name("function", f"{node.name}()", node.start, METHOD_NAMES, hint=hint)
    forms = [table[node.name] for table in (*METHODS.values(), ANY) if node.name in table]
    if node.name in PER_ELEMENT:
        forms.append(_form(PER_ELEMENT[node.name]))
    refusals = [form.refusal(node.name, len(node.arguments)) for form in forms]
    if all(refusals):
        raise InvalidQuery(refusals[0], position=node.start)


def _form(bounds: tuple[int, int]) -> Method:
    return Method(lambda context, target, arguments: None, *bounds)


def _check_pattern(node: Pattern) -> None:
    try:
        compile_regex(node.source, node.flags)
    except InvalidPattern as error:
        at = node.start + 1 + error.position
        raise InvalidQuery(
            f"The regular expression /{node.source}/ cannot be read: {error.reason}.", position=at
        ) from None


def _unknown_name(
    what: str, name: str, position: int, known: Collection[str], prefix: str = "", *, hint: str = ""
) -> InvalidQuery:
    plain = name.removesuffix("()").removeprefix(prefix)
    suffix = "()" if name.endswith("()") else ""
    by_key = {name.lower(): name for name in sorted(known)}
    import difflib

    close = difflib.get_close_matches(plain.lower(), by_key, n=3, cutoff=0.6)
    if not hint and not close and what == "formula":
        hint = f"Choose one of: {', '.join(known)}." if known else "This base has no formulas."
    if not hint and close:
        hint = "Did you mean " + " or ".join(f"{prefix}{by_key[key]}{suffix}" for key in close) + "?"
    return InvalidQuery(f"Unknown {what} {name} at {position}.", position=position, hint=hint)


class Evaluator:
    """Evaluates trees for one row. `formula(name)` returns another formula's value; `values` are those of a
    summary, None elsewhere."""

    def __init__(
        self,
        context: EvaluationContext,
        row: FileRow | None,
        formula: Callable[[str], Value],
        values: tuple[Value, ...] | None = None,
    ) -> None:
        self._context = context
        self._row = row
        self._formula = formula
        self._values = values
        self._locals: list[Mapping[str, Value]] = []
        self._patterns: dict[tuple[str, str], CompiledRegex] = {}

    def value(self, node: Node) -> Value:
        """Evaluate a tree; raises FormulaError if it has no value for this row."""
        self._context.begin_value()
        return self._evaluate(node)

    def _evaluate(self, node: Node) -> Value:
        self._context.charge(1)
        evaluate: Callable[[Evaluator, Any], Value] = _BY_NODE[type(node)]
        result = evaluate(self, node)
        if isinstance(result, ErrorValue):  # another formula failed, so this one fails too
            raise FormulaError(result.message)
        return result

    def _literal(self, node: ScalarLiteral) -> Value:
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
                return FILE_FIELDS["properties"](self._context, self._row) if self._row else None
            case "this":
                return File(self._context.this, as_note=True) if self._context.this else None
            case "values" if self._values is not None:
                return self._values
        return note_property(self._context, self._row, node.name) if self._row else None

    def _hyphenated_name(self, node: Hyphenated) -> Value:
        if self._row and find_property(self._row.properties, node.name)[0]:
            return note_property(self._context, self._row, node.name)
        return self._evaluate(node.difference)

    def _member(self, node: Member) -> Value:
        if isinstance(node.target, Name) and not self._is_local(node.target.name):
            direct = self._direct(node.target.name, node.name)
            if direct is not None:
                return direct()
        return self._part(self._evaluate(node.target), node.name)

    def _index(self, node: Subscript) -> Value:
        key = self._evaluate(node.key)
        if isinstance(node.target, Name) and isinstance(key, str) and not self._is_local(node.target.name):
            direct = self._direct(node.target.name, key)
            if direct is not None:
                return direct()
        target = self._evaluate(node.target)
        if isinstance(key, float):
            if isinstance(target, tuple | str):
                return target[int(key)] if key == key // 1 and 0 <= key < len(target) else None
            return None
        return self._part(target, key) if isinstance(key, str) else None

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._locals)

    def _direct(self, space: str, name: str) -> Callable[[], Value] | None:
        """Look up `note.x` and `formula.x` without building the object of all of them first."""
        if space == "formula":
            return lambda: self._formula(name)
        row = self._row
        if space == "note" and row is not None:
            return lambda: note_property(self._context, row, name)
        return None

    def _part(self, target: Value, name: str) -> Value:
        """Return the member `name` of a value: null of an object without it or of nothing, as in the app."""
        match target:
            case dict():
                found = target.get(name)
                return found if found is not None else find_property(target, name)[1]
            case None:
                return None
            case str() | tuple() if name == "length":
                return float(len(target))
            case LinkValue() | HtmlValue() | IconValue() | ImageValue() if name == "length":
                return float(len(plain_text(target)))
            case Date() if name in DATE_FIELDS:
                return DATE_FIELDS[name](target)
            case Duration() if name in DURATION_FIELDS:
                return DURATION_FIELDS[name](target)
            case File(row=row, as_note=True) if name not in ("file", "note"):
                return note_property(self._context, row, name)
            case File(row=row, as_note=True) if name == "note":
                return FILE_FIELDS["properties"](self._context, row)
            case File(row=row) if name in FILE_FIELDS:
                return FILE_FIELDS[name](self._context, row)
            case _:
                kind = type_name(target)
                hint = f" Write {name}() to call it." if find_method(kind, name) else ""
                raise FormulaError(f"Cannot find {name} on a value of type {kind}.{hint}")

    def _call(self, node: FunctionCall) -> Value:
        if node.name == "if":
            if truthy(self._evaluate(node.arguments[0])):
                return self._evaluate(node.arguments[1])
            return self._evaluate(node.arguments[2]) if len(node.arguments) > 2 else None
        arguments = tuple(self._evaluate(argument) for argument in node.arguments)
        for argument in arguments:
            self._context.charge_walk(argument)
        return GLOBAL[node.name].call(self._context, File(self._row) if self._row else None, arguments)

    def _method_call(self, node: MethodCall) -> Value:
        target = self._evaluate(node.target)
        if node.name in PER_ELEMENT and isinstance(target, tuple):
            return self._per_element(node, target)
        kind = type_name(target)
        method = find_method(kind, node.name)
        if target is None and method is None:
            return None  # as in the app: a note without the property is no failure
        if method is None:
            expected = " or ".join(list_types_with(node.name))
            raise FormulaError(f"Cannot call {node.name}() on a value of type {kind}, expected {expected}.")
        refusal = method.refusal(node.name, len(node.arguments))
        if refusal:
            raise FormulaError(refusal)
        arguments = tuple(self._evaluate(argument) for argument in node.arguments)
        for value in (target, *arguments):
            self._context.charge_walk(value)
        return method.call(self._context, target, arguments)

    def _per_element(self, node: MethodCall, items: tuple[Value, ...]) -> Value:
        body = node.arguments[0]
        accumulated = self._evaluate(node.arguments[1]) if len(node.arguments) > 1 else None
        results: list[Value] = []
        for index, value in enumerate(items):
            scope: dict[str, Value] = {"value": value, "index": float(index)}
            if node.name == "reduce":
                scope["acc"] = accumulated
            self._locals.append(scope)
            try:
                accumulated = self._evaluate(body)
            finally:
                self._locals.pop()
            results.append(accumulated)
        if node.name == "reduce":
            return accumulated
        if node.name == "filter":
            return tuple(item for item, keep in zip(items, results, strict=True) if truthy(keep))
        return self._charge_size(tuple(results))

    def _charge_size(self, value: tuple[Value, ...] | dict[str, Value]) -> Value:
        self._context.charge(count_values(value))
        return value

    def _unary(self, node: Unary) -> Value:
        operand = self._evaluate(node.operand)
        if node.operator == "!":
            return not truthy(operand)
        if operand is None:
            return None
        if isinstance(operand, Duration):
            sign = -1 if node.operator == "-" else 1
            return Duration(sign * operand.months, sign * operand.milliseconds)
        if isinstance(operand, bool) or not isinstance(operand, float):
            raise FormulaError(f"Cannot negate a value of type {type_name(operand)}, expected a number.")
        return -operand if node.operator == "-" else operand

    def _binary(self, node: Binary) -> Value:
        operator = node.operator
        left = self._evaluate(node.left)
        if operator == "&&":
            return truthy(left) and truthy(self._evaluate(node.right))
        if operator == "||":
            return truthy(left) or truthy(self._evaluate(node.right))
        right = self._evaluate(node.right)
        self._context.charge_walk(left)
        self._context.charge_walk(right)
        if operator in ("==", "!="):
            return are_equal(left, right, self._context) == (operator == "==")
        if operator in ("<", ">", "<=", ">="):
            return compare(operator, left, right, self._context)
        return calculate(operator, left, right, self._context)

    def _list(self, node: ListLiteral) -> Value:
        return self._charge_size(tuple(self._evaluate(item) for item in node.items))

    def _object(self, node: ObjectLiteral) -> Value:
        return self._charge_size({key: self._evaluate(item) for key, item in node.items})


_BY_NODE: Final[dict[type, Callable[[Evaluator, Any], Value]]] = {
    ScalarLiteral: Evaluator._literal,
    Pattern: Evaluator._pattern,
    Name: Evaluator._name,
    Hyphenated: Evaluator._hyphenated_name,
    Member: Evaluator._member,
    Subscript: Evaluator._index,
    FunctionCall: Evaluator._call,
    MethodCall: Evaluator._method_call,
    Unary: Evaluator._unary,
    Binary: Evaluator._binary,
    ListLiteral: Evaluator._list,
    ObjectLiteral: Evaluator._object,
}
