"""The Vault view's notes: a file with all that its view shows, its links, and the changes by a person.

Changes go through the engine like those of assistants: journaled, undoable, and with the hash that the person
saw. The journal names `page` as their author.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec import Struct

from vaultbridge.engine.drafting.templates import find_periodic_note, plan_note_addition
from vaultbridge.engine.files import choose_attachment_path, render_embed
from vaultbridge.engine.operations import AddFile, Create, Delete, Move, SetTask, Write
from vaultbridge.errors import (
    EngineFailure,
    InvalidArgument,
    PermissionDenied,
    StaleWrite,
    VaultbridgeError,
)
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.markdown.edits.merge import restore_line_ends
from vaultbridge.markdown.edits.property_types import property_type
from vaultbridge.markdown.sections import find_block, find_section
from vaultbridge.markdown.text import LINE_END, decode, has_surrogates, is_text, replace_surrogates
from vaultbridge.tools.attachment import FILE_BYTES
from vaultbridge.tools.base.answer import describe_trash
from vaultbridge.vault.file_types import kind_of, media_kind
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.web.api.routes import PageApi, PageCall
from vaultbridge.web.media import START_BYTES, MediaLinks, measure_picture

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.outcome import Outcome
    from vaultbridge.engine.reading import FileView
    from vaultbridge.markdown.model import Note

ACTOR: Final = "page"

SHOWN_BYTES: Final = 4 * 2**20
"""The largest file whose text is shown: a browser takes long to lay out more."""

BACKLINK_NOTES: Final = 200
"""How many notes that link to a note are listed with the linking lines: each is read to find them."""

LINES_PER_NOTE: Final = 5
"""How many linking lines of one note are listed."""

MEASURED: Final = 200
"""How many pictures of a note are measured, so that the page leaves room for them before they are loaded."""

LINE_CHARS: Final = 300
"""How much of a linking line is shown."""

TEXT_KINDS: Final = ("note", "canvas", "base")


class SaveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`expected` is the hash of the text that the person began with."""

    path: str
    text: str
    expected: str


class CreateRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    text: str = ""


class MoveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`to` is a new path, or a folder that ends with `/`."""

    path: str
    to: str
    expected: str = ""


class DeleteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    expected: str = ""


class TodayRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`text` is added to the note; with "" it is only created."""

    text: str = ""


class TickRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    line: int
    expected: str
    status: str = "toggle"


class AttachmentRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`data` is base64 in JSON. `name` has no folder: the settings give one for files of the note."""

    path: str
    name: str
    data: bytes


def add_note_routes(api: PageApi, media: MediaLinks) -> None:
    async def show(call: PageCall) -> Any:
        path, subpath, known = _require_path(call), call.text("subpath"), call.text("known")

        def link_media(path: str) -> str:
            return media.make(call.grant, call.vault, path)

        def work(engine: Engine) -> dict[str, Any]:
            # A page that only checks whether its note has changed must not cost any parsing.
            if known and content_hash(engine.read_bytes(engine.find(path))) == known:
                return {"unchanged": True}
            shown = show_file(engine, path, subpath, link_media)
            # The name of the vault's folder is for its owner.
            return {**shown, "obsidian": link_app(engine, shown["path"])} if call.grant.owner else shown

        return await call.on_vault(work)

    api.get("/note", show)
    api.put("/note", save)
    api.post("/note", create)
    api.post("/today", begin_today)
    api.post("/task", tick)
    api.post("/attachment", attach)
    api.post("/move", move)
    api.post("/delete", delete)
    api.get("/links", show_links)


def _require_path(call: PageCall) -> str:
    path = call.text("path")
    if not path:
        raise InvalidArgument("path is missing.", argument="path", hint="The path of a file in the vault.")
    return path


def name_kind(path: str) -> str:
    """What a file is to the page: a note, canvas, base, something a browser shows, text, or just a file."""
    kind = kind_of(path)
    return kind if kind in TEXT_KINDS else media_kind(path) or "file"


def link_app(engine: Engine, path: str) -> str:
    """The address that opens a file in the app, on a device that has a vault of this name."""
    vault, file = (
        quote(part.encode("utf-8", "replace"), safe="") for part in (engine.root.folder.name, path)
    )
    return f"obsidian://open?vault={vault}&file={file}"


def show_file(engine: Engine, name: str, subpath: str, link_media: Any) -> dict[str, Any]:
    path = engine.find(name)
    kind = name_kind(path)
    if kind in TEXT_KINDS:
        return _show_text(engine, engine.view(path), kind, subpath, link_media)
    size, modified = _measure(engine, path)
    shown = {
        "path": replace_surrogates(path),
        "kind": kind,
        "size": size,
        "modified": modified,
        "media": link_media(path),
        "readOnly": _why_denied(engine, path),
    }
    if kind == "file" and size <= SHOWN_BYTES:
        data = engine.read_bytes(path)
        if is_text(data):
            return {**shown, "kind": "text", "text": decode(data).text}
    return shown


def _measure(engine: Engine, path: VaultPath) -> tuple[int, float]:
    engine.scope.check_read(path)
    status = engine.root.status(path)
    return status.st_size, status.st_mtime


def _show_text(engine: Engine, view: FileView, kind: str, subpath: str, link_media: Any) -> dict[str, Any]:
    note, text = view.note, replace_surrogates(view.text)
    if len(text) > SHOWN_BYTES:
        raise EngineFailure(
            f"{view.path} is too long to be shown here.", hint="Open it in Obsidian, or read parts of it."
        )
    properties = note.properties
    types = engine.settings.property_types
    first_line = 1
    if subpath:
        text, first_line = _read_subpath(view, subpath)
        text = replace_surrogates(text)
    return {
        "path": replace_surrogates(view.path),
        "kind": kind,
        "hash": view.hash,
        "modified": view.modified,
        "size": len(view.text.encode("utf-8", "surrogateescape")),
        "text": text,
        "firstLine": first_line,
        "bodyLine": _line_at(view.text, properties.end) if properties is not None and not subpath else 1,
        "breaks": not engine.settings.strict_line_breaks,
        "readOnly": _why_read_only(engine, view),
        "properties": [
            {
                "name": replace_surrogates(name),
                "type": property_type(name, types),
                "value": _render_value(value),
            }
            for name, value in (properties.values if properties is not None else {}).items()
        ],
        "aliases": [replace_surrogates(alias) for alias in note.aliases],
        "tags": list(dict.fromkeys(replace_surrogates(tag.name) for tag in note.tags)),
        "outline": [
            {"level": heading.level, "text": replace_surrogates(heading.text), "line": heading.line}
            for heading in note.headings
        ],
        "tasks": [{"line": task.line, "status": task.status} for task in note.tasks],
        "blocks": {block.id: block.line for block in note.blocks},
        "links": resolve_links(engine, view.path, note, link_media),
        "problems": [{"line": problem.line, "message": problem.message} for problem in note.problems],
    }


def _line_at(text: str, offset: int) -> int:
    head = text[:offset]
    return head.count("\n") + head.count("\r") - head.count("\r\n") + 1


def _read_subpath(view: FileView, subpath: str) -> tuple[str, int]:
    """The section or block that a link's subpath names, and its first line. Raises EditRefused."""
    name = subpath.removeprefix("#")
    if name.startswith("^"):
        block = find_block(view.note, name[1:])
        start, end = block.start, block.end
    else:
        section = find_section(view.text, view.note, name)
        start, end = section.start, section.content_end
    return view.text[start:end], _line_at(view.text, start)


def _why_read_only(engine: Engine, view: FileView) -> str:
    """Why the person cannot change the file; "" when they can."""
    denied = _why_denied(engine, view.path)
    if denied:
        return denied
    if has_surrogates(view.text) or "\0" in view.text:
        return "The file holds bytes that are not UTF-8, so it cannot be edited as text here."
    return ""


def _why_denied(engine: Engine, path: VaultPath) -> str:
    try:
        engine.scope.check_write(path)
    except PermissionDenied as error:
        return error.message
    return ""


