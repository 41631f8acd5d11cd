"""Parses a Bases expression into a frozen tree.

Owns the grammar: literals, operators with JavaScript's precedence, member access, indexing, calls.
`bases.evaluate` knows which names and functions exist and what they mean.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.bases.lexer import Lexeme, tokenize
from vaultbridge.errors import InvalidQuery

MAX_TREE_DEPTH: Final = 100
"""The deepest tree we build: evaluation recurses a few frames per level, and Python stops at 1,000."""

MAX_LITERAL_ITEMS: Final = 1_000
"""The most elements of one list or object literal, or arguments of one call."""


class Literal(Struct, frozen=True):
    """null, true, false, a number or a text."""

    value: bool | float | str | None
    start: int


class Pattern(Struct, frozen=True):
    """A regular expression literal."""

    source: str
    flags: str
    start: int


class Name(Struct, frozen=True):
    """A bare name: a property of the note, a local variable, or one of note, file, formula, this, values."""

    name: str
    start: int


class Hyphenated(Struct, frozen=True):
    """`a-b` without blanks: the property of that name if the note has one, else a difference. The help pages
    write properties like this (`image(image-property)`); only the row decides which it is."""

    name: str
    difference: Binary
    start: int


class Member(Struct, frozen=True):
    """`target.name`"""

    target: Node
    name: str
    start: int


class Subscript(Struct, frozen=True):
    """`target[key]`"""

    target: Node
    key: Node
    start: int


class FunctionCall(Struct, frozen=True):
    """`name(arguments)`: a global function."""

    name: str
    arguments: tuple[Node, ...]
    start: int


class MethodCall(Struct, frozen=True):
    """`target.name(arguments)`"""

    target: Node
    name: str
    arguments: tuple[Node, ...]
    start: int


class Unary(Struct, frozen=True):
    operator: str
    operand: Node
    start: int


class Binary(Struct, frozen=True):
    operator: str
    left: Node
    right: Node
    start: int


class ListLiteral(Struct, frozen=True):
    items: tuple[Node, ...]
    start: int


class ObjectLiteral(Struct, frozen=True):
    items: tuple[tuple[str, Node], ...]
    start: int


Node: TypeAlias = (
    Literal
    | Pattern
    | Name
    | Hyphenated
    | Member
    | Subscript
    | FunctionCall
    | MethodCall
    | Unary
    | Binary
    | ListLiteral
    | ObjectLiteral
)

_PRECEDENCE: Final = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    ">": 4,
    "<=": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}
"""Higher binds tighter; all are left-associative, as in JavaScript."""

_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_WORD_OPERATORS: Final = {"and": "&&", "or": "||", "not": "!"}


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below, in the order of the text."""
    match node:
        case Literal() | Pattern() | Name():
            return ()
        case Hyphenated():
            return (node.difference,)
        case Member():
            return (node.target,)
        case Subscript():
            return (node.target, node.key)
        case FunctionCall():
            return node.arguments
        case MethodCall():
            return (node.target, *node.arguments)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case ListLiteral():
            return node.items
        case ObjectLiteral():
            return tuple(value for _, value in node.items)


def parse_expression(source: str) -> Node:
    """Parse `source`; raises InvalidQuery with the position where parsing failed."""
    return _Parser(source).whole()


