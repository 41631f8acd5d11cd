"""Whether a property's value passes the test of `[name:value]`. Pure but for patterns.

A bare word is found anywhere in the value, a quoted one must be the whole value; each item of a list counts
for itself. `<` and `>` compare numbers with numbers, dates with dates, other text with text.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vaultbridge.index.fold import composed, plain
from vaultbridge.index.query.parse import (
    And,
    Anything,
    Cased,
    Compared,
    Comparison,
    HasProperty,
    HasTag,
    IsNull,
    Not,
    Or,
    Query,
    RegexTerm,
    Term,
    Within,
)
from vaultbridge.index.query.regex import Patterns, compile_pattern

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def scalars(value: Any) -> list[str]:
    """The value as texts: one a list item, numbers and checkboxes as YAML writes them, none for nothing."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [text for item in value for text in scalars(item)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in scalars(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def passes(test: Query, value: Any, patterns: Patterns, *, sensitive: bool) -> bool:
    """`value` is as the note's properties have it."""
    texts = scalars(value)
    match test:
        case Anything():
            return True
        case IsNull():
            return not texts
        case Term(text, quoted):
            if text.lower() == "null" and not quoted and not texts:
                return True
            folded = composed if sensitive else plain
            wanted = folded(text)
            found = [folded(one) for one in texts]
            return wanted in found if quoted else any(wanted in one for one in found)
        case RegexTerm(written):
            pattern = compile_pattern(written, ignore_case=not sensitive)
            return any(patterns.spans(pattern, texts))
        case Compared(comparison, bound):
            return any(_compares(one, comparison, bound) for one in texts)
        case Not(part):
            return not passes(part, value, patterns, sensitive=sensitive)
        case And(parts):
            return all(passes(part, value, patterns, sensitive=sensitive) for part in parts)
        case Or(parts):
            return any(passes(part, value, patterns, sensitive=sensitive) for part in parts)
        case Cased(case_sensitive, part):
            return passes(part, value, patterns, sensitive=case_sensitive)
        case HasTag() | HasProperty() | Within():
            return False


def name_fits(test: Query, name: str, patterns: Patterns) -> bool:
    """Whether a property's name is the one that is meant; names compare whole and without case."""
    match test:
        case Term(text):
            return plain(text) == plain(name)
        case RegexTerm(written):
            return any(patterns.spans(compile_pattern(written, ignore_case=True), [name]))
        case Not(part):
            return not name_fits(part, name, patterns)
        case And(parts):
            return all(name_fits(part, name, patterns) for part in parts)
        case Or(parts):
            return any(name_fits(part, name, patterns) for part in parts)
        case _:
            return False


def _compares(text: str, comparison: Comparison, bound: str) -> bool:
    if _NUMBER.fullmatch(text) and _NUMBER.fullmatch(bound):
        return _ordered(float(text), comparison, float(bound))
    if _NUMBER.fullmatch(text) or _NUMBER.fullmatch(bound):
        return False
    if bool(_DATE.match(text)) != bool(_DATE.match(bound)):
        return False
    return _ordered(plain(text), comparison, plain(bound))


def _ordered(left: Any, comparison: Comparison, right: Any) -> bool:
    match comparison:
        case "<":
            return bool(left < right)
        case ">":
            return bool(left > right)
        case "<=":
            return bool(left <= right)
        case ">=":
            return bool(left >= right)
