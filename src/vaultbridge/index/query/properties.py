"""Tests a property against `[name:value]`. Pure except for patterns.

A bare word may be anywhere in the value, a quoted one must be the whole value; the items of a list are tested
one by one. `<` and `>` compare numbers with numbers, dates with dates and other text with text.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vaultbridge.index.fold import compose, fold_text
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
from vaultbridge.index.query.regex import PatternMatcher, compile_pattern

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def flatten_values(value: Any) -> list[str]:
    """Returns the value as texts: one per list item, numbers and checkboxes as in YAML, none if empty."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [text for item in value for text in flatten_values(item)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in flatten_values(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def value_matches(test: Query, value: Any, patterns: PatternMatcher, *, sensitive: bool) -> bool:
    """Whether a property's value, as parsed from the note, matches the test."""
    texts = flatten_values(value)
    match test:
        case Anything():
            return True
        case IsNull():
            return not texts
        case Term(text, quoted):
            if text.lower() == "null" and not quoted and not texts:
                return True
            folded = compose if sensitive else fold_text
            wanted = folded(text)
            found = [folded(one) for one in texts]
            return wanted in found if quoted else any(wanted in one for one in found)
        case RegexTerm(written):
            pattern = compile_pattern(written, ignore_case=not sensitive)
            return any(patterns.spans(pattern, texts))
        case Compared(comparison, bound):
            return any(_compare(one, comparison, bound) for one in texts)
        case Not(part):
            return not value_matches(part, value, patterns, sensitive=sensitive)
        case And(parts):
            return all(value_matches(part, value, patterns, sensitive=sensitive) for part in parts)
        case Or(parts):
            return any(value_matches(part, value, patterns, sensitive=sensitive) for part in parts)
        case Cased(case_sensitive, part):
            return value_matches(part, value, patterns, sensitive=case_sensitive)
        case HasTag() | HasProperty() | Within():
            return False


def name_matches(test: Query, name: str, patterns: PatternMatcher) -> bool:
    """Whether a property's name matches the test; whole names are compared, ignoring case."""
    match test:
        case Term(text):
            return fold_text(text) == fold_text(name)
        case RegexTerm(written):
            return any(patterns.spans(compile_pattern(written, ignore_case=True), [name]))
        case Not(part):
            return not name_matches(part, name, patterns)
        case And(parts):
            return all(name_matches(part, name, patterns) for part in parts)
        case Or(parts):
            return any(name_matches(part, name, patterns) for part in parts)
        case _:
            return False


def _compare(text: str, comparison: Comparison, bound: str) -> bool:
    if _NUMBER.fullmatch(text) and _NUMBER.fullmatch(bound):
        return _ordered(float(text), comparison, float(bound))
    if _NUMBER.fullmatch(text) or _NUMBER.fullmatch(bound):
        return False
    if bool(_DATE.match(text)) != bool(_DATE.match(bound)):
        return False
    return _ordered(fold_text(text), comparison, fold_text(bound))


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
