"""Offers the files of a vault as MCP resources: their URIs, lists in pages, and their content as text or
bytes.

Every visible file is a resource: notes, canvases, bases, attachments. Functions block and run in a worker
thread. `changes` announces changed files.

A URI is `obsidian://vault/VAULT/PATH`, the app's own short form of a link to a note, so that a click on it
opens Obsidian. Every character except letters, digits, `-._~` and the slashes between folders is
percent-encoded as UTF-8. Parsing is lenient: a client that fills in a template may encode more, or less.

The cursor of a page contains the key of the last item, not its position, so that items added or removed
before it neither repeat nor skip anything. It is opaque to the client and not trusted: any other text is
refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote, unquote

from msgspec import Struct

from vaultbridge.errors import (
    AmbiguousName,
    InvalidArgument,
    NoteNotFound,
    NotFound,
    PermissionDenied,
    VaultbridgeError,
)
from vaultbridge.index.files import IndexedFile
from vaultbridge.limits import MIB, PATH_CHARS
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.protocols.mcp.values import (
    Annotations,
    BlobResource,
    Page,
    ResourceContents,
    ResourceInfo,
    TemplateInfo,
    TextResource,
)
from vaultbridge.system import FileStat
from vaultbridge.vault.file_types import media_type
from vaultbridge.vault.walk import FileEntry, walk

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.engines import VaultEngines
    from vaultbridge.vault.paths import VaultPath

PAGE_ITEMS: Final = 500
"""Items of one page: about 100 KB of resources, and 20 pages for a large vault."""

CURSOR_CHARS: Final = 8192
"""The longest cursor that is decoded: several times the longest path."""

_MARK: Final = b"k"

T = TypeVar("T")


def paginate(items: Sequence[T], cursor: str, key: Callable[[T], str], size: int = PAGE_ITEMS) -> Page[T]:
    """The page of `items` (sorted by `key`, keys unique) that follows `cursor`; "" begins. Raises
    InvalidArgument."""
    start = bisect_right(items, decode_cursor(cursor), key=key) if cursor else 0
    end = start + size
    return make_page(items[start : end + 1], key, size)


def make_page(items: Sequence[T], key: Callable[[T], str], size: int = PAGE_ITEMS) -> Page[T]:
    """The first page of `items`; one more item than fits on the page means that another page follows."""
    page = tuple(items[:size])
    return Page(page, _encode_cursor(key(page[-1])) if len(items) > size else "")


def _encode_cursor(key: str) -> str:
    from base64 import urlsafe_b64encode

    # Without the mark, the cursor of an empty key would be empty, which means the first page.
    return urlsafe_b64encode(_MARK + key.encode("utf-8", "surrogatepass")).decode("ascii")


def decode_cursor(cursor: str) -> str:
    """The key of the last item before the page; "" for the first page. Raises InvalidArgument."""
    if not cursor:
        return ""
    from base64 import b64decode

    try:
        if len(cursor) > CURSOR_CHARS:
            raise ValueError("too long")
        raw = b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        if not raw.startswith(_MARK):
            raise ValueError("not marked")
        return raw.removeprefix(_MARK).decode("utf-8", "surrogatepass")
    except ValueError:
        raise InvalidArgument(
            "cursor was not issued by this list.", argument="cursor", hint="Begin again without a cursor."
        ) from None


SCHEME: Final = "obsidian://vault/"

URI_CHARS: Final = len(SCHEME) + 12 * PATH_CHARS
"""The longest URI that is parsed: a path of the longest length, with four encoded bytes per character."""


class ResourceAddress(Struct, frozen=True):
    """What a URI names: a vault, and a path in it that has not been checked yet."""

    vault: str
    path: str


def make_uri(vault: str, path: str) -> str:
    return f"{SCHEME}{quote(vault, safe='')}/{quote(path, safe='/')}"


def make_uri_template(vault: str = "") -> str:
    """The URI template of any file; without a vault's name, the vault is a variable too."""
    return f"{SCHEME}{quote(vault, safe='') if vault else '{vault}'}/{{+path}}"


def parse_uri(uri: str) -> ResourceAddress:
    """Raises NotFound for a URI of another kind: there is no such resource."""
    head, rest = uri[: len(SCHEME)], uri[len(SCHEME) :]
    if head.lower() != SCHEME or len(uri) > URI_CHARS:
        raise NotFound(uri[:URI_CHARS], what="resource")
    vault, slash, path = rest.partition("/")
    # A client that expands the template with the plain operator encodes the slashes too.
    vault, path = unquote(vault), unquote(path)
    if not slash or not vault or not path:
        raise NotFound(uri, what="resource")
    return ResourceAddress(vault, path)


RESOURCE_BYTES: Final = 10 * MIB
"""The largest file that can be read as a resource. A client gets it in one message and keeps it in memory; a
larger video or archive is of no use there."""

