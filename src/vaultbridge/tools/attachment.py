"""`attachment` returns pictures and other files; `add_attachment` adds one to the vault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal
from urllib.parse import unquote, unquote_to_bytes

from msgspec import Meta

from vaultbridge.engine.files import choose_attachment_path, get_file_size, render_embed
from vaultbridge.engine.operations import AddFile
from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import MIB
from vaultbridge.markdown.text import decode, describe_encoding
from vaultbridge.tools.base.answer import (
    Answer,
    FilePart,
    ImagePart,
    answer_data,
    answer_text,
    cut_page,
    describe_bytes,
    describe_cut,
    describe_outcome,
    mark_continuation,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, MaxChars, Start
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.file_types import media_type

if TYPE_CHECKING:
    from vaultbridge.vault.paths import VaultPath

SHOWN_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The pictures that assistants can look at; others are returned as files."""


FILE_BYTES: Final = 7 * MIB
"""The largest file returned or accepted: as base64 it still fits into 10 MiB, the largest message that
transports accept. Assistants accept pictures of up to 5 MB."""


class AttachmentArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"action", "max_bytes", "max_chars"})

    name: Annotated[str, Meta(description="File name or path")]
    action: Annotated[Literal["get", "info"], Meta(description="Action")] = "get"
    max_bytes: Annotated[int, Meta(ge=1, le=FILE_BYTES, description="Largest to get")] = FILE_BYTES
    start: Start = 0
    max_chars: MaxChars = 24_000


class AddAttachmentArguments(Arguments, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="File name or path")]
    data: Annotated[str, Meta(description="Base64, or a data: URI")]
    note: Annotated[str, Meta(description="Note it belongs to")] = ""
    embed: Annotated[bool, Meta(description="Show it at the end of note")] = False


def run(context: VaultContext, arguments: AttachmentArguments) -> Answer:
    path = context.engine.find(arguments.name)
    size, kind = get_file_size(context.engine, path), media_type(path)
    if arguments.action == "info":
        notes = wait_for_index(context)
        links = len({link.source for link in context.engine.queries.backlinks(path)})
        return answer_text("\n".join((*notes, f"{path}  {kind}  {size} bytes  linked from {links} notes")))
    if kind.startswith("text/") or kind in _TEXTS:
        return _read_text(context, path, arguments)
    if size > arguments.max_bytes:
        raise InvalidArgument(
            f"{path} has {size} bytes; max_bytes is {arguments.max_bytes}.",
            argument="max_bytes",
            hint=f"At most {FILE_BYTES} bytes can be returned.",
        )
    data = context.engine.read_bytes(path)
    vault = context.engine.name
    return Answer(
        (ImagePart(data, kind, vault, path) if kind in SHOWN_IMAGES else FilePart(data, kind, vault, path),)
    )


_TEXTS: Final = frozenset({"application/json", "application/yaml", "image/svg+xml"})


def _read_text(context: VaultContext, path: VaultPath, arguments: AttachmentArguments) -> Answer:
    data = context.engine.read_bytes(path)
    page, next_start = cut_page(decode(data).text, start=arguments.start, max_chars=arguments.max_chars)
    text = f"[{path}{describe_cut(next_start)}{describe_bytes(describe_encoding(data))}]\n{page}"
    return answer_text(text if next_start is None else mark_continuation(text, next_start))


def run_add(context: VaultContext, arguments: AddAttachmentArguments) -> Answer:
    data = _decode_data(arguments.data)
    note = context.engine.find(arguments.note) if arguments.note else None
    path = choose_attachment_path(context.engine, arguments.name, note)
    if arguments.embed and note is None:
        raise InvalidArgument("note is missing.", argument="note", hint="Which note should show the file?")
    wanted = AddFile(path=path, data=data, embed_in=note if arguments.embed and note else "")
    outcome = context.engine.apply([wanted], actor=context.tool_context.actor)
    link = render_embed(context.engine, path, note)
    described = describe_outcome(outcome, path)
    return answer_data({"path": path, "link": link, "bytes": len(data), **described})


_DATA_URI: Final = re.compile(r"\s*data:[^,]{0,200},", re.IGNORECASE)
"""The beginning of a data URI (RFC 2397), in which browsers and models hand on pictures."""


def _decode_data(text: str) -> bytes:
    head = _DATA_URI.match(text)
    if head is None:
        return _decode_base64(text)
    content = text[head.end() :]
    if head.group().lower().endswith(";base64,"):
        return _decode_base64(unquote(content))
    data = unquote_to_bytes(content)
    if not data or len(data) > FILE_BYTES:
        raise InvalidArgument(
            f"data has {len(data)} bytes.", argument="data", hint=f"Give 1 to {FILE_BYTES}."
        )
    return data


def _decode_base64(text: str) -> bytes:
    import base64

    if not text:
        raise InvalidArgument("data is missing.", argument="data", hint="Give the file as base64.")
    if len(text) > FILE_BYTES * 4 // 3 + 4:
        raise InvalidArgument(f"data is more than {FILE_BYTES} bytes.", argument="data")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise InvalidArgument(
            "data is not valid base64.", argument="data", hint="Encode the file's bytes as base64 (RFC 4648)."
        ) from None


ATTACHMENT = Tool(
    name="attachment",
    description="Get a picture, image or file",
    arguments=AttachmentArguments,
    run=run,
    group="attachments",
    note="name",
)

ADD_ATTACHMENT = Tool(
    name="add_attachment",
    description="Add a picture, image or file to the vault",
    arguments=AddAttachmentArguments,
    run=run_add,
    group="attachments",
    effect="adds",
    note="name",
)
