"""The form of every function of the language: a callable with the number of arguments it takes.

What an evaluation may see of the world, and how much work it may do.

Everything from outside (the time, the resolver, other files, chance) comes in here as a value or a callable,
so that the language itself stays pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final

from msgspec import Struct

from vaultbridge.bases.regex_match import MAX_STEPS, CompiledRegex, RegexMatch, RegexTooCostly
from vaultbridge.bases.values import (
    Duration,
    FileRow,
    FormulaError,
    LinkValue,
    Value,
    count_values,
    milliseconds,
    to_text,
    type_name,
)
from vaultbridge.errors import TimedOut

STEPS_PER_VALUE: Final = 100_000
"""Steps for one expression over one row, about 0.1 s: a formula over a list of thousands fits."""

STEPS_PER_VIEW: Final = 8_000_000
"""Steps for all rows of a view, some 10 s: well below the 30 s after which any call is given up."""

_CHARS_PER_STEP: Final = 64
"""Text is handled by the interpreter's own loops, many characters in the time of one step."""

Resolve = Callable[[str, str], str | None]
FormatMoment = Callable[[datetime, str], str]


class EvaluationContext:
    """Fixed for one run of a view. `resolve(target, source)` gives the path a link leads to; `row_of(path)`
    the row of any file of the vault; `types` is the vault's type of each property, by lower-case name."""

    def __init__(
        self,
        *,
        now: datetime,
        resolve: Resolve,
        row_of: Callable[[str], FileRow | None],
        format_moment: FormatMoment,
        random: Callable[[], float],
        this: FileRow | None = None,
        types: Mapping[str, str] | None = None,
        max_steps: int = STEPS_PER_VIEW,
    ) -> None:
        self.zone: tzinfo = now.tzinfo or UTC
        self.now = now.replace(tzinfo=None)
        self.resolve = resolve
        self.row_of = row_of
        self.format_moment = format_moment
        self.random = random
        self.this = this
        self.types = types or {}
        self._max_steps = max_steps
        self._view_steps = 0
        self._value_steps = 0

    def begin_value(self) -> None:
        """A new expression over a row: its own allowance starts anew."""
        self._value_steps = 0

    def charge(self, steps: int) -> None:
        """Count work. FormulaError past the value's allowance, TimedOut past the view's."""
        self._value_steps += steps
        self._view_steps += steps
        if self._value_steps > STEPS_PER_VALUE:
            raise FormulaError("The formula needs too many steps.")
        if self._view_steps > self._max_steps:
            raise TimedOut(
                "The view needs too many steps over all files.",
                hint="Put a cheap filter first, such as file.inFolder() or file.hasTag().",
            )

    def charge_walk(self, value: Value) -> None:
        """Count what going over all of `value` costs."""
        if isinstance(value, str):
            self.charge(len(value) // _CHARS_PER_STEP)
        elif isinstance(value, tuple | dict):
            self.charge(count_values(value))

    def search(self, regex: CompiledRegex, text: str, start: int = 0) -> RegexMatch | None:
        """The leftmost match, its cost counted."""
        try:
            match, steps = regex.search(text, start)
        except RegexTooCostly:
            self.charge(MAX_STEPS)
            raise FormulaError(f"The regular expression /{regex.source}/ needs too many steps.") from None
        self.charge(steps)
        return match

    def local(self, moment: datetime) -> datetime:
        """A file's time as the wall clock of this run shows it."""
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def linked_path(self, link: LinkValue) -> str | None:
        """The vault path a link leads to, its subpath left out; None for a URL or a link to nothing."""
        if link.external:
            return None
        return self.resolve(link.target.split("#", 1)[0], link.source)


Arguments = tuple[Value, ...]
Body = Callable[[EvaluationContext, Value, Arguments], Value]

ANY_NUMBER: Final = -1


class Method(Struct, frozen=True):
    """`call(world, target, arguments)`; the target of a global function is null. `most` may be ANY_NUMBER."""

    call: Body
    least: int = 0
    most: int = 0

    def refusal(self, name: str, count: int) -> str:
        """Why `count` arguments do not fit, or "" when they do."""
        if count < self.least or (self.most != ANY_NUMBER and count > self.most):
            if self.least == self.most:
                wanted = str(self.least)
            elif self.most == ANY_NUMBER:
                wanted = f"at least {self.least}"
            else:
                wanted = f"{self.least} to {self.most}"
            return f"{name}() takes {wanted} argument{'' if wanted == '1' else 's'}, got {count}."
        return ""


def number_argument(arguments: Arguments, at: int, name: str) -> float:
    value = arguments[at]
    if isinstance(value, Duration):
        return milliseconds(value)
    if isinstance(value, bool) or not isinstance(value, float):
        raise FormulaError(f"{name}() wants a number, got {type_name(value)}.")
    return value


def index_argument(arguments: Arguments, at: int, name: str) -> int:
    """A whole number, cut as JavaScript cuts it; what is beyond any list or text is brought into range."""
    number = number_argument(arguments, at, name)
    if math.isnan(number):
        return 0
    return int(max(-1e9, min(1e9, number)))


def text_argument(arguments: Arguments, at: int) -> str:
    return to_text(arguments[at])
