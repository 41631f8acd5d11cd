"""Reads the settings in a vault's `.obsidian` folder, with Obsidian's defaults, and the rules that follow
from them: where new notes and attachments go, and which files are ignored.

Nothing is written, so unknown keys survive. A value of the wrong type counts as missing, and so does a file
that cannot be read, unless an earlier state of it could: the app empties a file before it writes it, and what
a person has excluded must not come back for that moment. Both are reported as problems. The files are read
again only when one of their stats has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from vaultbridge.errors import JSON_ERRORS, InvalidPath
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import name_key
from vaultbridge.links.syntax import LinkFormat, LinkSettings
from vaultbridge.system import FileStat, stat_file
from vaultbridge.vault.paths import VaultFolder, VaultPath, folder_of, join, vault_folder
from vaultbridge.vault.write.steps import TrashOption

FILTER_CHARS: Final = 500
"""The longest filter: people type them, and a longer expression would be slow."""

FILTER_COUNT: Final = 1000
"""The most filters that are used."""

_NESTED_REPEAT: Final = re.compile(r"\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]")


class IgnoreFilters:
    """Obsidian's "Excluded files": plain filters are path prefixes, filters between slashes are expressions.
    A filter that cannot be used is left out and named in `problems`."""

    __slots__ = ("_expressions", "_prefixes", "filters", "problems")

    def __init__(self, filters: tuple[str, ...]) -> None:
        self.filters = filters
        problems: list[str] = []
        prefixes: list[str] = []
        expressions: list[re.Pattern[str]] = []
        if len(filters) > FILTER_COUNT:
            problems.append(f"only the first {FILTER_COUNT} ignore filters are used")
        for pattern in filters[:FILTER_COUNT]:
            if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
                expression, problem = _expression(pattern[1:-1])
                if expression is not None:
                    expressions.append(expression)
                else:
                    problems.append(f"the ignore filter {pattern[:60]!r} is not used: {problem}")
            elif prefix := name_key(pattern.lstrip("/")):
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
    """The app uses JavaScript's expressions; nearly all that people write means the same in Python."""
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


Period = Literal["daily", "weekly", "monthly", "quarterly", "yearly"]

PERIOD_FORMATS: Final[dict[Period, str]] = {
    "daily": "YYYY-MM-DD",
    "weekly": "gggg-[W]ww",
    "monthly": "YYYY-MM",
    "quarterly": "YYYY-[Q]Q",
    "yearly": "YYYY",
}


class PeriodicNotes(Struct, frozen=True):
    """Where periodic notes of one kind go. `folder` is `""` for the vault's top; `template` may be empty."""

    enabled: bool
    folder: str
    format: str
    template: str


class Bookmark(Struct, frozen=True):
    """`group` has the titles of the groups that contain it. `target` is a path, a query or an address."""

    kind: str
    target: str
    title: str
    subpath: str
    group: tuple[str, ...]


class VaultSettings(Struct, frozen=True, kw_only=True):
    new_link_format: LinkFormat = "shortest"
    use_markdown_links: bool = False
    strict_line_breaks: bool = False
    """Whether a line end within a paragraph is shown as a space."""
    attachment_folder: str = "/"
    new_file_location: Literal["root", "current", "folder"] = "root"
    new_file_folder: str = ""
    trash_option: TrashOption = "system"
    periodic: dict[Period, PeriodicNotes] = {}
    template_folder: str = ""
    template_date_format: str = "YYYY-MM-DD"
    template_time_format: str = "HH:mm"
    property_types: dict[str, str] = {}
    """The type of each property, by its name in lower case."""
    bookmarks: tuple[Bookmark, ...] = ()
    community_plugins: tuple[str, ...] = ()
    core_plugins: dict[str, bool] = {}
    problems: tuple[str, ...] = ()
    ignore_filters: IgnoreFilters = IgnoreFilters(())
    exclusions_unknown: str = ""
    """Why `ignore_filters` may not be all that the person has excluded; "" if they are. Nothing may leave the
    machine then."""

    @property
    def links(self) -> LinkSettings:
        """How new links are written."""
        return LinkSettings(self.new_link_format, self.use_markdown_links)

    def periodic_notes(self, period: Period) -> PeriodicNotes:
        """Where periodic notes of this kind go; Obsidian's defaults when nothing is set."""
        return self.periodic.get(period) or PeriodicNotes(
            enabled=False, folder="", format=PERIOD_FORMATS[period], template=""
        )

    def attachment_folder_for(self, note: VaultPath) -> VaultPath:
        """Where an attachment added to `note` goes."""
        setting = self.attachment_folder
        if setting.startswith("./"):
            inner = _folder(setting[2:])
            return join(folder_of(note), inner) if inner else folder_of(note)
        return _folder(setting)

    def new_note_folder(self, beside: VaultPath | None) -> VaultPath:
        """Where a note named without a folder goes; `beside` is the active note."""
        if self.new_file_location == "current" and beside is not None:
            return folder_of(beside)
        if self.new_file_location == "folder":
            return _folder(self.new_file_folder)
        return VaultPath("")


