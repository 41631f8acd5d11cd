"""Obsidian's "Excluded files": plain filters are path prefixes, filters between slashes are expressions."""

from __future__ import annotations

import re
from typing import Final

from vaultbridge.links.resolve import name_key

FILTER_CHARS: Final = 500
"""The longest filter: a person types it, and a longer expression is a slow one."""

FILTER_COUNT: Final = 1000
"""The most filters that are read."""

_NESTED_REPEAT: Final = re.compile(r"\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]")


class IgnoreFilters:
    """Compiled once. A filter that cannot be used is left out and named in `problems`."""

    __slots__ = ("_expressions", "_prefixes", "filters", "problems")

    def __init__(self, filters: tuple[str, ...]) -> None:
        self.filters = filters
        problems: list[str] = []
        prefixes: list[str] = []
        expressions: list[re.Pattern[str]] = []
        if len(filters) > FILTER_COUNT:
            problems.append(f"only the first {FILTER_COUNT} ignore filters are used")
        for given in filters[:FILTER_COUNT]:
            if len(given) > 2 and given.startswith("/") and given.endswith("/"):
                expression, problem = _expression(given[1:-1])
                if expression is not None:
                    expressions.append(expression)
                else:
                    problems.append(f"the ignore filter {given[:60]!r} is not used: {problem}")
            elif prefix := name_key(given.lstrip("/")):
                prefixes.append(prefix)
        self._prefixes = tuple(prefixes)
        self._expressions = tuple(expressions)
        self.problems = tuple(problems)

    def match(self, path: str) -> bool:
        if self._prefixes and name_key(path).startswith(self._prefixes):
            return True
        return any(expression.search(path) for expression in self._expressions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IgnoreFilters) and self.filters == other.filters

    def __hash__(self) -> int:
        return hash(self.filters)


def _expression(body: str) -> tuple[re.Pattern[str] | None, str]:
    """The app's expressions are JavaScript's; what both languages write alike is nearly all that is used."""
    if len(body) > FILTER_CHARS:
        return None, f"longer than {FILTER_CHARS} characters"
    if _NESTED_REPEAT.search(body):
        return None, "a repetition inside a repetition may take forever"
    translated = (
        body.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!").replace(r"\/", "/")
    )
    try:
        return re.compile(translated, re.IGNORECASE), ""
    except (re.error, RecursionError, OverflowError) as error:
        return None, f"bad expression, {error}"
