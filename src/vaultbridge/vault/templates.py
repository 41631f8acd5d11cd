"""Template variables: `{{title}}`, `{{date}}`, `{{time}}`, `{{date:FORMAT}}`, `{{time:FORMAT}}`.

Merging a template's properties into a note is the engine's work; this only expands text. Pure.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from vaultbridge.vault.moment import ENGLISH_WEEK, Week, format_moment

DATE_FORMAT: Final = "YYYY-MM-DD"
TIME_FORMAT: Final = "HH:mm"

_VARIABLE: Final = re.compile(r"\{\{\s*(title|date|time)\s*(?::([^{}\r\n]*))?\}\}", re.IGNORECASE)


def expand_template(
    text: str,
    *,
    title: str,
    now: datetime,
    date_format: str = DATE_FORMAT,
    time_format: str = TIME_FORMAT,
    week: Week = ENGLISH_WEEK,
) -> str:
    """`title` is the new note's name without `.md`; `now` is the moment, or for a periodic note its day with
    the present time. Anything else in braces stays as it is: other tools have their own variables."""

    def value(found: re.Match[str]) -> str:
        name, given = found[1].lower(), (found[2] or "").strip()
        if name == "title":
            return title
        fmt = given or (date_format if name == "date" else time_format)
        return format_moment(now, fmt, week=week)

    return _VARIABLE.sub(value, text)
