"""Parses Obsidian's search language into a tree (docs/obsidian.md 8).

Words are joined by AND, `OR` binds more weakly, `-` negates, parentheses group. An operator takes one word,
phrase, regular expression or group. `evaluate` gives the tree its meaning; nothing here reads a note. Raises
only `InvalidQuery`, which says where parsing stopped and how to correct it.

These rules are ours, where the app's help says nothing: `name:value` is refused if the name consists of
letters and is not an operator (`status:done` is a slip for `[status:done]`), except for addresses such as
`https://x`; `[[` begins the text of a link, not a property; an operator with nothing after it matches
anything.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from vaultbridge.errors import InvalidQuery

QUERY_CHARS: Final = 4096
"""The longest query: people and assistants write fewer than 500 characters, and every part costs a
look-up."""

QUERY_DEPTH: Final = 32
"""The deepest nesting of groups and operators: the parser and the evaluation are recursive."""

QUERY_PARTS: Final = 256
"""The most words, phrases and tests in one query."""

SHOWN_CHARS: Final = 30
"""How much of a query an error quotes: enough to find the place."""

_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")

SearchPlace = Literal["file", "path", "content", "line", "block", "section", "task", "task-todo", "task-done"]
Comparison = Literal["<", ">", "<=", ">="]


class Term(Struct, frozen=True, gc=False):
    """A word or phrase, found anywhere, even inside words. `quoted` matters only for property values, where a
    quoted text must be the whole value."""

    text: str
    quoted: bool = False


class RegexTerm(Struct, frozen=True, gc=False):
    """A pattern as written between the slashes, in JavaScript's syntax."""

    pattern: str


class Anything(Struct, frozen=True, gc=False):
    """An operator without an argument: `task-todo:` finds notes with any open task."""


class And(Struct, frozen=True):
    parts: tuple[Query, ...]


class Or(Struct, frozen=True):
    parts: tuple[Query, ...]


class Not(Struct, frozen=True):
    part: Query


class Within(Struct, frozen=True):
    """`part` matches in the named place; for line, block, section and task within a single one of them."""

    place: SearchPlace
    part: Query


class Cased(Struct, frozen=True):
    """`match-case:` and `ignore-case:`."""

    sensitive: bool
    part: Query


class HasTag(Struct, frozen=True, gc=False):
    """A tag: `name` is without `#`. Tags nested under it match as well."""

    name: str


class Compared(Struct, frozen=True, gc=False):
    """The property is less or greater than `value`: compared as numbers, as dates or as text."""

    comparison: Comparison
    value: str


class IsNull(Struct, frozen=True, gc=False):
    """The property exists and has no value."""


class HasProperty(Struct, frozen=True):
    """A property whose name matches `name` and whose value matches `value`, which may be Anything."""

    name: Query
    value: Query


Query: TypeAlias = (
    Term | RegexTerm | Anything | And | Or | Not | Within | Cased | HasTag | Compared | IsNull | HasProperty
)

_PLACES: Final = get_args(SearchPlace)
_OPERATORS: Final = (*_PLACES, "tag", "match-case", "ignore-case")
_COMPARISONS: Final = ("<=", ">=", "<", ">")


def parse_query(text: str) -> Query:
    """Parses a query. Raises `InvalidQuery`, even for an empty query."""
    return _QueryParser(text).parse()


def _all_of(parts: list[Query]) -> Query:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _any_of(parts: list[Query]) -> Query:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _describe_place(text: str, place: int) -> str:
    """Describes a place in a query and quotes what is there."""
    shown = text[place : place + SHOWN_CHARS]
    if not shown:
        return f"At character {place + 1}, the end of the query"
    shown = _LONE_SURROGATE.sub("\ufffd", shown) + ("…" if place + SHOWN_CHARS < len(text) else "")
    return f"At character {place + 1} of the query, at {shown}"


