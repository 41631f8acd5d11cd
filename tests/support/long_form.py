"""Cases of which the ordinary tests take some and the long tests (`make test-long`) the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def mark_long_after(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases; all after the first `count` are long. A tuple is the values of several arguments."""
    return [
        case
        if number < count
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def combine(*axes: Iterable[str] | Mapping[str, Any]) -> list[Any]:
    """Every combination of named values, for one `parametrize` over all axes. There are as many ordinary ones
    as the longest axis has values, so that each value of each axis occurs in one."""
    valued = [axis if isinstance(axis, Mapping) else {name: name for name in axis} for axis in axes]
    longest = max(map(len, valued))
    ordinary = {tuple(list(axis)[n % len(axis)] for axis in valued) for n in range(longest)}
    return [
        pytest.param(
            *(axis[name] for axis, name in zip(valued, names, strict=True)),
            id="-".join(names),
            marks=[] if names in ordinary else pytest.mark.long,
        )
        for names in itertools.product(*valued)
    ]
