"""Cases of which the ordinary tests take some and the long tests (`make test-long`) the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def mark_long_after(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases, of which all after the first `count` are long."""
    return [
        case if number < count else pytest.param(case, marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def combine(*axes: Mapping[str, Any]) -> list[Any]:
    """Every combination of named values, for one `parametrize` over all axes. There are as many ordinary ones
    as the longest axis has values, so that each value of each axis occurs in one."""
    longest = max(map(len, axes))
    ordinary = {tuple(list(axis)[n % len(axis)] for axis in axes) for n in range(longest)}
    return [
        pytest.param(
            *(axis[name] for axis, name in zip(axes, names, strict=True)),
            id="-".join(names),
            marks=[] if names in ordinary else pytest.mark.long,
        )
        for names in itertools.product(*axes)
    ]
