"""Compiles a JavaScript regular expression into a program for `bases.regex_match`.

It defines the syntax: alternatives, groups, quantifiers (greedy and lazy), classes, escapes, anchors,
look-arounds, back references, and the flags d, g, i, m, s, u, v, y; and, by JavaScript's rules, which
characters a class or escape accepts. It refuses anything else with an `InvalidPattern` that has the offset in
the pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from vaultbridge.bases.regex_match import (
    Accept,
    At,
    BackReference,
    Capture,
    Char,
    CompiledRegex,
    Instruction,
    Jump,
    Look,
    Mark,
    RequireProgress,
    Split,
    Test,
)

Accepts = Callable[[str], bool]

CATEGORIES: Final = {
    "Letter": "L",
    "Alphabetic": "L",
    "Alpha": "L",
    "Uppercase_Letter": "Lu",
    "Uppercase": "Lu",
    "Lowercase_Letter": "Ll",
    "Lowercase": "Ll",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
}


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _is_space(char: str) -> bool:
    return char.isspace() or char == "\ufeff"


CLASSES: Final[dict[str, Accepts]] = {"d": _is_digit, "w": _is_word, "s": _is_space}


def negate(accepts: Accepts) -> Accepts:
    return lambda char: not accepts(char)


def at_word_border(text: str, at: int) -> bool:
    before = at > 0 and _is_word(text[at - 1])
    after = at < len(text) and _is_word(text[at])
    return before != after


def has_category(category: str) -> Accepts:
    return lambda char: unicodedata.category(char).startswith(category)


def member_test(
    singles: frozenset[str],
    ranges: tuple[tuple[str, str], ...],
    tests: tuple[Accepts, ...],
    *,
    fold: bool,
) -> Accepts:
    def exactly(char: str) -> bool:
        return (
            char in singles
            or any(low <= char <= high for low, high in ranges)
            or any(test(char) for test in tests)
        )

    if not fold:
        return exactly
    return lambda char: exactly(char) or exactly(char.lower()) or exactly(char.upper())


MAX_PROGRAM: Final = 5_000
"""The most instructions of one program. A counted repeat is unrolled, so `(a{1000}){1000}` must be
refused."""

MAX_NESTING: Final = 50
"""The deepest nesting of groups."""

MAX_GROUPS: Final = 50
"""The most capture groups: each step that records one copies all."""

KNOWN_FLAGS: Final = frozenset("dgimsuvy")
_LINE_ENDS: Final = "\n\r\u2028\u2029"
_COUNT: Final = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}")
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|c([A-Za-z])")
_NAMED: Final = re.compile(r"<([A-Za-z_$][\w$]*)>")
_PROPERTY: Final = re.compile(r"\{(?:(?:General_Category|gc)=)?([A-Za-z_]+)\}")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class InvalidPattern(Exception):
    """`reason` says what is wrong, `position` where in the pattern."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position


def compile_regex(source: str, flags: str = "") -> CompiledRegex:
    """Raises InvalidPattern."""
    unknown = sorted(set(flags) - KNOWN_FLAGS)
    if unknown or len(set(flags)) != len(flags):
        raise InvalidPattern(f"unknown or repeated flags {flags!r}", 0)
    return _Compiler(source, flags).compile()


