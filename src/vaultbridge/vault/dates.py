"""Formats dates as Obsidian does: moment.js formats, the paths of periodic notes, and template variables.

English names and the `en` week (it starts on Sunday, and week 1 contains January 1st) are the app's defaults;
another week can be given. The variables are `{{title}}`, `{{date}}`, `{{time}}`, `{{date:FORMAT}}` and
`{{time:FORMAT}}`; merging a template's properties into a note is the engine's work. Everything here is pure:
the date comes from the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec import Struct

from vaultbridge.vault.paths import VaultPath, new_vault_path
from vaultbridge.vault.settings import Period, VaultSettings

FORMAT_CHARS: Final = 500
"""The longest format that is used: it names a file."""

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class Week(Struct, frozen=True):
    """A locale's week: `start` is its first day (0 is Sunday), `holds` the day of January that is always in
    week 1. Moment calls them `dow` and `7 + dow - doy`."""

    start: int = 0
    holds: int = 1

    def number(self, day: date) -> tuple[int, int]:
        """The week-year and the week's number in it."""
        for year in (day.year + 1, day.year, day.year - 1):
            first = self.first_day(year)
            if day >= first:
                return year, (day - first).days // 7 + 1
        raise AssertionError("a day is in one of three week-years")

    def first_day(self, year: int) -> date:
        """The first day of week 1."""
        anchor = date(year, 1, 1) + timedelta(days=self.holds - 1)
        return anchor - timedelta(days=(_weekday(anchor) - self.start) % 7)


ENGLISH_WEEK: Final = Week()
ISO_WEEK: Final = Week(1, 4)

_LONG_FORMS: Final = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
_LONG: Final = re.compile(r"\[[^\[]*\]|\\?(?:LTS|LT|L{1,4}|l{1,4})")
_TOKENS: Final = (
    r"YYYY|YY|Y|gggg|gg|GGGG|GG|Qo|Q|Mo|MMMM|MMM|MM|M|Do|DDDo|DDDD|DDD|DD|D"
    r"|dddd|ddd|dd|do|d|e|E|wo|ww|w|Wo|WW|W|HH|H|hh|h|kk|k|mm|m|ss|s|S{1,9}|A|a|ZZ|Z|X|x"
)
_TOKEN: Final = re.compile(
    # A backslash makes text of the whole token after it; at the end of a format it means nothing.
    rf"(?P<literal>\[[^\[]*\])|\\(?P<escaped>{_TOKENS}|.|\Z)|(?P<token>{_TOKENS})",
    re.DOTALL,
)


class FormatToken(Struct, frozen=True, gc=False):
    name: str


@lru_cache(maxsize=256)
def split_format(fmt: str) -> tuple[FormatToken | str, ...]:
    """Splits a format into tokens and the text between them."""
    fmt = _LONG.sub(lambda match: _LONG_FORMS.get(match[0], match[0]), fmt[:FORMAT_CHARS])
    parts: list[FormatToken | str] = []
    at = 0
    for match in _TOKEN.finditer(fmt):
        if match.start() > at:
            parts.append(fmt[at : match.start()])
        at = match.end()
        if match["literal"] is not None:
            parts.append(match["literal"][1:-1])
        elif match["escaped"] is not None:
            parts.append(match["escaped"])
        else:
            parts.append(FormatToken(match["token"]))
    parts.append(fmt[at:])
    return tuple(part for part in parts if part != "")


def format_moment(when: date | datetime, fmt: str, *, week: Week = ENGLISH_WEEK) -> str:
    """Writes `when` in a format. A date means its midnight; a time without a zone is local."""
    moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
    return "".join(
        part if isinstance(part, str) else _WRITERS[part.name](moment, week) for part in split_format(fmt)
    )


