"""`vault_info`: what the vault contains, its health, and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct

from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_page,
    answer_text,
    clip_text,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.obsidian import is_obsidian_running
from vaultbridge.vault.walk import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vaultbridge.engine import Engine
    from vaultbridge.engine.queries import Queries
    from vaultbridge.vault.settings import VaultSettings


InfoSection = Literal["summary", "links", "problems", "duplicates", "conflicts", "settings"]


NAMES_SHOWN: Final = 5
"""How many files left out the summary shows for each reason: enough to find the place."""

SETTINGS_SHOWN: Final = 5
"""How many settings the summary shows: those that decide where things go and how links look."""


_TOP: Final = "the top of the vault"
_DELETED: Final = {
    "system": "go to the system's trash",
    "local": "go to .trash in the vault",
    "none": "are deleted permanently",
}


class VaultInfoArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars", "offset"})

    section: Annotated[InfoSection, Meta(description="Which part")] = "summary"
    limit: Limit = 50
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: VaultInfoArguments) -> Answer:
    engine = context.engine
    if arguments.section == "summary":
        return answer_text(clip_text("\n".join(_summarize(context)), arguments.max_chars))
    notes = wait_for_index(context)
    if arguments.section == "settings":
        settings = _list_settings(engine.settings, engine.scope.visible)
        rows, total, what = settings[arguments.offset :][: arguments.limit], len(settings), "settings"
    else:
        rows, total, what = _list_section(engine.queries, arguments)
    return answer_page(rows, total, arguments, what, notes=notes)


def _list_section(queries: Queries, arguments: VaultInfoArguments) -> tuple[list[str], int, str]:
    """The rows of one page, the number of all rows, and what they are."""
    here = {"limit": arguments.limit, "offset": arguments.offset}
    match arguments.section:
        case "links":
            broken = queries.unresolved_places(**here)
            return [f"{path}: [[{target}]]" for path, target in broken.rows], broken.total, "broken links"
        case "problems":
            found = queries.problems(**here)
            rows = [f"{row.path}:{row.line}: {row.code}: {row.message}" for row in found.rows]
            return rows, found.total, "problems"
        case "duplicates":
            groups = queries.duplicates(**here)
            return [" | ".join(group) for group in groups.rows], groups.total, "duplicate names"
        case _:
            copies = queries.conflicts(**here)
            rows = [
                f"{path}  a copy of {copy.original}, {'' if copy.certain else 'perhaps '}by {copy.maker}"
                for path, copy in copies.rows
            ]
            return rows, copies.total, "conflict copies"


def _summarize(context: VaultContext) -> list[str]:
    engine = context.engine
    unfinished = wait_for_index(context)
    counts, found = engine.queries.counts(), check_health(engine)
    other = found.count_others(*PROPERTY_PROBLEMS, "placeholder", "duplicate-block-id")
    tasks = engine.queries.tasks(status="open", limit=1).total
    lines = [
        f"Vault {engine.name}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()),
        f"{len(engine.queries.tags())} tags, {engine.queries.property_count()} properties, "
        f"{tasks} open tasks",
        "Health: "
        f"{found.broken} broken links to {found.missing} names (section links), "
        f"{found.count(*PROPERTY_PROBLEMS)} notes with unreadable properties, "
        f"{found.count('duplicate-block-id')} duplicate block ids, "
        f"{found.count('placeholder')} files not downloaded, {other} other problems (section problems), "
        f"{found.duplicates} duplicate names, {found.conflicts} conflict copies",
        *_list_settings(engine.settings, engine.scope.visible)[:SETTINGS_SHOWN],
        f"Obsidian is {'running' if is_obsidian_running() else 'not running'}",
    ]
    if engine.scope.read_only or context.tool_context.read_only:
        lines.append("Open read-only")
    if engine.folder_problem:
        lines.append(engine.folder_problem)
    if engine.index_sync.problem:
        lines.append(f"Changes are not being watched: {engine.index_sync.problem}")
    return [*unfinished, *lines, *_list_left_out(engine)]


def _list_left_out(engine: Engine) -> Iterator[str]:
    total, left_out = engine.queries.left_out()
    more = total - len(left_out)
    for why, reason in LEFT_OUT.items():
        paths = [skipped.path for skipped in left_out if skipped.why == why]
        if paths:
            shown = ", ".join(paths[:NAMES_SHOWN]) + (", …" if len(paths) > NAMES_SHOWN else "")
            yield f"Left out, because {reason}: {len(paths)} ({shown})"
    if more:
        yield f"Left out for the same reasons: {more} more"


def _list_settings(settings: VaultSettings, visible: Callable[[str], bool]) -> list[str]:
    """The most useful settings first. A hidden note is not named, even if a setting names it."""
    daily = settings.periodic_notes("daily")
    places = {"root": _TOP, "current": "the active note's folder", "folder": settings.new_file_folder}
    rows = [
        f"New notes go to {places[settings.new_file_location] or _TOP}",
        f"Attachments go to {_describe_attachment_folder(settings.attachment_folder)}",
        f"Links: {settings.new_link_format}, {'Markdown' if settings.use_markdown_links else 'wikilinks'}",
        f"Daily notes: {daily.folder or _TOP}, {daily.format}"
        + (f", template {daily.template}" if daily.template and visible(daily.template) else ""),
        f"Templates: {settings.template_folder or 'no folder'}",
        f"Deleted files {_DELETED[settings.trash_option]}",
    ]
    for period, notes in settings.periodic.items():
        if period != "daily" and notes.enabled:
            rows.append(f"{period.capitalize()} notes: {notes.folder or _TOP}, {notes.format}")
    excluded = [
        pattern
        for pattern in settings.ignore_filters.filters
        if pattern.startswith("/") or visible(pattern.strip("/"))
    ]
    if excluded:
        rows.append(f"Excluded from search: {', '.join(excluded)}")
    rows += [f"Property {name}: {kind}" for name, kind in sorted(settings.property_types.items())]
    rows += [
        f"Bookmark: {mark.target}{mark.subpath} ({mark.kind})"
        for mark in settings.bookmarks
        if mark.kind not in ("file", "folder") or visible(mark.target)
    ]
    if settings.community_plugins:
        rows.append(f"Plugins: {', '.join(settings.community_plugins)}")
    return [*rows, *(f"Problem: {problem}" for problem in settings.problems)]


def _describe_attachment_folder(folder: str) -> str:
    below = folder.removeprefix("./")
    if below == folder:
        return folder.strip("/") or _TOP
    return f"{below} in the note's folder" if below else "the note's folder"


VAULT_INFO = Tool(
    name="vault_info",
    description="Counts, health (broken links, duplicates, conflicts) and settings",
    arguments=VaultInfoArguments,
    run=run,
    group="vault",
    core=True,
)


PROPERTY_PROBLEMS: Final = ("bad-yaml", "duplicate-key", "unclosed-properties")
"""What makes a note's properties unusable."""


class Health(Struct, frozen=True):
    """How many there are of each; `Queries` lists them. `problems` are counted by code, `duplicates` are
    names that several notes have, `broken` are links to no file, and `missing` the different names in those
    links."""

    problems: dict[str, int]
    broken: int
    missing: int
    duplicates: int
    conflicts: int

    def count(self, *codes: str) -> int:
        return sum(self.problems.get(code, 0) for code in codes)

    def count_others(self, *codes: str) -> int:
        return sum(self.problems.values()) - self.count(*codes)


def check_health(engine: Engine) -> Health:
    broken, missing = engine.queries.unresolved_count()
    return Health(
        problems=engine.queries.problem_counts(),
        broken=broken,
        missing=missing,
        duplicates=engine.queries.duplicates(limit=0).total,
        conflicts=engine.queries.conflicts(limit=0).total,
    )
