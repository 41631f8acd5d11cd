"""The form of every function of the language: a callable with the number of arguments it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.values import Duration, FormulaError, Value, milliseconds, to_text, type_name

Arguments = tuple[Value, ...]
Body = Callable[[Surroundings, Value, Arguments], Value]

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
