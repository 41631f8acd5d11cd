"""Turns the bytes of one file into rows for the index, without touching the index. No I/O, no clock.

This runs in the child processes of a first build, and in the process itself for a few files. Both must give
the same rows, or an updated index would not equal a rebuilt one.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from vaultbridge.canvas.parse import parse_canvas
from vaultbridge.index.fold import WORD, separate_words, split_words
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.links.resolve import candidate_keys, name_key
from vaultbridge.markdown.model import (
    Block,
    Callout,
    Footnote,
    Heading,
    InlineField,
    Link,
    LinkKind,
    Note,
    Problem,
    Properties,
    Tag,
    Task,
)
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import DATE, DATETIME, decode, replace_surrogates

EMBED: Final = 1
AMBIGUOUS: Final = 8
MARKDOWN: Final = 16
_KIND_SHIFT: Final = 1
_KINDS: Final[tuple[LinkKind, ...]] = ("wiki", "markdown", "property", "canvas")

PROPERTY_JSON_CHARS: Final = 64 * 1024
"""Longer property values are null to queries (the note itself still has them)."""

PROPERTY_DEPTH: Final = 64
"""Deeper values are left out when a property is made storable, because that works by recursion."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_decode_sections = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_encode_json = msgspec.json.Encoder(order="deterministic").encode


LinkRow = tuple[int, int, str, str, str, str | None, str | None]
"""Line, flags, text, target, subpath, and the candidate keys of a link."""


class Rows(Struct, array_like=True):
    """The rows of one file, ready to insert. `body` is `make_body(text)`, or None when it is not made yet;
    `text` is None when the content is not stored (too large, not downloaded)."""

    hash: str
    text: str | None
    body: str | None
    labels: str
    note: bytes
    links: list[LinkRow]
    tags: list[tuple[str, str, int]]
    aliases: list[tuple[str, str]]
    properties: list[tuple[str, int, str, str, str]]
    tasks: list[tuple[int, int, str, str, str, str, str | None]]
    problems: list[tuple[int, int, str, str]]


def encode_note(note: Note) -> bytes:
    """Encodes a note as MessagePack without field names, which takes less than half the space."""
    properties = None if note.properties is None else astuple(note.properties)
    lists = (note.headings, note.tags, note.links, note.tasks, note.blocks, note.callouts, note.footnotes)
    return _encode(
        (
            properties,
            note.aliases,
            *([astuple(item) for item in items] for items in lists),
            [astuple(item) for item in note.fields],
            [astuple(item) for item in note.problems],
        )
    )


def decode_note(blob: bytes) -> Note:
    properties, aliases, *lists = _decode(blob)
    return Note(
        Properties(*properties) if properties is not None else None,
        tuple(Heading(*item) for item in lists[0]),
        tuple(Tag(*item) for item in lists[1]),
        tuple(aliases),
        tuple(Link(*item) for item in lists[2]),
        tuple(Task(*item) for item in lists[3]),
        tuple(Block(*item) for item in lists[4]),
        tuple(Callout(*item) for item in lists[5]),
        tuple(Footnote(*item) for item in lists[6]),
        tuple(InlineField(*item) for item in lists[7]),
        tuple(Problem(*item) for item in lists[8]),
    )


def decode_links(blob: bytes) -> tuple[Link, ...]:
    """Decodes only the links of an encoded note."""
    return tuple(Link(*item) for item in _decode(_decode_sections(blob)[_SECTIONS["links"]]))


_SECTIONS: Final = {
    "properties": 0,
    "aliases": 1,
    "headings": 2,
    "tags": 3,
    "links": 4,
    "tasks": 5,
    "problems": 10,
}
"""The positions, in an encoded note, of the parts that have rows of their own or words that rank higher."""

LABEL_SECTIONS: Final = frozenset({"headings", "tags", "aliases"})
"""The parts whose words `join_labels` joins."""


def find_changed_sections(before: bytes, after: bytes) -> frozenset[str]:
    """Returns the parts in which two encoded notes differ. The encoded forms are compared, because to Python
    the values 1 and True are equal."""
    old, new = _decode_sections(before), _decode_sections(after)
    return frozenset(name for name, at in _SECTIONS.items() if bytes(old[at]) != bytes(new[at]))