def _folder(text: str) -> VaultPath:
    """The folder that the settings name; the vault's top when the name is invalid."""
    try:
        return vault_folder(text)
    except InvalidPath:
        return VaultPath("")


SETTINGS_BYTES: Final = 8 * MIB
"""The largest settings file that is read: the bookmarks of a large vault are far smaller."""

BOOKMARK_DEPTH: Final = 32
"""The deepest nesting of bookmark groups that is followed."""

BOOKMARK_COUNT: Final = 10_000
"""The most bookmarks that are read."""

_PERIODIC_PLUGIN: Final = "periodic-notes"
_FILES: Final = {
    "app": "app.json",
    "daily": "daily-notes.json",
    "periodic": f"plugins/{_PERIODIC_PLUGIN}/data.json",
    "templates": "templates.json",
    "types": "types.json",
    "bookmarks": "bookmarks.json",
    "community": "community-plugins.json",
    "core": "core-plugins.json",
}
SETTINGS_FILES: Final = frozenset(_FILES.values())

_T = TypeVar("_T")


class SettingsReader:
    """The current settings of one vault. Not safe to share between threads."""

    def __init__(self, root: VaultFolder) -> None:
        self._root = root
        self._places = [root.config(name) for name in _FILES.values()]
        self._seen: list[FileStat | None] = []
        self._files: dict[str, Any] = {}
        self._settings: VaultSettings | None = None

    def current(self) -> VaultSettings:
        """Return the current settings, or the last ones while the vault is not there. It costs one stat for
        each file if nothing has changed, and never raises."""
        seen = [stat_file(place) for place in self._places]
        if self._settings is None or (seen != self._seen and not self._root.absence()):
            reading = _Reading(self._root, self._files)
            self._settings, self._files = reading.settings(), reading.files
            self._seen = seen
        return self._settings


