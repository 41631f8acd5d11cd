"""Template variables: `{{title}}`, `{{date}}`, `{{time}}`, `{{date:FORMAT}}`, `{{time:FORMAT}}`.

Merging a template's properties into a note is the engine's work; this only expands text. Pure.

Dates in moment.js's format language, as Obsidian's date settings use it: printing and reading.

English names and the `en` week (it starts on Sunday, and week 1 holds January 1st) are the app's defaults;
another week can be given. Pure: the date comes from the caller.

A date out of a text written in a moment format: how a note's name tells which day's note it is.

Strict: what is found must print again as the very same text, so `2024-02-31` is no date and a look-alike
name is no daily note. Pure.

Which note is the daily, weekly, monthly, quarterly or yearly one of a date, and back. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec import Struct

from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath, is_under, new_vault_path
from vaultbridge.vault.settings import Period, VaultSettings

FORMAT_CHARS: Final = 500
"""The longest format that is read: it names a file."""

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class Week(Struct, frozen=True):
    """A locale's week: `start` is its first day (0 is Sunday), `holds` the day of January that always lies
    in week 1. Moment calls them `dow` and `7 + dow - doy`."""

    start: int = 0
    holds: int = 1

    def number(self, day: date) -> tuple[int, int]:
        """The week-year and the week's number in it."""
        for year in (day.year + 1, day.year, day.year - 1):
            first = self.first_day(year)
            if day >= first:
                return year, (day - first).days // 7 + 1
        raise AssertionError("a day lies in one of three week-years")

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
_LONG: Final = re.compile(r"\[[^\[]*\]|\\.|LTS|LT|L{1,4}|l{1,4}", re.DOTALL)
_TOKEN: Final = re.compile(
    r"(?P<literal>\[[^\[]*\])|\\(?P<escaped>.)"
    r"|(?P<token>YYYY|YY|Y|gggg|gg|GGGG|GG|Qo|Q|Mo|MMMM|MMM|MM|M|Do|DDDo|DDDD|DDD|DD|D"
    r"|dddd|ddd|dd|do|d|e|E|wo|ww|w|Wo|WW|W|HH|H|hh|h|kk|k|mm|m|ss|s|S{1,9}|A|a|ZZ|Z|X|x)",
    re.DOTALL,
)


class FormatToken(Struct, frozen=True, gc=False):
    name: str


@lru_cache(maxsize=256)
def moment_parts(fmt: str) -> tuple[FormatToken | str, ...]:
    """A format as tokens and the text between them."""
    fmt = _LONG.sub(lambda found: _LONG_FORMS.get(found[0], found[0]), fmt[:FORMAT_CHARS])
    parts: list[FormatToken | str] = []
    at = 0
    for found in _TOKEN.finditer(fmt):
        if found.start() > at:
            parts.append(fmt[at : found.start()])
        at = found.end()
        if found["literal"] is not None:
            parts.append(found["literal"][1:-1])
        elif found["escaped"] is not None:
            parts.append(found["escaped"])
        else:
            parts.append(FormatToken(found["token"]))
    parts.append(fmt[at:])
    return tuple(part for part in parts if part != "")


