"""Reads the days that callers name: a date, a word, or a number of days from today."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from vaultbridge.errors import InvalidArgument
from vaultbridge.vault.settings import Period

_WORDS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}

OFFSET_CHARS: Final = 5
"""A number without a sign is shorter than this: `20260315` is a date."""


def parse_day(text: str, today: date, *, argument: str = "date", period: Period = "daily") -> date:
    """`text` is `YYYY-MM-DD`, today, yesterday, tomorrow, or a number of periods from now, such as `-1`.
    Raises InvalidArgument, which names the argument."""
    word = text.strip().lower() or "today"
    if word in _WORDS:
        return today + timedelta(days=_WORDS[word])
    try:
        if word[0] in "+-" or len(word) < OFFSET_CHARS:
            return _shift(period, int(word), today)
        return date.fromisoformat(word)
    except (ValueError, OverflowError):
        number = "a number of days" if period == "daily" else "a number of periods"
        raise InvalidArgument(
            f"{argument} is {text[:40]!r}.",
            argument=argument,
            hint=f"Give YYYY-MM-DD, today, yesterday, tomorrow, or {number} such as -1.",
        ) from None


def _shift(period: Period, steps: int, today: date) -> date:
    if period == "daily":
        return today + timedelta(days=steps)
    if period == "weekly":
        return today + timedelta(weeks=steps)
    months = {"monthly": 1, "quarterly": 3, "yearly": 12}[period] * steps
    month = today.year * 12 + today.month - 1 + months
    return date(month // 12, month % 12 + 1, 1)
