"""`tags`: all with their counts, the notes of one; add, remove and rename, in a note or everywhere."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.answer import Answer, read
from vaultbridge.tools.fields import Arguments, DryRun, Expected, Limit, Offset
from vaultbridge.tools.outcomes import outcome_answer
from vaultbridge.tools.pages import building, page, sliced
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench


class ReadTags(Arguments, frozen=True, kw_only=True):
    action: Literal["list", "notes"] = "list"
    tag: str = ""
    name: Annotated[str, Meta(description="Note")] = ""
    sort: Literal["name", "count"] = "name"
    limit: Limit = 200
    offset: Offset = 0


class Tags(ReadTags, frozen=True, kw_only=True):
    action: Literal["list", "notes", "add", "remove", "rename"] = "list"  # type: ignore[assignment]
    name: Annotated[str, Meta(description="Note; rename without it: everywhere")] = ""
    to: str = ""
    expected: Expected = ""
    dry_run: DryRun = False


def run(bench: Bench, arguments: Tags) -> Answer:
    match arguments.action:
        case "add" | "remove" | "rename":
            return _change(bench, arguments)
        case "notes":
            return _notes(bench, arguments)
        case "list":
            # A single note is read from disk, whatever the index knows yet.
            notes = [] if arguments.name else building(bench)
            rows = _tags(bench, arguments)
    shown = sliced(rows, offset=arguments.offset, limit=arguments.limit)
    return read(page(shown, total=len(rows), offset=arguments.offset, what="tags", notes=notes))


def _notes(bench: Bench, arguments: Tags) -> Answer:
    from vaultbridge.note.tag_edit import tag_name

    if not arguments.tag.strip("# "):
        raise InvalidArgument("tag is missing.", argument="tag", hint="Which tag's notes?")
    notes = building(bench)
    found = bench.engine.ask.search(
        f"tag:#{tag_name(arguments.tag)}",
        limit=arguments.limit,
        offset=arguments.offset,
        sort="path",
        matches_per_note=0,
    )
    rows = (hit.path for hit in found.hits)
    return read(page(rows, total=found.total, offset=arguments.offset, what="notes", notes=notes))


def _tags(bench: Bench, arguments: Tags) -> list[str]:
    if arguments.name:
        view = bench.engine.view(arguments.name)
        return [f"#{name}" for name in dict.fromkeys(tag.name for tag in view.note.tags)]
    under = arguments.tag.strip("# ").lower().rstrip("/")
    found = [
        tag
        for tag in bench.engine.ask.tags()
        if not under or tag.name.lower() == under or tag.name.lower().startswith(under + "/")
    ]
    if arguments.sort == "count":
        found.sort(key=lambda tag: (-tag.notes, tag.name.lower()))
    return [f"#{tag.name}  notes {tag.notes}, places {tag.occurrences}" for tag in found]


def _change(bench: Bench, arguments: Tags) -> Answer:
    from vaultbridge.engine.operations import AddTag, Operation, RemoveTag, RenameTag

    if not arguments.tag.strip("# "):
        raise InvalidArgument("tag is missing.", argument="tag", hint="Which tag?")
    if arguments.action != "rename" and not arguments.name:
        raise InvalidArgument("name is missing.", argument="name", hint="Which note?")
    if arguments.action == "rename" and not arguments.to.strip("# "):
        raise InvalidArgument("to is missing.", argument="to", hint="What should the tag be called?")
    note, tag, expected = arguments.name, arguments.tag, arguments.expected
    wanted: Operation
    if arguments.action == "add":
        wanted = AddTag(note=note, tag=tag, expected=expected)
    elif arguments.action == "remove":
        wanted = RemoveTag(note=note, tag=tag, expected=expected)
    else:
        wanted = RenameTag(tag=tag, to=arguments.to, note=note, expected=expected)
    path = bench.engine.find(note) if note else ""
    outcome = bench.engine.apply([wanted], dry_run=arguments.dry_run, actor=bench.shop.actor)
    return outcome_answer(outcome, path, **({"path": path} if path else {}))


TAGS = Tool(
    name="tags",
    title="Tags",
    description="List tags with counts, or the notes of one; add, remove or rename a tag",
    arguments=Tags,
    run=run,
    group="metadata",
    effect="changes",
    reading=ReadTags,
    reading_description="List tags with counts, or the notes of one",
    changing=lambda arguments: arguments.action not in ("list", "notes"),
    note="name",
)
