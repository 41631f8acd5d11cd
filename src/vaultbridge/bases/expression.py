"""Parses a Bases expression: splits it into tokens with their positions, and these into a frozen tree.

It defines the grammar: literals, operators with JavaScript's precedence, member access, indexing, calls.
After a value `/` divides, elsewhere it opens a regular expression. Errors are `InvalidQuery` with the offset
of the offending character. `bases.evaluate` defines which names and functions exist and what they mean.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import InvalidQuery

MAX_EXPRESSION_CHARS: Final = 20_000
"""The longest expression we read. The formulas that people write have a few hundred characters."""

TokenKind = Literal["name", "number", "text", "regexp", "sign", "end"]


class Lexeme(Struct, frozen=True, gc=False):
    """`text` is the name, sign, decoded text or pattern; `flags` are those of a regular expression."""

    kind: TokenKind
    text: str
    start: int
    end: int
    flags: str = ""


_BLANK: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w])|\d+(?=\.[^\W\d])")
_SIGN: Final = re.compile(r"&&|\|\||[=!]==|==|=>|!=|<=|>=|[-+*/%()\[\]{},.:!<>]")
_FLAGS: Final = re.compile(r"[A-Za-z]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_HEX: Final = {
    "x": re.compile(r"[0-9A-Fa-f]{2}"),
    "u": re.compile(r"[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\}"),
}

_HINTS: Final = {
    "=": "Write == to compare.",
    "=>": "Write only the result, as in filter(value > 2): `value` is the element.",
    "===": "Write == to compare.",
    "!==": "Write != to compare.",
    "?": "Write if(condition, a, b) to choose.",
    "&": "Write && for 'and'.",
    "|": "Write || for 'or'.",
    "“": 'Write straight quotes: "text".',
    "‘": "Write straight quotes: 'text'.",
}
"""What people write who are used to other languages, and what to write here."""

_VALUE: Final = 'a value, such as a property, a number or "text"'
_OPERATOR: Final = "an operator, such as == or &&, or the end"


def tokenize(source: str) -> tuple[Lexeme, ...]:
    """Return all tokens of `source`; the last is of kind "end"."""
    if len(source) > MAX_EXPRESSION_CHARS:
        raise InvalidQuery(
            f"The expression has {len(source)} characters; at most {MAX_EXPRESSION_CHARS} are read.",
            position=MAX_EXPRESSION_CHARS,
        )
    found: list[Lexeme] = []
    at = _skip_blanks(source, 0)
    while at < len(source):
        token = _read_token(source, at, after_value=bool(found) and _is_value_end(found[-1]))
        found.append(token)
        at = _skip_blanks(source, token.end)
    found.append(Lexeme("end", "", len(source), len(source)))
    return tuple(found)


def _skip_blanks(source: str, at: int) -> int:
    match = _BLANK.match(source, at)
    return match.end() if match else at


def _is_value_end(token: Lexeme) -> bool:
    return token.kind != "sign" or token.text in (")", "]", "}")


def _read_token(source: str, at: int, *, after_value: bool) -> Lexeme:
    char = source[at]
    if char in "\"'":
        return _read_text(source, at)
    if char == "/" and not after_value:
        return _read_regexp(source, at)
    if match := _NAME.match(source, at):
        return Lexeme("name", match.group(), at, match.end())
    # After a value a dot is member access, so that `list[0].5` is refused rather than read as two values.
    if (char.isdigit() or not after_value) and (match := _NUMBER.match(source, at)):
        return Lexeme("number", match.group(), at, match.end())
    match = _SIGN.match(source, at)
    if match is None or match.group() in _HINTS:
        sign = match.group() if match else char
        expected = _OPERATOR if after_value else _VALUE
        hint = _HINTS.get(sign, "")
        raise InvalidQuery(f"Unexpected {sign!r} at {at}, expected {expected}.", position=at, hint=hint)
    return Lexeme("sign", match.group(), at, match.end())


def _read_text(source: str, start: int) -> Lexeme:
    quote, at = source[start], start + 1
    parts: list[str] = []
    while at < len(source):
        char = source[at]
        if char == quote:
            return Lexeme("text", "".join(parts), start, at + 1)
        if char == "\\" and at + 1 < len(source):
            decoded, at = _decode_escape(source, at + 1)
            parts.append(decoded)
        else:
            parts.append(char)
            at += 1
    raise InvalidQuery(f"The text opened by {quote} at {start} is not closed.", position=start)


def _decode_escape(source: str, at: int) -> tuple[str, int]:
    """Decode the escape at `at` (after the backslash) as in JavaScript, and return where it ends."""
    char = source[at]
    if char in _HEX and (match := _HEX[char].match(source, at + 1)):
        code = int(match.group().strip("{}"), 16)
        # A lone surrogate cannot be stored or sent; it becomes the replacement character.
        return (chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "�"), match.end()
    return _ESCAPES.get(char, char), at + 1


def _read_regexp(source: str, start: int) -> Lexeme:
    at, in_class = start + 1, False
    while at < len(source) and source[at] != "\n":
        char = source[at]
        if char == "\\":
            at += 2
            continue
        if char == "/" and not in_class:
            flags = _FLAGS.match(source, at + 1)
            end = flags.end() if flags else at + 1
            return Lexeme("regexp", source[start + 1 : at], start, end, source[at + 1 : end])
        in_class = char == "[" or (in_class and char != "]")
        at += 1
    raise InvalidQuery(f"The regular expression opened at {start} is not closed.", position=start)


MAX_TREE_DEPTH: Final = 100
"""The deepest tree we build: evaluation recurses a few frames per level, and Python stops at 1,000."""

MAX_LITERAL_ITEMS: Final = 1_000
"""The most elements of one list or object literal, or arguments of one call."""


class ScalarLiteral(Struct, frozen=True):
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
    ScalarLiteral
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
        case ScalarLiteral() | Pattern() | Name():
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
    return _ExpressionParser(source).parse()


class _ExpressionParser:
    """Precedence climbing over the tokens. `_heights` has the height of each tree by identity: a long chain
    such as `a + b + …` nests to the left without any recursion here, so its height must be counted."""

    def __init__(self, source: str) -> None:
        self._tokens = tokenize(source)
        self._at = 0
        self._nesting = 0
        self._heights: dict[int, int] = {}
        self._keep_alive: list[Node] = []

    def parse(self) -> Node:
        if self._peek().kind == "end":
            raise InvalidQuery("The expression is empty.", position=0)
        node = self._binary(1)
        rest = self._peek()
        if rest.kind != "end":
            raise self._make_error(rest, _OPERATOR)
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
            raise self._make_error(self._peek(), f"'{sign}'")

    def _expect_comma(self, close: str) -> None:
        if not self._accept(","):
            raise self._make_error(self._peek(), f"',' or '{close}'")

    def _make_error(self, token: Lexeme, expected: str) -> InvalidQuery:
        found = "end of the expression" if token.kind == "end" else repr(token.text)
        hint = ""
        if token.kind == "name" and token.text.lower() in _WORD_OPERATORS:
            hint = f"Write {_WORD_OPERATORS[token.text.lower()]}."
        message = f"Unexpected {found} at {token.start}, expected {expected}."
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
                    raise self._make_error(name, "a name")
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
                return ScalarLiteral(float(token.text), token.start)
            case "text":
                return ScalarLiteral(token.text, token.start)
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
        raise self._make_error(token, _VALUE)

    def _name(self, token: Lexeme) -> Node:
        if self._accept("("):
            return self._check_height(FunctionCall(token.text, self._items(")"), token.start))
        if token.text in _CONSTANTS:
            return ScalarLiteral(_CONSTANTS[token.text], token.start)
        return Name(token.text, token.start)

    def _items(self, close: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._accept(close):
            if items:
                self._expect_comma(close)
                if self._accept(close):  # a trailing comma, as JavaScript allows
                    break
            items.append(self._binary(1))
            self._check_count(len(items))
        return tuple(items)

    def _object(self, opening: Lexeme) -> Node:
        items: list[tuple[str, Node]] = []
        while not self._accept("}"):
            if items:
                self._expect_comma("}")
                if self._accept("}"):
                    break
            key = self._take()
            if key.kind not in ("name", "text", "number"):
                raise self._make_error(key, "a key or '}'")
            self._expect(":")
            items.append((key.text, self._binary(1)))
            self._check_count(len(items))
        return self._check_height(ObjectLiteral(tuple(items), opening.start))

    def _check_count(self, count: int) -> None:
        if count > MAX_LITERAL_ITEMS:
            raise InvalidQuery(
                f"More than {MAX_LITERAL_ITEMS} elements in one list or call.", position=self._peek().start
            )