class _QueryParser:
    """Recursive descent over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.parts = 0
        # Inside `[name:value]` the bracket and the first colon end a word.
        self.ends = ""

    def parse(self) -> Query:
        if len(self.text) > QUERY_CHARS:
            raise self.make_error(
                f"The query has {len(self.text)} characters; at most {QUERY_CHARS} are allowed.", at=0
            )
        if (odd := _LONE_SURROGATE.search(self.text)) is not None:
            raise self.make_error(
                "this is not a Unicode character.", at=odd.start(), hint="Write it in UTF-8."
            )
        query = self.alternatives()
        if query is None:
            if self.at < len(self.text):
                raise self.make_error("')' closes no group.", hint='Quote it to search for it: ")".')
            raise self.make_error(
                "The query is empty.", hint='Give words, a "phrase", or an operator such as tag:#name.'
            )
        if self.at < len(self.text):
            raise self.make_error("')' closes no group.", hint='Quote it to search for it: ")".')
        return query

    def make_error(self, what: str, *, at: int | None = None, hint: str = "") -> Exception:
        place = self.at if at is None else at
        message = f"{_describe_place(self.text, place)}: {what}"
        return InvalidQuery(message, position=place, hint=hint, what=what)

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def is_next(self, string: str) -> bool:
        return self.text.startswith(string, self.at)

    def is_or_next(self) -> bool:
        after = self.text[self.at + 2 : self.at + 3]
        return self.is_next("OR") and (not after or after.isspace() or after in "()" + self.ends)

    def alternatives(self) -> Query | None:
        """Parses everything up to `)` or the end of a property or of the query; None if there is nothing."""
        self.depth += 1
        if self.depth > QUERY_DEPTH:
            raise self.make_error(f"Groups are nested more than {QUERY_DEPTH} deep.")
        found: list[Query] = []
        part = self.conjunction()
        while True:
            self.skip_blanks()
            if not self.is_or_next():
                break
            if part is None:
                raise self.make_error("OR has nothing before it.", hint='Quote it to search for it: "OR".')
            found.append(part)
            place = self.at
            self.at += 2
            part = self.conjunction()
            if part is None:
                raise self.make_error(
                    "OR has nothing after it.", at=place, hint='Quote it to search for it: "OR".'
                )
        self.depth -= 1
        if part is not None:
            found.append(part)
        return _any_of(found) if found else None

    def conjunction(self) -> Query | None:
        parts: list[Query] = []
        while True:
            self.skip_blanks()
            if self.at >= len(self.text) or self.text[self.at] == ")" or self.is_or_next():
                break
            if self.ends and self.text[self.at] in self.ends:
                break
            parts.append(self.negation())
        return _all_of(parts) if parts else None

    def negation(self) -> Query:
        place = self.at
        negated = 0
        while self.is_next("-") and self.text[self.at + 1 : self.at + 2].strip() and not self.is_next("--"):
            negated += 1
            self.at += 1
        part = self.term()
        if part is None:
            raise self.make_error("'-' has nothing after it.", at=place)
        return Not(part) if negated % 2 else part

    def term(self) -> Query | None:
        """Parses one word, phrase, pattern, group, property test or operator with its argument."""
        if self.at >= len(self.text) or self.text[self.at].isspace():
            return None
        self.parts += 1
        if self.parts > QUERY_PARTS:
            raise self.make_error(f"The query has more than {QUERY_PARTS} parts.")
        char = self.text[self.at]
        if char == "(":
            return self.group()
        if char == '"':
            return self.phrase()
        if char == "/" and (regex := self.regex()) is not None:
            return regex
        if char == "[" and not self.ends and not self.is_next("[["):
            return self.property_test()
        if self.ends and self.is_comparison_next():
            return self.comparison()
        return self.word()

    def group(self) -> Query:
        place = self.at
        self.at += 1
        inside = self.alternatives()
        if not self.is_next(")"):
            raise self.make_error("'(' is never closed.", at=place, hint="Close it with ')', or quote it.")
        self.at += 1
        return Anything() if inside is None else inside

    def phrase(self) -> Query:
        place = self.at
        self.at += 1
        taken: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                text = "".join(taken)
                return Term(text, quoted=True) if text else Anything()
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\"):
                self.at += 1
                char = self.text[self.at]
            taken.append(char)
            self.at += 1
        raise self.make_error(
            "the quotation mark is never closed.", at=place, hint='End the phrase with ", or write \\".'
        )

    def regex(self) -> Query | None:
        """Parses a pattern; None when no slash closes it, because then it is a word such as `/path`."""
        inside_class = False
        closes_in_class = False
        at = self.at + 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif char == "[":
                inside_class = True
            elif char == "]":
                inside_class = False
            elif char == "/" and not inside_class:
                pattern = self.text[self.at + 1 : at]
                if not pattern:
                    return None
                self.at = at + 1
                return RegexTerm(pattern)
            elif char == "/":
                following = self.text[at + 1 : at + 2]
                closes_in_class = closes_in_class or not following or following.isspace()
            at += 1
        if closes_in_class:
            raise self.make_error(
                "'[' in the pattern is never closed, so no / ends it.",
                at=self.at,
                hint="Close it with ], write \\[ for a bracket, or quote the text.",
            )
        return None

    def word(self) -> Query | None:
        place = self.at
        if self.is_next("[["):
            close = self.text.find("]]", self.at)
            self.at = len(self.text) if close < 0 else close + 2
            return Term(self.text[place : self.at])
        while self.at < len(self.text):
            char = self.text[self.at]
            if char.isspace() or char in '()"' or char in self.ends:
                break
            if char == ":" and not self.ends:
                name = self.text[place : self.at].lower()
                if name in _OPERATORS:
                    self.at += 1
                    return self.operator(name, place)
                self.refuse_operator(name, place)
            self.at += 1
        return Term(self.text[place : self.at]) if self.at > place else None

    def refuse_operator(self, name: str, place: int) -> None:
        if not name.replace("-", "").replace("_", "").isalpha() or self.is_next("://") or not name.isascii():
            return
        following = self.text[self.at + 1 : self.at + 2]
        if not following or following.isspace():
            return
        raise self.make_error(
            f"{name!r} is not an operator.",
            at=place,
            hint=f"Operators are {', '.join(op + ':' for op in _OPERATORS)}; for a property write "
            f'[{name}:value]; quote a text with a colon: "{name}:…".',
        )

    def operator(self, name: str, place: int) -> Query:
        self.skip_blanks()
        self.depth += 1
        if self.depth > QUERY_DEPTH:
            raise self.make_error(f"Operators are nested more than {QUERY_DEPTH} deep.")
        ended = self.at >= len(self.text) or self.text[self.at] == ")" or self.is_or_next()
        argument = None if ended else self.term()
        self.depth -= 1
        part: Query = Anything() if argument is None else argument
        if name == "tag":
            return self.tags(part, place)
        if name in ("match-case", "ignore-case"):
            return Cased(name == "match-case", part)
        return Within(name, part)  # type: ignore[arg-type]

    def tags(self, part: Query, place: int) -> Query:
        match part:
            case Term(text):
                if name := text.removeprefix("#").rstrip("/"):
                    return HasTag(name)
            case And(parts):
                return And(tuple(self.tags(inner, place) for inner in parts))
            case Or(parts):
                return Or(tuple(self.tags(inner, place) for inner in parts))
            case Not(inner):
                return Not(self.tags(inner, place))
            case _:
                pass
        raise self.make_error(
            "tag: needs the name of a tag.", at=place, hint="Write tag:#name or tag:(#a OR #b)."
        )

    def property_test(self) -> Query:
        place = self.at
        self.at += 1
        self.ends = ":]"
        name = self.alternatives()
        if name is None:
            raise self.make_error(
                "'[' begins a property test, which needs a name.", at=place, hint=_PROPERTY_HINT
            )
        value: Query = Anything()
        if self.is_next(":"):
            self.at += 1
            self.ends = "]"
            self.skip_blanks()
            value = self.alternatives() or Anything()
            if isinstance(value, Term) and value.text.lower() == "null" and not value.quoted:
                value = IsNull()
        self.ends = ""
        if not self.is_next("]"):
            raise self.make_error(
                "'[' begins a property test that is never closed.", at=place, hint=_PROPERTY_HINT
            )
        self.at += 1
        return HasProperty(_join_name(name), value)

    def is_comparison_next(self) -> bool:
        return self.ends == "]" and any(self.is_next(sign) for sign in _COMPARISONS)

    def comparison(self) -> Query:
        place = self.at
        sign = next(sign for sign in _COMPARISONS if self.is_next(sign))
        self.at += len(sign)
        self.skip_blanks()
        value = self.phrase() if self.is_next('"') else self.word()
        if not isinstance(value, Term):
            raise self.make_error(f"{sign!r} needs a value after it.", at=place, hint="Write [rating:>5].")
        return Compared(sign, value.text)  # type: ignore[arg-type]


_PROPERTY_HINT: Final = 'Write [name] or [name:value]; quote it to search for a bracket: "[".'


def _join_name(name: Query) -> Query:
    """Joins a property name of several words, which needs no quotes: `[due date]` is one name."""
    if isinstance(name, And) and all(isinstance(part, Term) for part in name.parts):
        return Term(" ".join(part.text for part in name.parts if isinstance(part, Term)))
    return name
