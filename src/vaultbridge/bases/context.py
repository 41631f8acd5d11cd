"""Defines what an evaluation can see, how much work it may do, and the form of functions.

Everything from outside (the time, the resolver, other files, random numbers) is passed in here as a value or
a callable, so that the language itself stays pure. `Method` is a function of the language with the number of
arguments it takes.
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
    plain_text,
    type_name,
)
from vaultbridge.errors import TimedOut

STEPS_PER_VALUE: Final = 100_000
"""Steps for one expression over one row, about 0.1 s: enough for a formula over a list of thousands."""

STEPS_PER_VIEW: Final = 8_000_000
"""Steps for all rows of a view, about 10 s: well below the 30 s after which any call is cancelled."""

_CHARS_PER_STEP: Final = 64
"""The interpreter's own loops handle this many characters of text in the time of one step."""

Resolve = Callable[[str, str], str | None]
FormatMoment = Callable[[datetime, str], str]


class EvaluationContext:
    """The context of one run of a view. `resolve(target, source)` returns the path that a link leads to,
    `row_of(path)` the row of any file of the vault; `types` are the vault's property types by lower-case
    name."""

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
        """Start a new expression over a row, with a new allowance of steps."""
        self._value_steps = 0

    def charge(self, steps: int) -> None:
        """Count work. Raises FormulaError past the value's allowance, TimedOut past the view's."""
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
        """Count the cost of walking over all of `value`."""
        if isinstance(value, str):
            self.charge(len(value) // _CHARS_PER_STEP)
        elif isinstance(value, tuple | dict):
            self.charge(count_values(value))

    def search(self, regex: CompiledRegex, text: str, start: int = 0) -> RegexMatch | None:
        """Return the leftmost match, and count its cost."""
        try:
            match, steps = regex.search(text, start)
        except RegexTooCostly:
            self.charge(MAX_STEPS)
            raise FormulaError(f"The regular expression /{regex.source}/ needs too many steps.") from None
        self.charge(steps)
        return match

    def local(self, moment: datetime) -> datetime:
        """Convert a file's time to the wall clock of this run."""
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def find_linked_path(self, link: LinkValue) -> str | None:
        """Return the vault path that a link leads to, without its subpath; None for a URL or a link to
        nothing."""
        if link.external:
            return None
        return self.resolve(link.target.split("#", 1)[0], link.source)


ArgumentValues = tuple[Value, ...]
Body = Callable[[EvaluationContext, Value, ArgumentValues], Value]

ANY_NUMBER: Final = -1


class Method(Struct, frozen=True):
    """`call(context, target, arguments)`; the target of a global function is null. `most` may be
    ANY_NUMBER."""

    call: Body
    least: int = 0
    most: int = 0

    def refusal(self, name: str, count: int) -> str:
        """Return why the function does not take `count` arguments, or "" if it does."""
        if count < self.least or (self.most != ANY_NUMBER and count > self.most):
            if self.least == self.most:
                wanted = str(self.least)
            elif self.most == ANY_NUMBER:
                wanted = f"at least {self.least}"
            else:
                wanted = f"{self.least} to {self.most}"
            plural = "" if wanted in ("1", "at least 1") else "s"
            return f"{name}() takes {wanted} argument{plural}, got {count}."
        return ""


def number_argument(arguments: ArgumentValues, at: int, name: str) -> float:
    value = arguments[at]
    if isinstance(value, Duration):
        return milliseconds(value)
    if isinstance(value, bool) or not isinstance(value, float):
        raise FormulaError(f"{name}() needs a number, got {type_name(value)}.")
    return value


def index_argument(arguments: ArgumentValues, at: int, name: str) -> int:
    """Return a whole number, truncated as in JavaScript and clamped to a range beyond any list or text."""
    number = number_argument(arguments, at, name)
    if math.isnan(number):
        return 0
    return int(max(-1e9, min(1e9, number)))


def text_argument(arguments: ArgumentValues, at: int) -> str:
    return plain_text(arguments[at])
