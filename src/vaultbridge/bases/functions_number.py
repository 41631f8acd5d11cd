"""The functions of numbers; a duration has them too, on its milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.method import Arguments, Method, index_argument, number_argument
from vaultbridge.bases.values import FormulaError, Value, number_text

MAX_DIGITS: Final = 100
"""JavaScript's bound on the decimals of toFixed()."""

_EXACT_DIGITS: Final = 150
"""Enough for 21 digits before the point and MAX_DIGITS after it."""


def _of(function: Callable[[float], float]) -> Method:
    def call(world: Surroundings, target: Value, arguments: Arguments) -> Value:
        number = number_argument((target,), 0, "A number function")
        return float(function(number)) if math.isfinite(number) else number

    return Method(call)


def _digits(arguments: Arguments, name: str) -> int:
    digits = index_argument(arguments, 0, name) if arguments else 0
    if not 0 <= digits <= MAX_DIGITS:
        raise FormulaError(f"{name}() wants 0 to {MAX_DIGITS} digits.")
    return digits


def _round(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    number, digits = number_argument((target,), 0, "round"), _digits(arguments, "round")
    if not math.isfinite(number) or abs(number) >= 1e15 or digits > 15:
        return number  # already as round as a double can be
    scale = 10.0**digits
    return math.floor(number * scale + 0.5) / scale


def _to_fixed(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    number, digits = number_argument((target,), 0, "toFixed"), _digits(arguments, "toFixed")
    if not math.isfinite(number) or abs(number) >= 1e21:
        return number_text(number)
    # The double's exact value is what is rounded, as JavaScript does: (1.005).toFixed(2) is "1.00".
    with localcontext(prec=_EXACT_DIGITS):
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(rounded) if number == 0 else rounded:f}"


NUMBER: Final = {
    "abs": _of(abs),
    "ceil": _of(math.ceil),
    "floor": _of(math.floor),
    "round": Method(_round, 0, 1),
    "toFixed": Method(_to_fixed, 0, 1),
}