class _Compiler:
    def __init__(self, source: str, flags: str) -> None:
        self._source = source
        self._flags = flags
        self._fold = "i" in flags
        self._at = 0
        self._nesting = 0
        self._groups = 0
        self._loops = 0
        self._names: dict[str, int] = {}
        # Loop marks come after the captures, whose number is known only at the end, so we use an upper bound.
        self._capture_slots = 2 * (min(source.count("("), MAX_GROUPS) + 1)

    def compile(self) -> CompiledRegex:
        code = self._alternatives()
        if self._at < len(self._source):
            raise self._make_error("unmatched )")
        slots = self._capture_slots + self._loops
        program = (*code, Accept())
        memoryless = not any(
            isinstance(instruction, BackReference | RequireProgress) for instruction in program
        )
        return CompiledRegex(self._source, self._flags, program, self._groups, slots, self._names, memoryless)

    def _make_error(self, reason: str) -> InvalidPattern:
        return InvalidPattern(reason, self._at)

    def _peek(self) -> str:
        return self._source[self._at] if self._at < len(self._source) else ""

    def _accept(self, text: str) -> bool:
        if self._source.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _alternatives(self) -> list[Instruction]:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise self._make_error(f"nested deeper than {MAX_NESTING} groups")
        branches = [self._sequence()]
        while self._accept("|"):
            branches.append(self._sequence())
        self._nesting -= 1
        code = branches.pop()
        while branches:
            first = branches.pop()
            # Split to the first branch, which then jumps over the others.
            over = len(first) + 2
            branch = [Split(1, over), *_shift(first, 1), Jump(over + len(code))]
            code = self._check_size([*branch, *_shift(code, over)])
        return code

    def _check_size(self, code: list[Instruction]) -> list[Instruction]:
        if len(code) > MAX_PROGRAM:
            raise self._make_error(f"larger than {MAX_PROGRAM} steps when its repeats are written out")
        return code

    def _sequence(self) -> list[Instruction]:
        code: list[Instruction] = []
        while self._peek() not in ("", "|", ")"):
            code += _shift(self._repeat(self._atom()), len(code))
            self._check_size(code)
        return code

    def _repeat(self, atom: list[Instruction]) -> list[Instruction]:
        least, most = self._quantifier()
        if (least, most) == (1, 1):
            return atom
        lazy = self._accept("?")
        if self._peek() and self._peek() in "*+?":
            raise self._make_error("nothing to repeat")
        if len(atom) * max(least, most) > MAX_PROGRAM:
            raise self._make_error(f"larger than {MAX_PROGRAM} steps when its repeats are written out")
        code: list[Instruction] = []
        for _ in range(least):
            code += _shift(atom, len(code))
        if most < 0:
            code += _shift(self._loop(atom, lazy=lazy), len(code))
            return code
        for _ in range(most - least):
            code += _shift(_optional(atom, lazy=lazy), len(code))
        return code

    def _quantifier(self) -> tuple[int, int]:
        """Return (least, most); most is -1 for no bound, and (1, 1) means no quantifier."""
        if self._accept("*"):
            return 0, -1
        if self._accept("+"):
            return 1, -1
        if self._accept("?"):
            return 0, 1
        match = _COUNT.match(self._source, self._at)
        if match is None:
            return 1, 1
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else -1
        if 0 <= most < least:
            raise self._make_error("numbers out of order in {}")
        self._at = match.end()
        if (least, most) == (1, 1):
            self._accept("?")
        return least, most

    def _loop(self, atom: list[Instruction], *, lazy: bool) -> list[Instruction]:
        if len(atom) == 1 and isinstance(atom[0], Char | Test):
            # It always consumes a character, so there is no need to check its progress.
            return [Split(3, 1) if lazy else Split(1, 3), atom[0], Jump(0)]
        slot = self._capture_slots + self._loops
        self._loops += 1
        after = len(atom) + 4
        split = Split(after, 1) if lazy else Split(1, after)
        return [split, Mark(slot), *_shift(atom, 2), RequireProgress(slot), Jump(0)]

    def _atom(self) -> list[Instruction]:
        char = self._peek()
        self._at += 1
        match char:
            case ".":
                everything = "s" in self._flags
                return [Test(lambda found: everything or found not in _LINE_ENDS)]
            case "^":
                return [At(self._line_start())]
            case "$":
                return [At(self._line_end())]
            case "(":
                return self._group()
            case "[":
                return [Test(self._class())]
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                self._at -= 1
                raise self._make_error("nothing to repeat")
        return [self._literal(char)]

    def _literal(self, char: str) -> Instruction:
        if self._fold and char.lower() != char.upper():
            low = char.lower()
            return Test(lambda found: found.lower() == low)
        return Char(char)

    def _line_start(self) -> Callable[[str, int], bool]:
        if "m" in self._flags:
            return lambda text, at: at == 0 or text[at - 1] in _LINE_ENDS
        return lambda text, at: at == 0

    def _line_end(self) -> Callable[[str, int], bool]:
        if "m" in self._flags:
            return lambda text, at: at == len(text) or text[at] in _LINE_ENDS
        return lambda text, at: at == len(text)

    def _group(self) -> list[Instruction]:
        for mark, negative, behind in (
            ("?=", False, False),
            ("?!", True, False),
            ("?<=", False, True),
            ("?<!", True, True),
        ):
            if self._accept(mark):
                inner = self._group_body()
                return [Look((*inner, Accept()), negative, behind)]
        if self._accept("?:"):
            return self._group_body()
        self._groups += 1
        number = self._groups
        if number > MAX_GROUPS:
            raise self._make_error(f"more than {MAX_GROUPS} groups")
        if self._accept("?"):
            name = _NAMED.match(self._source, self._at)
            if name is None or name[1] in self._names:
                raise self._make_error("unknown kind of group, or its name is taken")
            self._names[name[1]] = number
            self._at = name.end()
        inner = self._group_body()
        return [Capture(2 * number), *_shift(inner, 1), Capture(2 * number + 1)]

    def _group_body(self) -> list[Instruction]:
        inner = self._alternatives()
        if not self._accept(")"):
            raise self._make_error("unclosed group")
        return inner

    def _escape(self) -> list[Instruction]:
        char = self._peek()
        if char == "":
            raise self._make_error("a lone \\ at the end")
        if char in "bB":
            self._at += 1
            border = char == "b"
            return [At(lambda text, at: at_word_border(text, at) == border)]
        if char in "123456789":
            self._at += 1
            group = int(char)
            if 2 * group + 1 >= self._capture_slots:
                raise self._make_error(f"there is no group {group}")
            return [BackReference(group, self._fold)]
        if char == "k" and (name := _NAMED.match(self._source, self._at + 1)):
            if name[1] not in self._names:
                raise self._make_error(f"there is no group {name[1]!r} before this")
            self._at = name.end()
            return [BackReference(self._names[name[1]], self._fold)]
        found = self._escaped_character()
        return [self._literal(found) if isinstance(found, str) else Test(found)]

    def _escaped_character(self) -> str | Accepts:
        """Read an escape after its `\\`, inside a class or outside: a character or a class."""
        char = self._peek()
        if char.lower() in CLASSES:
            self._at += 1
            accepts = CLASSES[char.lower()]
            return accepts if char.islower() else negate(accepts)
        if char in "pP" and char and (match := _PROPERTY.match(self._source, self._at + 1)):
            category = CATEGORIES.get(match[1], match[1])
            if len(category) > 2:
                raise self._make_error(f"unknown character property {match[1]!r}")
            self._at = match.end()
            accepts = has_category(category)
            return accepts if char == "p" else negate(accepts)
        if match := _HEX.match(self._source, self._at):
            code = int(match[1] or match[2] or match[3] or "0", 16) if not match[4] else ord(match[4]) % 32
            if code > 0x10FFFF:
                raise self._make_error("no such character")
            self._at = match.end()
            return chr(code)
        self._at += 1
        return _CONTROLS.get(char, char)

    def _class(self) -> Accepts:
        negative = self._accept("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[Accepts] = []
        while not self._accept("]"):
            low = self._class_member()
            if not isinstance(low, str):
                tests.append(low)
                continue
            if self._peek() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._class_member()
                if not isinstance(high, str) or high < low:
                    raise self._make_error("range out of order in a class")
                ranges.append((low, high))
            else:
                singles.add(low)
        accepts = member_test(frozenset(singles), tuple(ranges), tuple(tests), fold=self._fold)
        return negate(accepts) if negative else accepts

    def _class_member(self) -> str | Accepts:
        char = self._peek()
        if char == "":
            raise self._make_error("unclosed class")
        self._at += 1
        if char != "\\":
            return char
        if self._peek() == "b":
            self._at += 1
            return "\b"
        if self._peek() == "":
            raise self._make_error("unclosed class")
        return self._escaped_character()


def _optional(atom: list[Instruction], *, lazy: bool) -> list[Instruction]:
    after = len(atom) + 1
    split = Split(after, 1) if lazy else Split(1, after)
    return [split, *_shift(atom, 1)]


def _shift(code: list[Instruction], by: int) -> list[Instruction]:
    """Return `code` moved `by` instructions, with its jumps, which are within itself."""
    if by == 0:
        return list(code)
    moved: list[Instruction] = []
    for instruction in code:
        match instruction:
            case Split(first, second):
                moved.append(Split(first + by, second + by))
            case Jump(to):
                moved.append(Jump(to + by))
            case _:
                moved.append(instruction)
    return moved
