"""`read_note`: reads one note or several, whole or in part, within the size that the caller accepts.

Each note begins with a line that gives its path, the hash that an edit may pass as `expected`, and the lines
that follow; a page that continues one gives only the lines. A note that is cut ends with the place to
continue from. A note is parsed only if the requested part needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from vaultbridge.engine.operations.base import BlockName, SectionName
from vaultbridge.engine.reading import Part, exact_part, parse_file, parse_lines
from vaultbridge.errors import InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.markdown.text import decode
from vaultbridge.tools.base.answer import (
    Answer,
    answer_text,
    describe_bytes,
    describe_cut,
    mark_continuation,
    show_hash,
)
from vaultbridge.tools.base.arguments import is_link, parse_reference
from vaultbridge.tools.base.found import find_all
from vaultbridge.tools.base.schema import Arguments, MaxChars, NoteName, Start
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.paths import TEXT_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultbridge.engine.reading import Reading
    from vaultbridge.vault.paths import VaultPath

NOTES_AT_ONCE: Final = 50
"""The most notes of one call: at the default size, each still gets a few lines."""

LEAST_CHARS: Final = 200
"""When several notes are read, one that would get less room than this is left for the next call."""


RAW_CHARS: Final = 1_000_000
"""The longest raw answer: as JSON it stays below 10 MiB, the largest message that transports accept, even if
every character is escaped or takes four bytes."""


class ReadNoteArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"frontmatter", "max_chars"})

    name: NoteName = ""
    path: Annotated[str, Meta(description="Same as name")] = ""
    names: Annotated[tuple[str, ...], Meta(max_length=NOTES_AT_ONCE, description="Several notes")] = ()
    query: Annotated[str, Meta(description="Or a search")] = ""
    heading: SectionName = ""
    block: BlockName = ""
    lines: Annotated[str, Meta(description="10-20, or 10- to the end")] = ""
    outline: Annotated[bool, Meta(description="Headings only, with lines")] = False
    frontmatter: Annotated[bool, Meta(description="With the properties")] = True
    raw: Annotated[bool, Meta(description="Exact text only")] = False
    start: Start = 0
    max_chars: MaxChars = 24_000


def run(context: VaultContext, arguments: ReadNoteArguments) -> Answer:
    names = [*([arguments.name] if arguments.name else []), *arguments.names]
    if arguments.query.strip():
        if names:
            raise InvalidArgument("Give either name or query.", argument="query", hint="What should be read?")
        names = _find_names(context, arguments.query)
    if not names:
        raise InvalidArgument(
            "name is missing.", argument="name", hint="Give the note's name or path, or several as names."
        )
    if arguments.raw:
        return answer_text(_read_raw(context, names, arguments))
    if len(names) == 1:
        return answer_text(read_text(context, names[0], _parse_part(arguments)))
    if arguments.start:
        raise InvalidArgument(
            "start continues within one note, but several are named.",
            argument="start",
            hint="Name the note that was cut.",
        )
    return answer_text(read_several(context, names, _parse_part(arguments)))


def _find_names(context: VaultContext, query: str) -> list[str]:
    return [*find_all(context, query, most=NOTES_AT_ONCE, done="read")]


def _read_raw(context: VaultContext, names: list[str], arguments: ReadNoteArguments) -> str:
    """The exact text of the file, for a program that saves it. It is never shortened: what was cut off would
    be lost when the program saves the rest."""
    for argument in ("start", "outline"):
        if getattr(arguments, argument):
            raise InvalidArgument(
                f"raw and {argument} cannot be combined.", argument=argument, hint="Give lines."
            )
    if len(names) > 1:
        raise InvalidArgument("raw reads one note, but several are named.", argument="names")
    path, part = _resolve(context, names[0], _parse_part(arguments))
    _require_text(path)
    decoded = decode(context.engine.read_bytes(path))
    if decoded.problems:
        raise InvalidArgument(
            f"{path} is not UTF-8, so raw cannot return it exactly: {decoded.problems[0].message}",
            argument="raw",
            hint="Read it without raw.",
        )
    text = exact_part(decoded.text, parse_file(path, decoded.text), part)
    if decoded.bom and text == decoded.text:
        text = f"\ufeff{text}"
    if len(text) <= RAW_CHARS:
        return text
    first = part.lines[0] if part.lines else 1
    fitting = first + text.count("\n", 0, RAW_CHARS) - 1
    ask = (
        f"Ask for lines={first}-{fitting}, then for the rest." if fitting >= first else "One line is longer."
    )
    raise InvalidArgument(
        f"The text has {len(text)} characters; raw returns at most {RAW_CHARS} at once.",
        argument="raw",
        hint=ask,
    )


def read_several(context: VaultContext, names: Sequence[str], part: Part) -> str:
    """Each note gets its share of the budget and what shorter notes leave over. An error about one note takes
    its place in the answer, because the others are still wanted."""
    pieces: list[str] = []
    room = part.max_chars
    for number, name in enumerate(names):
        if room < LEAST_CHARS and number:
            pieces.insert(0, f"[{number} of {len(names)} notes | no room for the rest]")
            pieces.append(f"(no room for: {', '.join(names[number:])}; read them in another call)")
            break
        try:
            share = max(1, room // (len(names) - number))
            piece = read_text(context, name, replace(part, max_chars=share))
        except VaultbridgeError as error:
            piece = f"[{name}: {error.code}] {error}"
        pieces.append(piece)
        room -= len(piece)
    return "\n\n".join(pieces)


def read_text(context: VaultContext, name: str, part: Part) -> str:
    path, part = _resolve(context, name, part)
    _require_text(path)
    return _render(context.engine.read(path, part), continued=part.start > 0)


def _resolve(context: VaultContext, name: str, part: Part) -> tuple[VaultPath, Part]:
    """The file, and the part that the name points to unless the call asks for another."""
    named = parse_reference(name)
    if named.whole or not named.name:
        return context.engine.find(name), part
    if not is_link(name):
        try:
            return context.engine.find(name), part
        except NoteNotFound:
            pass
    path = context.engine.find(named.name)
    if part.heading or part.block or part.lines or part.outline:
        return path, part
    return path, replace(part, heading=named.heading, block=named.block)


def _render(reading: Reading, *, continued: bool) -> str:
    """The page that a caller continues with need not say again which note it is."""
    excerpt = reading.excerpt
    last_line = min(excerpt.last_line, reading.lines)
    if excerpt.first_line == 1 and last_line == reading.lines and excerpt.next_start is None:
        lines = "1 line" if last_line == 1 else f"{last_line} lines"
    else:
        lines = f"lines {excerpt.first_line}-{last_line} of {reading.lines}"
    head = lines if continued else f"{reading.path} | hash {show_hash(reading.hash)} | {lines}"
    text = f"[{head}{describe_cut(excerpt.next_start)}{describe_bytes(reading.problem)}]\n{excerpt.text}"
    return text if excerpt.next_start is None else mark_continuation(text, excerpt.next_start)


def _require_text(path: str) -> None:
    if not path.lower().endswith((*TEXT_SUFFIXES, ".txt", ".json", ".csv", ".css", ".js")):
        raise InvalidArgument(
            f"{path} is not text.",
            argument="name",
            hint="Use the attachment tool for pictures and other files.",
        )


def _parse_part(arguments: ReadNoteArguments) -> Part:
    return Part(
        heading=arguments.heading,
        block=arguments.block.removeprefix("^"),
        lines=parse_lines(arguments.lines) if arguments.lines else None,
        outline=arguments.outline,
        properties=arguments.frontmatter,
        start=arguments.start,
        max_chars=arguments.max_chars,
    )


READ_NOTE = Tool(
    name="read_note",
    description=(
        "Read notes: whole, or a section, block, lines or outline. The first line gives path, hash, lines"
    ),
    arguments=ReadNoteArguments,
    run=run,
    group="notes",
    core=True,
    note="name",
)