class _Reading:
    """One reading of all files, which collects their problems. `earlier` is what the files said before."""

    def __init__(self, root: VaultFolder, earlier: dict[str, Any]) -> None:
        self.problems: list[str] = []
        self.unreadable: dict[str, str] = {}
        """Why a file says nothing although it is there."""
        self.files: dict[str, Any] = {}
        for key, name in _FILES.items():
            self.files[key], problem = self.load(root, name)
            if problem and earlier.get(key) is not None:
                self.files[key] = earlier[key]
                self.problems.append(f"{problem}; what it said before is still used")
            elif problem:
                self.unreadable[key] = problem
                self.problems.append(problem)

    def load(self, root: VaultFolder, name: str) -> tuple[Any, str]:
        """The parsed file, or None when it does not exist or cannot be used, and why it cannot."""
        try:
            data = root.read_config(name, SETTINGS_BYTES + 1)
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"{name} cannot be read: {error.strerror}"
        if len(data) > SETTINGS_BYTES:
            return None, f"{name} is larger than {SETTINGS_BYTES} bytes and was not read"
        if not data.strip():
            return None, f"{name} is empty"
        try:
            return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf")), ""
        except JSON_ERRORS as error:
            return None, f"{name} is not valid JSON: {error}"

    def value(self, file: str, key: str, kind: type[_T], default: _T) -> _T:
        """One value of a file if it has the right type, else the default."""
        return self.pick(self.files[file], key, kind, default, _FILES[file])

    def pick(self, table: Any, key: str, kind: type[_T], default: _T, name: str) -> _T:
        if table is None:
            return default
        if not isinstance(table, dict):
            self.complain(f"{name} does not contain an object")
            return default
        value = table.get(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            self.complain(f"{name}: {key!r} is not a {_KIND_NAMES.get(kind, 'value of the right kind')}")
            return default
        return value

    def switch(self, key: str) -> bool:
        off = False
        return self.value("app", key, bool, off)

    def choice(self, key: str, choices: tuple[str, ...]) -> Any:
        value = self.value("app", key, str, choices[0])
        if value not in choices:
            self.complain(f"app.json: {key!r} is {value!r}, not one of {', '.join(choices)}")
            return choices[0]
        return value

    def complain(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def settings(self) -> VaultSettings:
        filters = self.value("app", "userIgnoreFilters", list, [])
        ignore_filters = IgnoreFilters(tuple(item for item in filters if isinstance(item, str)))
        if len(ignore_filters.filters) < len(filters):
            self.complain("app.json: 'userIgnoreFilters' contains values that are not text")
        community = self.files["community"]
        plugins = (
            tuple(item for item in community if isinstance(item, str)) if isinstance(community, list) else ()
        )
        fields = {
            "new_link_format": self.choice("newLinkFormat", ("shortest", "relative", "absolute")),
            "use_markdown_links": self.switch("useMarkdownLinks"),
            "strict_line_breaks": self.switch("strictLineBreaks"),
            "attachment_folder": self.value("app", "attachmentFolderPath", str, "/"),
            "new_file_location": self.choice("newFileLocation", ("root", "current", "folder")),
            "new_file_folder": self.value("app", "newFileFolderPath", str, ""),
            "trash_option": self.choice("trashOption", ("system", "local", "none")),
            "periodic": self.periodic(plugins),
            "template_folder": self.value("templates", "folder", str, "").strip("/"),
            "template_date_format": self.value("templates", "dateFormat", str, "") or "YYYY-MM-DD",
            "template_time_format": self.value("templates", "timeFormat", str, "") or "HH:mm",
            "property_types": self.types(),
            "bookmarks": tuple(self.bookmarks()),
            "community_plugins": plugins,
            "core_plugins": self.core(),
            "ignore_filters": ignore_filters,
            "exclusions_unknown": self.doubt_exclusions(ignore_filters),
        }
        return VaultSettings(**fields, problems=(*self.problems, *ignore_filters.problems))

    def doubt_exclusions(self, filters: IgnoreFilters) -> str:
        """Why the person may have excluded more than these filters match; "" if that is not so."""
        if problem := self.unreadable.get("app", ""):
            return problem
        misread = [problem for problem in self.problems if "userIgnoreFilters" in problem]
        if self.files["app"] is not None and not isinstance(self.files["app"], dict):
            misread.append("app.json does not contain an object")
        return next(iter([*misread, *filters.problems]), "")

    def periodic(self, plugins: tuple[str, ...]) -> dict[Period, PeriodicNotes]:
        """The core plugin's daily notes, unless the periodic-notes plugin replaces them. When a list of
        enabled plugins exists and does not contain that plugin, its saved settings are ignored."""
        core = self.files["daily"]
        periods: dict[Period, PeriodicNotes] = {
            "daily": self.one_period(core, "daily", _FILES["daily"], enabled=True)
        }
        saved = self.files["periodic"]
        if not isinstance(saved, dict) or (
            self.files["community"] is not None and _PERIODIC_PLUGIN not in plugins
        ):
            return periods
        period: Period
        for period in PERIOD_FORMATS:
            table = saved.get(period)
            if not isinstance(table, dict):
                continue
            enabled = table.get("enabled") is True
            if enabled or period != "daily":
                periods[period] = self.one_period(table, period, _FILES["periodic"], enabled=enabled)
        return periods

    def one_period(self, table: Any, period: Period, name: str, *, enabled: bool) -> PeriodicNotes:
        folder = self.pick(table, "folder", str, "", name).strip("/")
        fmt = self.pick(table, "format", str, "", name) or PERIOD_FORMATS[period]
        return PeriodicNotes(enabled, folder, fmt, self.pick(table, "template", str, "", name))

    def types(self) -> dict[str, str]:
        table = self.value("types", "types", dict, {})
        return {str(name).lower(): kind for name, kind in table.items() if isinstance(kind, str)}

    def core(self) -> dict[str, bool]:
        """An object of switches; older versions of the app wrote a list of the plugins that are on."""
        saved = self.files["core"]
        if isinstance(saved, list):
            return {name: True for name in saved if isinstance(name, str)}
        if isinstance(saved, dict):
            return {name: on for name, on in saved.items() if isinstance(on, bool)}
        return {}

    def bookmarks(self) -> Iterator[Bookmark]:
        waiting: list[tuple[Any, tuple[str, ...]]] = [
            (item, ()) for item in reversed(self.value("bookmarks", "items", list, []))
        ]
        count = 0
        while waiting and count < BOOKMARK_COUNT:
            item, group = waiting.pop()
            if not isinstance(item, dict):
                continue
            kind, title = _text(item, "type"), _text(item, "title")
            if kind == "group":
                inner = item.get("items")
                if isinstance(inner, list) and len(group) < BOOKMARK_DEPTH:
                    waiting += [(child, (*group, title)) for child in reversed(inner)]
                continue
            count += 1
            target = _text(item, "path") or _text(item, "query") or _text(item, "url")
            yield Bookmark(kind, target, title, _text(item, "subpath"), group)


_KIND_NAMES: Final[dict[type, str]] = {str: "text", bool: "switch", list: "list", dict: "table"}


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