def format_moment(when: date | datetime, fmt: str, *, week: Week = ENGLISH_WEEK) -> str:
    """`when` in the given format. A date alone is its midnight; a time without zone is the local one."""
    moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
    return "".join(
        part if isinstance(part, str) else _WRITERS[part.name](moment, week) for part in moment_parts(fmt)
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

_ORDINAL: Final = r"(\d{1,3}(?:st|nd|rd|th))"

_PATTERNS: Final[dict[str, str]] = {
    **dict.fromkeys(("YYYY", "gggg", "GGGG"), r"(\d{4})"),
    **dict.fromkeys(("YY", "gg", "GG", "MM", "DD", "ww", "WW", "HH", "hh", "kk", "mm", "ss"), r"(\d\d)"),
    **dict.fromkeys(("M", "D", "w", "W", "H", "h", "k", "m", "s"), r"(\d\d?)"),
    **dict.fromkeys(("Mo", "Do", "DDDo", "wo", "Wo", "Qo", "do"), _ORDINAL),
    "Y": r"(\d{1,4})",
    "Q": r"([1-4])",
    "DDD": r"(\d{1,3})",
    "DDDD": r"(\d{3})",
    "d": r"([0-6])",
    "e": r"([0-6])",
    "E": r"([1-7])",
    "MMMM": f"({'|'.join(MONTHS)})",
    "MMM": f"({'|'.join(name[:3] for name in MONTHS)})",
    "dddd": f"({'|'.join(DAYS)})",
    "ddd": f"({'|'.join(name[:3] for name in DAYS)})",
    "dd": f"({'|'.join(name[:2] for name in DAYS)})",
    "A": r"(AM|PM)",
    "a": r"(am|pm)",
    "X": r"(\d{1,11})",
    "x": r"(\d{1,14})",
    "Z": r"([+-]\d\d:\d\d)",
    "ZZ": r"([+-]\d{4})",
    **{"S" * digits: rf"(\d{{{digits}}})" for digits in range(1, 10)},
}
_CLOCK_NAMES: Final = frozenset(
    ("H", "HH", "h", "hh", "k", "kk", "m", "mm", "s", "ss", "A", "a", "Z", "ZZ", "X", "x")
)
_CLOCK: Final = _CLOCK_NAMES | {"S" * digits for digits in range(1, 10)}


@lru_cache(maxsize=256)
def _expression(fmt: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    pieces: list[str] = []
    names: list[str] = []
    for part in moment_parts(fmt):
        if isinstance(part, FormatToken):
            pieces.append(_PATTERNS[part.name])
            names.append(part.name)
        else:
            pieces.append(re.escape(part))
    return re.compile("".join(pieces), re.IGNORECASE), tuple(names)


def parse_moment(text: str, fmt: str, *, week: Week = ENGLISH_WEEK) -> date | None:
    """The day that `text` names in this format; the first day of the week, month, quarter or year when the
    format tells no more. None when it names none, or when the format holds no year."""
    pattern, names = _expression(fmt)
    found = pattern.fullmatch(text)
    if found is None:
        return None
    pairs = list(zip(names, found.groups(), strict=True))
    try:
        day = _day(dict(pairs), week)
    except (ValueError, OverflowError):
        return None
    if day is None:
        return None
    for name, value in pairs:
        # The clock says nothing about the day; every other token must agree with the day found, also one
        # that occurs twice.
        if name not in _CLOCK and format_moment(day, name, week=week).lower() != value.lower():
            return None
    return day


def _day(values: Mapping[str, str], week: Week) -> date | None:
    if "X" in values:
        return datetime.fromtimestamp(int(values["X"])).date()
    if "x" in values:
        return datetime.fromtimestamp(int(values["x"]) / 1000).date()
    for year_names, week_names, rule in (
        (("GGGG", "GG"), ("WW", "W", "Wo"), ISO_WEEK),
        (("gggg", "gg"), ("ww", "w", "wo"), week),
    ):
        year = _first(values, *year_names)
        number = _first(values, *week_names)
        if year is not None and number is not None:
            return rule.first_day(_century(year)) + timedelta(days=7 * (number - 1) + _in_week(values, rule))
    year = _first(values, "YYYY", "YY", "Y")
    if year is None:
        return None
    year = _century(year) if "YYYY" not in values and "YY" in values else year
    day_of_year = _first(values, "DDD", "DDDD", "DDDo")
    if day_of_year is not None:
        return date(year, 1, 1) + timedelta(days=day_of_year - 1)
    quarter = _first(values, "Q", "Qo")
    month = _month(values) or (3 * quarter - 2 if quarter else 1)
    return date(year, month, _first(values, "D", "DD", "Do") or 1)


def _in_week(values: Mapping[str, str], rule: Week) -> int:
    """Days from the week's start, when the format tells the day of the week."""
    if "E" in values:
        return (int(values["E"]) - rule.start) % 7
    if "e" in values:
        return int(values["e"])
    if "d" in values:
        return (int(values["d"]) - rule.start) % 7
    for name, length in (("dddd", 0), ("ddd", 3), ("dd", 2)):
        if name in values:
            days = [(day[:length] if length else day).lower() for day in DAYS]
            return (days.index(values[name].lower()) - rule.start) % 7
    return 0


def _month(values: Mapping[str, str]) -> int | None:
    for name, length in (("MMMM", 0), ("MMM", 3)):
        if name in values:
            months = [(month[:length] if length else month).lower() for month in MONTHS]
            return months.index(values[name].lower()) + 1
    return _first(values, "MM", "M", "Mo")


def _first(values: Mapping[str, str], *names: str) -> int | None:
    for name in names:
        if name in values:
            return int(values[name].rstrip("stndrh").rstrip("STNDRH"))
    return None


def _century(year: int) -> int:
    """Moment's rule for two digits: up to 68 is this century, above it the last."""
    if year >= 100:
        return year
    return year + (2000 if year <= 68 else 1900)


def periodic_path(
    period: Period, day: date, settings: VaultSettings, *, week: Week = ENGLISH_WEEK
) -> VaultPath:
    """The path of the note, whether it exists or not. A `/` in the format makes folders. Raises
    `InvalidPath` when the format gives a name that no note may have."""
    notes = settings.notes_of(period)
    name = format_moment(day, notes.format, week=week).strip("/ ")
    return new_vault_path(f"{notes.folder}/{name}.md")


def periodic_date(
    period: Period, path: VaultPath, settings: VaultSettings, *, week: Week = ENGLISH_WEEK
) -> date | None:
    """The (first) day that a periodic note is about; None for any other note."""
    notes = settings.notes_of(period)
    folder = name_key(notes.folder.strip("/"))
    if not name_key(path).endswith(".md") or not is_under(name_key(path), folder):
        return None
    name = path[len(folder) + 1 if folder else 0 : -3]
    return parse_moment(name, notes.format.strip("/ "), week=week)


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