def _weekday(day: date) -> int:
    return day.isoweekday() % 7


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th … 11th, 12th, 13th."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _offset(moment: datetime, between: str) -> str:
    aware = moment if moment.tzinfo is not None else moment.astimezone()
    minutes = round((aware.utcoffset() or timedelta()).total_seconds() / 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{between}{abs(minutes) % 60:02d}"


def _day_of_year(moment: datetime) -> int:
    return moment.timetuple().tm_yday


def _quarter(moment: datetime) -> int:
    return (moment.month + 2) // 3


_Writer = Callable[[datetime, Week], str]


def _fraction(digits: int) -> _Writer:
    return lambda moment, week: f"{moment.microsecond * 1000:09d}"[:digits]


_WRITERS: Final[dict[str, _Writer]] = {
    "YYYY": lambda m, w: f"{m.year:04d}",
    "YY": lambda m, w: f"{m.year % 100:02d}",
    "Y": lambda m, w: str(m.year),
    "gggg": lambda m, w: f"{w.number(m.date())[0]:04d}",
    "gg": lambda m, w: f"{w.number(m.date())[0] % 100:02d}",
    "GGGG": lambda m, w: f"{ISO_WEEK.number(m.date())[0]:04d}",
    "GG": lambda m, w: f"{ISO_WEEK.number(m.date())[0] % 100:02d}",
    "Q": lambda m, w: str(_quarter(m)),
    "Qo": lambda m, w: ordinal(_quarter(m)),
    "M": lambda m, w: str(m.month),
    "Mo": lambda m, w: ordinal(m.month),
    "MM": lambda m, w: f"{m.month:02d}",
    "MMM": lambda m, w: MONTHS[m.month - 1][:3],
    "MMMM": lambda m, w: MONTHS[m.month - 1],
    "D": lambda m, w: str(m.day),
    "Do": lambda m, w: ordinal(m.day),
    "DD": lambda m, w: f"{m.day:02d}",
    "DDD": lambda m, w: str(_day_of_year(m)),
    "DDDo": lambda m, w: ordinal(_day_of_year(m)),
    "DDDD": lambda m, w: f"{_day_of_year(m):03d}",
    "d": lambda m, w: str(_weekday(m)),
    "do": lambda m, w: ordinal(_weekday(m)),
    "dd": lambda m, w: DAYS[_weekday(m)][:2],
    "ddd": lambda m, w: DAYS[_weekday(m)][:3],
    "dddd": lambda m, w: DAYS[_weekday(m)],
    "e": lambda m, w: str((_weekday(m) - w.start) % 7),
    "E": lambda m, w: str(m.isoweekday()),
    "w": lambda m, w: str(w.number(m.date())[1]),
    "wo": lambda m, w: ordinal(w.number(m.date())[1]),
    "ww": lambda m, w: f"{w.number(m.date())[1]:02d}",
    "W": lambda m, w: str(ISO_WEEK.number(m.date())[1]),
    "Wo": lambda m, w: ordinal(ISO_WEEK.number(m.date())[1]),
    "WW": lambda m, w: f"{ISO_WEEK.number(m.date())[1]:02d}",
    "H": lambda m, w: str(m.hour),
    "HH": lambda m, w: f"{m.hour:02d}",
    "h": lambda m, w: str(m.hour % 12 or 12),
    "hh": lambda m, w: f"{m.hour % 12 or 12:02d}",
    "k": lambda m, w: str(m.hour or 24),
    "kk": lambda m, w: f"{m.hour or 24:02d}",
    "m": lambda m, w: str(m.minute),
    "mm": lambda m, w: f"{m.minute:02d}",
    "s": lambda m, w: str(m.second),
    "ss": lambda m, w: f"{m.second:02d}",
    "A": lambda m, w: "AM" if m.hour < 12 else "PM",
    "a": lambda m, w: "am" if m.hour < 12 else "pm",
    "Z": lambda m, w: _offset(m, ":"),
    "ZZ": lambda m, w: _offset(m, ""),
    "X": lambda m, w: str(int(m.timestamp())),
    "x": lambda m, w: str(int(m.timestamp() * 1000)),
    **{"S" * digits: _fraction(digits) for digits in range(1, 10)},
}


def periodic_path(
    period: Period, day: date, settings: VaultSettings, *, week: Week = ENGLISH_WEEK
) -> VaultPath:
    """The path of the periodic note for a day, whether it exists or not. A `/` in the format makes folders.
    Raises `InvalidPath` when the format produces a name that no note may have."""
    notes = settings.periodic_notes(period)
    name = format_moment(day, notes.format, week=week).strip("/ ")
    return new_vault_path(f"{notes.folder}/{name}.md")


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
    """Replaces the variables in a template. `title` is the new note's name without `.md`; `now` is the
    present time, for a periodic note on that note's day. Anything else in braces stays: other tools have
    their own variables."""

    def value(match: re.Match[str]) -> str:
        name, written = match[1].lower(), (match[2] or "").strip()
        if name == "title":
            return title
        fmt = written or (date_format if name == "date" else time_format)
        return format_moment(now, fmt, week=week)

    return _VARIABLE.sub(value, text)
