"""The vault's files as MCP resources: listed in pages, read as text or bytes.

Every visible file is a resource: notes, canvases, bases, attachments. Functions here block and are run in a
worker thread. When a file has changed is `vault_changes`' duty.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.dialects.mcp_pages import PAGE_ITEMS, key_of, page_from
from vaultbridge.dialects.mcp_values import (
    Annotations,
    BlobResource,
    Page,
    ResourceContents,
    ResourceInfo,
    TemplateInfo,
    TextResource,
)
from vaultbridge.dialects.vault_uris import place_of, template_of, uri_of
from vaultbridge.errors import (
    AmbiguousName,
    InvalidArgument,
    NoteNotFound,
    PermissionDenied,
    VaultbridgeError,
)
from vaultbridge.limits import MIB
from vaultbridge.tools.media import media_type

if TYPE_CHECKING:
    from vaultbridge.dialects.vault_engines import VaultEngines
    from vaultbridge.engine import Engine
    from vaultbridge.index.files import IndexedFile
    from vaultbridge.vault.paths import VaultPath

RESOURCE_BYTES: Final = 10 * MIB
"""The largest file given as a resource. A client takes it in one message and into its memory; a larger film
or archive is of no use there."""

_TEXTUAL: Final = ("text/", "application/json", "application/yaml", "image/svg+xml")


class Located(Struct, frozen=True):
    """A file that an address was found to name."""

    vault: str
    path: VaultPath
    engine: Engine


def locate(uri: str, engines: VaultEngines) -> Located:
    """The file an address names: by its path or, from a template filled in by a person, by a note's name.
    Raises NoteNotFound with the address, and what opening the vault raises."""
    place = place_of(uri)
    if place.vault not in engines:
        raise NoteNotFound(uri, what="resource")
    engine = engines[place.vault]
    try:
        return Located(place.vault, engine.find(place.path), engine)
    except (NoteNotFound, AmbiguousName, InvalidArgument, PermissionDenied) as error:
        closest = tuple(uri_of(place.vault, path) for path in getattr(error, "closest", ()))
        raise NoteNotFound(uri, closest=closest, what="resource") from None


def listed(engines: VaultEngines, cursor: str) -> Page[ResourceInfo]:
    """One page of all files, by vault and path. Raises InvalidArgument for a cursor that is not ours."""
    after = key_of(cursor)
    files: list[tuple[str, str, IndexedFile]] = []
    failed: list[VaultbridgeError] = []
    for vault in engines:
        try:
            engine = engines[vault]
        except VaultbridgeError as error:
            failed.append(error)
            continue
        files += [(f"{vault}/{file.path}", vault, file) for file in _beyond(engine, vault, after)]
    if failed and len(failed) == len(engines):
        raise failed[0]
    files.sort(key=lambda item: item[0])
    found = page_from(files, lambda item: item[0])
    return Page(tuple(_info(vault, file) for _, vault, file in found.items), found.next)


def _beyond(engine: Engine, vault: str, after: str) -> Sequence[IndexedFile]:
    """The files whose addresses come after this one: as many as a page can need, and one to tell that there
    are more. A vault's files stand together in the list, so `after` is before, within or behind them."""
    prefix = f"{vault}/"
    if not after.startswith(prefix) and after > prefix:
        return ()
    path = after.removeprefix(prefix) if after.startswith(prefix) else ""
    if engine.ask.status.complete:
        return engine.ask.files_page(after=path, limit=PAGE_ITEMS + 1).rows
    return [file for file in files_of(engine) if file.path > path]


def files_of(engine: Engine) -> list[IndexedFile]:
    """Every visible file by path: from the index, or from the disk as long as the index does not know all."""
    if engine.ask.status.complete:
        return engine.ask.files()
    from vaultbridge.index.files import IndexedFile
    from vaultbridge.vault.walk import Entry, walk

    visible = engine.scope.visible
    return sorted(
        (
            IndexedFile(entry.path, entry.kind, entry.size, entry.mtime_ns, "")
            for entry in walk(engine.root)
            if isinstance(entry, Entry) and visible(entry.path)
        ),
        key=lambda file: file.path,
    )


def _info(vault: str, file: IndexedFile) -> ResourceInfo:
    name = file.path.rpartition("/")[2]
    changed = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return ResourceInfo(
        uri=uri_of(vault, file.path),
        name=file.path,
        title=name.removesuffix(".md"),
        mime_type=media_type(file.path),
        size=file.size,
        annotations=Annotations(last_modified=changed.strftime("%Y-%m-%dT%H:%M:%SZ")),
    )


def templates(vaults: Sequence[str]) -> Page[TemplateInfo]:
    """One template: the vault's name stands in it unless there are several."""
    return Page(
        (
            TemplateInfo(
                uri_template=template_of(vaults[0] if len(vaults) == 1 else ""),
                name="file",
                title="Note or file",
                description="A note, canvas, base or attachment by its path, or a note by its name",
            ),
        )
    )


def read(uri: str, engines: VaultEngines) -> Sequence[ResourceContents]:
    """The file's content: text where it is text, else bytes. Raises NoteNotFound, or PermissionDenied for a
    file beyond RESOURCE_BYTES."""
    found = locate(uri, engines)
    size = found.engine.root.status(found.path).st_size
    if size > RESOURCE_BYTES:
        raise PermissionDenied(
            f"{found.path} has {size} bytes; the largest file given as a resource has {RESOURCE_BYTES}.",
            hint="Read a part of it with the tools." if found.path.endswith(".md") else "",
        )
    data = found.engine.read_bytes(found.path)
    kind = media_type(found.path)
    if kind.startswith(_TEXTUAL):
        from vaultbridge.note.text import decode, displayable

        return (TextResource(uri=uri, text=displayable(decode(data).text), mime_type=kind),)
    return (BlobResource(uri=uri, blob=data, mime_type=kind),)