def _render_value(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(str(key)): _render_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_render_value(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def resolve_links(engine: Engine, path: VaultPath, note: Note, link_media: Any) -> dict[str, Any]:
    """Where each link leads, by its target as written. A browser knows neither the rules nor the names of all
    files."""
    table = engine.queries.visible_table()
    resolutions: dict[str, Any] = {}
    pictures = 0
    for target in dict.fromkeys(link.target for link in note.links):
        resolved = resolve_target(target, path, table, link_media)
        if "media" in resolved and media_kind(resolved["path"]) == "image" and pictures < MEASURED:
            pictures += 1
            size = measure_picture(engine.read_start(VaultPath(resolved["path"]), START_BYTES))
            if size is not None:
                resolved["width"], resolved["height"] = size
        resolutions[replace_surrogates(target)] = resolved
    return resolutions


def resolve_target(target: str, source: str, table: FileTable, link_media: Any) -> dict[str, Any]:
    """The path that a link leads to, null if no visible file has the name, and for a file that a browser can
    show, its address."""
    resolved = resolve(target, source, table)
    if not isinstance(resolved, Resolved):
        return {"path": None, "target": replace_surrogates(target)}
    answer = {"path": replace_surrogates(resolved.path)}
    if media_kind(resolved.path):
        answer["media"] = link_media(resolved.path)
    return answer


# Links to and from a note.


async def show_links(call: PageCall) -> Any:
    path = _require_path(call)
    return await call.on_vault(lambda engine: _show_links(engine, engine.find(path)))


def _show_links(engine: Engine, path: VaultPath) -> dict[str, Any]:
    sources: dict[VaultPath, dict[int, str]] = {}
    for link in engine.queries.backlinks(path):
        if link.source != path:
            sources.setdefault(link.source, {}).setdefault(link.line, link.raw)
    outgoing: dict[str, int] = {}
    unresolved: dict[str, int] = {}
    for out in engine.queries.outgoing(path):
        if out.resolved is None:
            unresolved.setdefault(out.target, out.line)
        elif out.resolved != path:
            outgoing.setdefault(out.resolved, out.line)
    return {
        "backlinks": [
            {"path": replace_surrogates(source), "lines": _read_lines(engine, source, lines)}
            for source, lines in list(sources.items())[:BACKLINK_NOTES]
        ],
        "backlinkNotes": len(sources),
        "outgoing": [{"path": replace_surrogates(to), "line": line} for to, line in outgoing.items()],
        "unresolved": [{"target": replace_surrogates(to), "line": line} for to, line in unresolved.items()],
    }


def _read_lines(engine: Engine, source: VaultPath, wanted: dict[int, str]) -> list[dict[str, Any]]:
    """The lines that contain the links; the link itself for a source that has changed since, or is not a
    note."""
    lines: list[str] = []
    if kind_of(source) == "note":
        try:
            lines = LINE_END.split(decode(engine.read_bytes(source)).text)
        except (EngineFailure, PermissionDenied):
            lines = []
    return [
        {
            "line": number,
            "text": replace_surrogates(
                (lines[number - 1].strip() if number <= len(lines) else raw)[:LINE_CHARS]
            ),
        }
        for number, raw in list(wanted.items())[:LINES_PER_NOTE]
    ]


# Changes.


async def save(call: PageCall) -> Any:
    body = await call.body(SaveRequest)
    if not body.expected:
        raise InvalidArgument("expected is missing.", argument="expected", hint="The hash that /note gave.")

    def work(engine: Engine) -> dict[str, Any]:
        path = engine.find(body.path)
        if not path.lower().endswith(TEXT_SUFFIXES):
            raise InvalidArgument(
                f"{path} is not edited here.", argument="path", hint="Notes, canvases and bases are."
            )
        view = engine.view(path)
        if view.hash != body.expected:
            raise StaleWrite(path, expected=body.expected, current=view.hash)
        text = restore_line_ends(body.text, view.text)
        operation = Write(note=path, content=text, expected=body.expected)
        outcome = engine.apply([operation], label="edit", actor=ACTOR, by_person=True)
        return _render_outcome(outcome, path, body.expected)

    return await call.change_vault(work)


async def create(call: PageCall) -> Any:
    body = await call.body(CreateRequest)

    def work(engine: Engine) -> dict[str, Any]:
        outcome = engine.apply([Create(note=body.path, content=body.text)], actor=ACTOR, by_person=True)
        (created,) = (file for file in outcome.files if file.change == "created")
        return _render_outcome(outcome, created.path, "")

    return await call.change_vault(work)


def find_today(engine: Engine) -> dict[str, Any] | None:
    """The daily note of today: its path, and whether it is there. None for a vault without daily notes."""
    if engine.settings.core_plugins.get("daily-notes") is False:
        return None
    try:
        note = find_periodic_note(engine, "daily")
    except VaultbridgeError:
        # The format in the settings does not make a file name.
        return None
    if not engine.scope.visible(note.path):
        return None
    return {"path": replace_surrogates(note.path), "exists": note.exists}


async def begin_today(call: PageCall) -> Any:
    """Create the daily note of today from its template, as the app does, or add to it what a person notes
    down."""
    body = await call.body(TodayRequest)

    def work(engine: Engine) -> dict[str, Any]:
        note = find_periodic_note(engine, "daily")
        operations, notices = plan_note_addition(engine, note, body.text)
        if not operations:
            return {"path": replace_surrogates(note.path), "hash": "", "change": None, "notices": []}
        done = _render_outcome(engine.apply(operations, label="daily note", actor=ACTOR), note.path, "")
        return {**done, "notices": [*done["notices"], *notices]}

    return await call.change_vault(work)


async def tick(call: PageCall) -> Any:
    """Tick a task, or untick it. Only in the text that the person saw, because lines move."""
    body = await call.body(TickRequest)

    def work(engine: Engine) -> dict[str, Any]:
        path = engine.find(body.path)
        operation = SetTask(note=path, line=body.line, status=body.status, expected=body.expected)
        return _render_outcome(engine.apply([operation], actor=ACTOR), path, body.expected)

    return await call.change_vault(work)


async def attach(call: PageCall) -> Any:
    """Add a file that a person pasted or dropped into the text of a note. `embed` is what shows it there; the
    text is still in the editor, so nothing is written into the note."""
    body = await call.body(AttachmentRequest)
    if not 0 < len(body.data) <= FILE_BYTES:
        hint = f"It may have 1 to {FILE_BYTES // MIB} MiB."
        raise InvalidArgument(f"The file has {len(body.data)} bytes.", argument="data", hint=hint)
    if "/" in body.name or "\\" in body.name:
        raise InvalidArgument(f"{body.name[:60]!r} is not a file name.", argument="name")

    def work(engine: Engine) -> dict[str, Any]:
        note = engine.find(body.path)
        path = choose_attachment_path(engine, body.name, note)
        outcome = engine.apply([AddFile(path=path, data=body.data)], actor=ACTOR, by_person=True)
        return {**_render_outcome(outcome, path, ""), "embed": render_embed(engine, path, note)}

    return await call.change_vault(work)


async def move(call: PageCall) -> Any:
    """Rename a file or move it to another folder, and update the links to it."""
    body = await call.body(MoveRequest)
    to = body.to.strip()
    if not to:
        raise InvalidArgument("to is empty.", argument="to", hint="Give a new name or path.")

    def work(engine: Engine) -> dict[str, Any]:
        path = engine.find(body.path)
        outcome = engine.apply([Move(note=path, to=to, expected=body.expected)], actor=ACTOR)
        moved = next((file for file in outcome.files if file.change == "moved"), None)
        now = path if moved is None else moved.path
        links = sum(file.change == "changed" for file in outcome.files)
        return {**_render_outcome(outcome, now, body.expected), "was": path, "links": links}

    return await call.change_vault(work)


async def delete(call: PageCall) -> Any:
    """Move a file to the trash that the vault's settings name."""
    body = await call.body(DeleteRequest)

    def work(engine: Engine) -> dict[str, Any]:
        path = engine.find(body.path)
        outcome = engine.apply([Delete(note=path, expected=body.expected)], actor=ACTOR)
        went = describe_trash(engine, outcome).get("went_to", "")
        return {**_render_outcome(outcome, path, ""), "wentTo": went}

    return await call.change_vault(work)


def _render_outcome(outcome: Outcome, path: str, before: str) -> dict[str, Any]:
    """`hash` is that of the written text; `before` if nothing had to be written."""
    own = next((file for file in outcome.files if file.path == path), None)
    return {
        "path": replace_surrogates(path),
        "hash": own.hash if own is not None else before,
        "change": int(outcome.change_id) if outcome.change_id else None,
        "notices": [replace_surrogates(notice) for notice in outcome.notices],
    }