class _Parser:
    """Precedence climbing over the tokens. `_heights` has the height of each tree by identity: a long chain
    such as `a + b + …` nests to the left without any recursion here, so its height must be counted."""

    def __init__(self, source: str) -> None:
        self._tokens = tokenize(source)
        self._at = 0
        self._nesting = 0
        self._heights: dict[int, int] = {}
        self._keep_alive: list[Node] = []

    def whole(self) -> Node:
        if self._peek().kind == "end":
            raise InvalidQuery("The expression is empty.", position=0)
        node = self._binary(1)
        rest = self._peek()
        if rest.kind != "end":
            raise self._unexpected(rest)
        return node

    def _peek(self) -> Lexeme:
        return self._tokens[self._at]

    def _take(self) -> Lexeme:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _accept(self, sign: str) -> bool:
        token = self._peek()
        if token.kind == "sign" and token.text == sign:
            self._at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(self._peek(), wanted=sign)

    def _unexpected(self, token: Lexeme, *, wanted: str = "") -> InvalidQuery:
        found = "the end of the expression" if token.kind == "end" else repr(token.text)
        expected = f", expected {wanted!r}" if wanted else ""
        hint = ""
        if token.kind == "name" and token.text.lower() in _WORD_OPERATORS:
            hint = f"Write {_WORD_OPERATORS[token.text.lower()]}."
        message = f"Unexpected {found} at {token.start}{expected}."
        return InvalidQuery(message, position=token.start, hint=hint)

    def _check_height(self, node: Node) -> Node:
        height = 1 + max((self._heights.get(id(child), 1) for child in children(node)), default=0)
        if height > MAX_TREE_DEPTH:
            raise InvalidQuery(
                f"The expression is nested deeper than {MAX_TREE_DEPTH} levels.", position=node.start
            )
        self._heights[id(node)] = height
        self._keep_alive.append(node)  # an id is valid only while its object exists
        return node

    def _binary(self, minimum: int) -> Node:
        self._nesting += 1
        if self._nesting > MAX_TREE_DEPTH:
            start = self._peek().start
            raise InvalidQuery(
                f"The expression is nested deeper than {MAX_TREE_DEPTH} levels.", position=start
            )
        left = self._unary()
        while (token := self._peek()).kind == "sign" and _PRECEDENCE.get(token.text, 0) >= minimum:
            self._take()
            right = self._binary(_PRECEDENCE[token.text] + 1)
            left = self._check_height(self._combine(left, token, right))
        self._nesting -= 1
        return left

    def _combine(self, left: Node, operator: Lexeme, right: Node) -> Node:
        node = Binary(operator.text, left, right, operator.start)
        if operator.text != "-" or not isinstance(right, Name) or not isinstance(left, Name | Hyphenated):
            return node
        if left.start + len(left.name) == operator.start and operator.end == right.start:
            self._check_height(node)
            return Hyphenated(f"{left.name}-{right.name}", node, left.start)
        return node

    def _unary(self) -> Node:
        signs: list[Lexeme] = []
        while (token := self._peek()).kind == "sign" and token.text in ("!", "-", "+"):
            signs.append(self._take())
        node = self._postfix(self._primary())
        for sign in reversed(signs):
            node = self._check_height(Unary(sign.text, node, sign.start))
        return node

    def _postfix(self, node: Node) -> Node:
        while True:
            start = self._peek().start
            if self._accept("."):
                name = self._take()
                if name.kind != "name":
                    raise self._unexpected(name, wanted="a name")
                if self._accept("("):
                    node = self._check_height(MethodCall(node, name.text, self._items(")"), name.start))
                else:
                    node = self._check_height(Member(node, name.text, name.start))
            elif self._accept("["):
                key = self._binary(1)
                self._expect("]")
                node = self._check_height(Subscript(node, key, start))
            else:
                return node

    def _primary(self) -> Node:
        token = self._take()
        match token.kind:
            case "number":
                return Literal(float(token.text), token.start)
            case "text":
                return Literal(token.text, token.start)
            case "regexp":
                return Pattern(token.text, token.flags, token.start)
            case "name":
                return self._name(token)
        if token.text == "(":
            node = self._binary(1)
            self._expect(")")
            return node
        if token.text == "[":
            return self._check_height(ListLiteral(self._items("]"), token.start))
        if token.text == "{":
            return self._object(token)
        raise self._unexpected(token)

    def _name(self, token: Lexeme) -> Node:
        if self._accept("("):
            return self._check_height(FunctionCall(token.text, self._items(")"), token.start))
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.start)
        return Name(token.text, token.start)

    def _items(self, close: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._accept(close):
            if items:
                self._expect(",")
                if self._accept(close):  # a trailing comma, as JavaScript allows
                    break
            items.append(self._binary(1))
            self._check_count(len(items))
        return tuple(items)

    def _object(self, opening: Lexeme) -> Node:
        items: list[tuple[str, Node]] = []
        while not self._accept("}"):
            if items:
                self._expect(",")
                if self._accept("}"):
                    break
            key = self._take()
            if key.kind not in ("name", "text", "number"):
                raise self._unexpected(key, wanted="a key")
            self._expect(":")
            items.append((key.text, self._binary(1)))
            self._check_count(len(items))
        return self._check_height(ObjectLiteral(tuple(items), opening.start))

    def _check_count(self, count: int) -> None:
        if count > MAX_LITERAL_ITEMS:
            raise InvalidQuery(
                f"More than {MAX_LITERAL_ITEMS} elements in one list or call.", position=self._peek().start
            )