def encode_link_flags(link: Link) -> int:
    return (
        (EMBED if link.embed else 0)
        | _KINDS.index(link.kind) << _KIND_SHIFT
        | (MARKDOWN if link.markdown else 0)
    )


def decode_link_kind(flags: int) -> LinkKind:
    return _KINDS[flags >> _KIND_SHIFT & 3]


def parse_rows(kind: str, data: bytes, hash_: str) -> Rows:
    """Parses a note or canvas into rows."""
    if len(data) > NOTE_PARSE_BYTES:
        message = f"The file has {len(data)} bytes; files above {NOTE_PARSE_BYTES} are not searched."
        return build_rows(Note(problems=(Problem("too-large", message),)), None, hash_)
    decoded = decode(data)
    text = replace_surrogates(decoded.text)
    if kind == "canvas":
        note = parse_canvas(text)
        return build_rows(_with_problems(note, decoded.problems), _decode_escapes(text), hash_)
    note = parse(text)
    return build_rows(_with_problems(note, decoded.problems), text, hash_)


def _with_problems(note: Note, problems: tuple[Problem, ...]) -> Note:
    return msgspec.structs.replace(note, problems=(*problems, *note.problems)) if problems else note


def _decode_escapes(text: str) -> str:
    """Returns a canvas in the form that is searched: the file line by line, with the escapes in its strings
    decoded so that words are words. A line end within a card becomes a blank, so line numbers stay right."""

    def decode_escape(match: re.Match[str]) -> str:
        if match[1]:
            codes = match[0].replace("\\u", " ").split()
            units = b"".join(int(code, 16).to_bytes(2, "big") for code in codes)
            return (
                replace_surrogates(units.decode("utf-16-be", "surrogatepass"))
                .replace("\n", " ")
                .replace("\r", " ")
            )
        return match[0][1] if match[0][1] in '"\\/' else " "

    return _JSON_ESCAPE.sub(decode_escape, text)


_JSON_ESCAPE: Final = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\[^u\r\n]")


def build_rows(note: Note, text: str | None, hash_: str) -> Rows:
    try:
        return _build_rows(note, text, hash_)
    except (OverflowError, UnicodeEncodeError, TypeError, RecursionError):
        # YAML can express what MessagePack and SQLite cannot store: huge numbers, escaped lone surrogates.
        return _build_rows(_make_note_storable(note), text, hash_)


def _make_note_storable(note: Note) -> Note:
    properties = note.properties
    if properties is not None:
        values = {
            replace_surrogates(str(name)): _make_storable(value) for name, value in properties.values.items()
        }
        properties = msgspec.structs.replace(properties, values=values)
    aliases = tuple(map(replace_surrogates, note.aliases))
    tags = tuple(msgspec.structs.replace(tag, name=replace_surrogates(tag.name)) for tag in note.tags)
    links = tuple(
        msgspec.structs.replace(
            link,
            raw=replace_surrogates(link.raw),
            target=replace_surrogates(link.target),
            subpath=replace_surrogates(link.subpath),
            display=None if link.display is None else replace_surrogates(link.display),
            property_name=replace_surrogates(link.property_name),
        )
        for link in note.links
    )
    return msgspec.structs.replace(note, properties=properties, aliases=aliases, tags=tags, links=links)