_TEXTUAL: Final = ("text/", "application/json", "application/yaml", "image/svg+xml")


class LocatedFile(Struct, frozen=True):
    """The file that a URI names."""

    vault: str
    path: VaultPath
    engine: Engine

    def stat(self) -> FileStat | None:
        """None if the file is gone, or is a link to a hidden one now."""
        try:
            self.engine.scope.check_read(self.path)
            return FileStat.of(self.engine.root.status(self.path))
        except (VaultbridgeError, OSError):
            return None


def locate(uri: str, engines: VaultEngines) -> LocatedFile:
    """Find the file that a URI names, by its path or, if a person filled in the template, by the name of a
    note. Raises NotFound with the URI, and what opening the vault raises."""
    address = parse_uri(uri)
    if address.vault not in engines:
        raise NotFound(uri, what="resource")
    engine = engines[address.vault]
    try:
        return LocatedFile(address.vault, engine.find(address.path), engine)
    except (NoteNotFound, AmbiguousName, InvalidArgument, PermissionDenied) as error:
        closest = tuple(make_uri(address.vault, path) for path in getattr(error, "closest", ()))
        raise NotFound(uri, closest=closest, what="resource") from None


def list_page(engines: VaultEngines, cursor: str) -> Page[ResourceInfo]:
    """One page of all files, sorted by vault and path. Raises InvalidArgument for a cursor that we did not
    issue."""
    after = decode_cursor(cursor)
    files: list[tuple[str, str, IndexedFile]] = []
    failed: list[VaultbridgeError] = []
    for vault in engines:
        try:
            engine = engines[vault]
        except VaultbridgeError as error:
            failed.append(error)
            continue
        files += [(f"{vault}/{file.path}", vault, file) for file in _list_files_after(engine, vault, after)]
    if failed and len(failed) == len(engines):
        raise failed[0]
    files.sort(key=lambda item: item[0])
    page = make_page(files, lambda item: item[0])
    return Page(tuple(_make_info(vault, file) for _, vault, file in page.items), page.next)


def _list_files_after(engine: Engine, vault: str, after: str) -> Sequence[IndexedFile]:
    """The files after this key: as many as a page needs, and one that shows that there are more. The files of
    a vault are adjacent in the list, so `after` is before, among or after them."""
    prefix = f"{vault}/"
    if not after.startswith(prefix) and after > prefix:
        return ()
    path = after.removeprefix(prefix) if after.startswith(prefix) else ""
    if engine.queries.status.complete:
        return engine.queries.files_page(after=path, limit=PAGE_ITEMS + 1).rows
    return [file for file in list_files(engine) if file.path > path]


def list_files(engine: Engine) -> list[IndexedFile]:
    """List every visible file by path: from the index, or from the disk while the index is incomplete."""
    if engine.queries.status.complete:
        return engine.queries.files()
    visible = engine.scope.visible
    return sorted(
        (
            IndexedFile(entry.path, entry.kind, entry.size, entry.mtime_ns, "")
            for entry in walk(engine.root)
            if isinstance(entry, FileEntry) and visible(entry.path)
        ),
        key=lambda file: file.path,
    )


def _make_info(vault: str, file: IndexedFile) -> ResourceInfo:
    name = file.path.rpartition("/")[2]
    changed = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return ResourceInfo(
        uri=make_uri(vault, file.path),
        name=file.path,
        title=name.removesuffix(".md"),
        mime_type=media_type(file.path),
        size=file.size,
        annotations=Annotations(last_modified=changed.strftime("%Y-%m-%dT%H:%M:%SZ")),
    )


def list_templates(vaults: Sequence[str]) -> Page[TemplateInfo]:
    """One template, with the vault's name in it unless there are several."""
    return Page(
        (
            TemplateInfo(
                uri_template=make_uri_template(vaults[0] if len(vaults) == 1 else ""),
                name="file",
                title="Note or file",
                description="A note, canvas, base or attachment by its path, or a note by its name",
            ),
        )
    )


def read_resource(uri: str, engines: VaultEngines) -> Sequence[ResourceContents]:
    """The file's content: text where it is text, else bytes. Raises NoteNotFound, or PermissionDenied for a
    file beyond RESOURCE_BYTES."""
    file = locate(uri, engines)
    size = file.engine.root.status(file.path).st_size
    if size > RESOURCE_BYTES:
        raise PermissionDenied(
            f"{file.path} has {size} bytes; the largest file given as a resource has {RESOURCE_BYTES}.",
            hint="Read a part of it with the tools." if file.path.endswith(".md") else "",
        )
    data = file.engine.read_bytes(file.path)
    kind = media_type(file.path)
    if kind.startswith(_TEXTUAL):
        return (TextResource(uri=uri, text=replace_surrogates(decode(data).text), mime_type=kind),)
    return (BlobResource(uri=uri, blob=data, mime_type=kind),)
