"""What can be known wrong about an expression before any row is seen: functions, file properties and
formulas that do not exist, wrong numbers of arguments, bad regular expressions, formulas that go in circles.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping

from vaultbridge.bases.expr import Call, Index, Literal, Member, MethodCall, Name, Node, Pattern, children
from vaultbridge.bases.functions import (
    GLOBAL_NAMES,
    IF_ARGUMENTS,
    METHOD_NAMES,
    METHODS,
    PER_ELEMENT,
)
from vaultbridge.bases.functions_file import FILE_FIELDS
from vaultbridge.bases.functions_global import ANY, GLOBAL
from vaultbridge.bases.method import Method
from vaultbridge.bases.regex_compile import InvalidPattern, compile_regex
from vaultbridge.errors import InvalidQuery


def check_expression(tree: Node, formulas: Collection[str]) -> None:
    """InvalidQuery naming the first thing in `tree` that exists nowhere, and its position."""
    for node in _walk(tree):
        match node:
            case Call():
                _check_call(node)
            case MethodCall():
                _check_method(node)
            case Pattern():
                _check_pattern(node)
            case Member(target=Name(name="file")) if node.name not in FILE_FIELDS:
                raise _unknown("file property", f"file.{node.name}", node.start, FILE_FIELDS, "file.")
    for name, start in formula_names(tree):
        if name not in formulas:
            raise _unknown("formula", f"formula.{name}", start, formulas, "formula.")


def formula_names(tree: Node) -> Iterator[tuple[str, int]]:
    """The formulas that `tree` names, each with its position."""
    for node in _walk(tree):
        match node:
            case Member(target=Name(name="formula")):
                yield node.name, node.start
            case Index(target=Name(name="formula"), key=Literal(value=str() as name)):
                yield name, node.start


def formula_order(trees: Mapping[str, Node], wanted: str) -> tuple[str, ...]:
    """The formulas that `wanted` needs, each after those that it needs itself; `wanted` is the last.

    Evaluated in this order no formula has to evaluate another, so a chain of them cannot exhaust the stack.
    Raises InvalidQuery naming the circle when there is one.
    """
    order: dict[str, None] = {}
    path: list[str] = []
    # An explicit stack, because the chain may be as long as the base: None marks "all its needs are met".
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


def _check_call(node: Call) -> None:
    if node.name not in GLOBAL_NAMES:
        hint = ""
        if node.name in METHOD_NAMES:
            hint = f"It is a function of values: write value.{node.name}()."
        raise _unknown("function", f"{node.name}()", node.start, GLOBAL_NAMES, hint=hint)
    method = GLOBAL.get(node.name) or _form(IF_ARGUMENTS)
    refusal = method.refusal(node.name, len(node.arguments))
    if refusal:
        raise InvalidQuery(refusal, position=node.start)


def _check_method(node: MethodCall) -> None:
    if node.name not in METHOD_NAMES:
        hint = ""
        if node.name in GLOBAL_NAMES:
            hint = f"It is a global function: write {node.name}(…)."
        raise _unknown("function", f"{node.name}()", node.start, METHOD_NAMES, hint=hint)
    forms = [table[node.name] for table in (*METHODS.values(), ANY) if node.name in table]
    if node.name in PER_ELEMENT:
        forms.append(_form(PER_ELEMENT[node.name]))
    refusals = [form.refusal(node.name, len(node.arguments)) for form in forms]
    if all(refusals):
        raise InvalidQuery(refusals[0], position=node.start)


def _form(bounds: tuple[int, int]) -> Method:
    return Method(lambda world, target, arguments: None, *bounds)


def _check_pattern(node: Pattern) -> None:
    try:
        compile_regex(node.source, node.flags)
    except InvalidPattern as error:
        at = node.start + 1 + error.position
        raise InvalidQuery(
            f"The regular expression /{node.source}/ cannot be read: {error.reason}.", position=at
        ) from None


def _unknown(
    what: str, name: str, position: int, known: Collection[str], prefix: str = "", *, hint: str = ""
) -> InvalidQuery:
    plain = name.removesuffix("()").removeprefix(prefix)
    suffix = "()" if name.endswith("()") else ""
    by_key = {one.lower(): one for one in sorted(known)}
    close = difflib.get_close_matches(plain.lower(), by_key, n=3, cutoff=0.6)
    if not hint and close:
        hint = "Did you mean " + " or ".join(f"{prefix}{by_key[one]}{suffix}" for one in close) + "?"
    return InvalidQuery(f"Unknown {what} {name} at {position}.", position=position, hint=hint)