def _make_storable(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        # Obsidian's numbers are JavaScript's.
        return float(value) if value.bit_length() < 1024 else None
    if depth >= PROPERTY_DEPTH:
        return None
    if isinstance(value, list):
        return [_make_storable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            replace_surrogates(str(name)): _make_storable(item, depth + 1) for name, item in value.items()
        }
    return value if isinstance(value, bool | int | float | None) else str(value)


def _build_rows(note: Note, text: str | None, hash_: str) -> Rows:
    return Rows(
        hash=hash_,
        text=text,
        body=None,
        labels=join_labels(note),
        note=encode_note(note),
        links=[_link_row(link) for link in note.links],
        tags=_tag_rows(note),
        aliases=list({name_key(alias): alias for alias in reversed(note.aliases)}.items()),
        properties=_property_rows(note),
        tasks=_task_rows(note),
        problems=[
            (seq, problem.line, problem.code, replace_surrogates(problem.message))
            for seq, problem in enumerate(note.problems)
        ],
    )


def join_labels(note: Note) -> str:
    """Returns the words that rank higher than those in the body: headings, tags and aliases."""
    return separate_words(
        "\n".join([*(h.text for h in note.headings), *(tag.name for tag in note.tags), *note.aliases]),
    )


def make_body(text: str) -> str:
    """Returns a text as the full-text table is given it. The table itself ignores the case of ASCII."""
    return text if text.isascii() else separate_words(text)


def collect_terms(rows: Rows, path: str) -> set[str]:
    """Returns the words that these rows put into the full-text table."""
    found = set(WORD.findall(separate_words(path)))
    found.update(WORD.findall(rows.labels))
    if rows.text is not None:
        found.update(WORD.findall((make_body(rows.text) if rows.body is None else rows.body).lower()))
    return found


class TextChange(Struct, frozen=True):
    """What a text was and what it is now: each its `start`, then what differs, then its `end`. They meet at
    ASCII blanks, because no word, and nothing that becomes one, extends across these."""

    start: str
    before: str
    after: str
    end: str

    def bodies(self) -> tuple[str, str]:
        """Returns `make_body` of both texts, and separates what they share only once."""
        start, end = make_body(self.start), make_body(self.end)
        return start + make_body(self.before) + end, start + make_body(self.after) + end

    def new_terms(self) -> set[str]:
        """Returns the words that the text may not have had before."""
        return set(split_words(self.after))


def find_text_change(before: str, after: str) -> TextChange:
    first = count_common(before, after)
    last = count_common_end(before, after, min(len(before), len(after)) - first)
    first = max(after.rfind(" ", 0, first), after.rfind("\n", 0, first)) + 1
    blanks = [at for at in (after.find(mark, len(after) - last) for mark in " \n") if at >= 0]
    last = len(after) - min(blanks, default=len(after))
    return TextChange(
        after[:first],
        before[first : len(before) - last],
        after[first : len(after) - last],
        after[len(after) - last :],
    )


def count_common(text: str, other: str) -> int:
    """Returns how many characters two texts have in common at their start."""
    low, high = 0, min(len(text), len(other))
    if text[:high] == other[:high]:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def count_common_end(text: str, other: str, most: int) -> int:
    """Returns how many characters two texts have in common at their end, up to `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if text[len(text) - middle : len(text) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _link_row(link: Link) -> LinkRow:
    flags = encode_link_flags(link)
    return link.line, flags, link.raw, link.target, link.subpath, *make_link_keys(link.target)


def make_link_keys(target: str) -> tuple[str | None, str | None]:
    """Returns `links.key` and `links.exact_key` for a target."""
    keys = candidate_keys(target)
    return keys[-1] if keys else None, keys[0] if len(keys) > 1 else None


def _tag_rows(note: Note) -> list[tuple[str, str, int]]:
    """Returns one row per tag, under the spelling that comes first in the note."""
    counts: dict[str, list[Any]] = {}
    for tag in note.tags:
        seen = counts.setdefault(name_key(tag.name), [tag.name, 0])
        seen[1] += 1
    return [(key, name, count) for key, (name, count) in counts.items()]


def infer_property_type(value: object) -> str:
    """Returns the name of Obsidian's property type; `null` and `object` are our additions."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "checkbox"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list):
        return "list"
    if isinstance(value, dict):
        return "object"
    text = str(value)
    if DATE.fullmatch(text):
        return "date"
    return "datetime" if DATETIME.fullmatch(text) else "text"


def _property_rows(note: Note) -> list[tuple[str, int, str, str, str]]:
    if note.properties is None:
        return []
    rows: list[tuple[str, int, str, str, str]] = []
    for seq, (name, value) in enumerate(note.properties.values.items()):
        encoded = _encode_json(value).decode()
        if len(encoded) > PROPERTY_JSON_CHARS:
            encoded = "null"
        rows.append((name_key(str(name)), seq, str(name), infer_property_type(value), encoded))
    return rows


def _task_rows(note: Note) -> list[tuple[int, int, str, str, str, str, str | None]]:
    return [
        (
            seq,
            task.line,
            task.status,
            task.text,
            task.description,
            _encode_json(task.fields).decode() if task.fields else "",
            task.fields.get("due"),
        )
        for seq, task in enumerate(note.tasks)
    ]
