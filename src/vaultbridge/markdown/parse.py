"""Parses the text of a note into a `Note`: the entry point of this package.

Reads the properties, and joins them to the blocks and the results of the inline passes. It never raises and
does no I/O: whatever is wrong with a text is reported in `Note.problems`, and the rest is still read.

The properties are the text between `---` at offset 0 and the next line `---`. A block that cannot be read
(bad YAML, duplicate keys) is still the block: the body begins after it, and nothing may rewrite it.
`markdown.edits.properties` edits properties; `markdown.blocks.scan` reads the body.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from msgspec import Struct

from vaultbridge.limits import MIB, NOTE_PARSE_BYTES
from vaultbridge.markdown.blocks.scan import BlockScan
from vaultbridge.markdown.inline.links import read_property_link
from vaultbridge.markdown.inline.scan import InlineResult
from vaultbridge.markdown.model import Link, Note, Problem, Properties, Tag
from vaultbridge.markdown.text import replace_surrogates, split_with_starts
from vaultbridge.markdown.yaml import Leaf, Yaml, parse_yaml

_OPENING = re.compile(r"---(?:\r\n?|\n)")
_CLOSING = re.compile(r"(?:(?<=\n)|(?<=\r))---[ \t]*(?:\r\n?|\n|\Z)")
_KEY_FOLLOWS = re.compile(r"[ \t\r\n]*[^\s:#\[\]{}|>`*\-][^:\r\n]{0,80}:(?:[ \t\r\n]|\Z)")
_WHITESPACE = re.compile(r"\s")


def parse(text: str) -> Note:
    """Parse any text. Decode bytes with `text.decode` first: the text must have no BOM."""
    if _is_too_large(text):
        message = f"The note is larger than {NOTE_PARSE_BYTES // MIB} MiB, so its content is not read."
        return Note(problems=(Problem("too-large", message),))
    lines, starts = split_with_starts(text)
    front = read_frontmatter(text, starts)
    found = InlineResult(text, starts)
    scan = BlockScan(text, lines, starts, found)
    scan.run(front.end)
    blocks = scan.out
    return Note(
        properties=front.properties,
        headings=tuple(blocks.headings),
        tags=front.tags + tuple(found.tags),
        aliases=front.aliases,
        links=front.links + _sort_by_start(found.links),
        tasks=tuple(blocks.tasks),
        blocks=tuple(blocks.blocks),
        callouts=_sort_by_start(blocks.callouts),
        footnotes=_sort_by_start(found.footnotes),
        fields=_sort_by_start(found.fields),
        problems=front.problems + tuple(blocks.problems),
    )


def find_labels(text: str) -> set[str]:
    """Return the labels of all link reference definitions, whatever they lead to, as CommonMark compares
    them. A `Note` keeps only the definitions that lead to files."""
    if _is_too_large(text):
        return set()
    lines, starts = split_with_starts(text)
    found = InlineResult(text, starts)
    BlockScan(text, lines, starts, found).run(read_frontmatter(text, starts).end)
    return {*found.labels}


def _is_too_large(text: str) -> bool:
    if len(text) * 4 <= NOTE_PARSE_BYTES:
        return False
    if len(text) > NOTE_PARSE_BYTES or text.isascii():
        return len(text) > NOTE_PARSE_BYTES
    return len(text.encode("utf-8", "surrogatepass")) > NOTE_PARSE_BYTES


def _start(value: Any) -> int:
    start: int = value.start
    return start


def _sort_by_start(values: list[Any]) -> tuple[Any, ...]:
    """Sort by start. Values are found in the order in which they end, so a link around an image comes after
    the image."""
    if len(values) > 1:
        values.sort(key=_start)
    return tuple(values)


class Frontmatter(Struct, frozen=True):
    """The properties of a note and what they contain. `end` is where the body begins: 0 when there is no
    block."""

    properties: Properties | None = None
    tags: tuple[Tag, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()
    end: int = 0


_NONE = Frontmatter()


def read_frontmatter(text: str, starts: list[int]) -> Frontmatter:
    """Read the block of properties. Never raises: without a block the result is empty, with a problem if the
    note seems to begin one. `starts` are the text's line starts (`text.split_with_starts`)."""
    if not text.startswith("---"):
        return _NONE
    opening = _OPENING.match(text)
    if opening is None:
        return _NONE
    body_start = opening.end()
    closing = _CLOSING.search(text, body_start)
    if closing is None:
        if _KEY_FOLLOWS.match(text, body_start):
            message = (
                "Line 1: the properties begin here but no line --- closes them, so they are read as text."
            )
            return Frontmatter(problems=(Problem("unclosed-properties", message, 1, 0, 3),))
        return _NONE
    body = text[body_start : closing.start()]
    yaml = parse_yaml(replace_surrogates(body))
    return _interpret(yaml, text, starts, body_start, closing.start(), closing.end())


def _interpret(
    yaml: Yaml, text: str, starts: list[int], body_start: int, body_end: int, end: int
) -> Frontmatter:
    problem, values = yaml.problem, yaml.value
    if problem is not None:
        message = re.sub(r"\ALine \d+", f"Line {problem.line + 1}", problem.message)
        problem = Problem(
            problem.code, message, problem.line + 1, problem.start + body_start, problem.end + body_start
        )
    elif values is not None and type(values) is not dict:
        message = "Line 2: the properties are not lines of `key: value`."
        problem = Problem("bad-yaml", message, 2, body_start, body_end)
    if problem is not None:
        unusable = Properties({}, 0, end, body_start, body_end, valid=False)
        return Frontmatter(unusable, problems=(problem,), end=end)
    read: dict[str, Any] = values or {}
    tags, aliases, links = _read_leaves(yaml.leaves, read, text, starts, body_start)
    return Frontmatter(Properties(read, 0, end, body_start, body_end), tags, aliases, links, (), end)


def _read_leaves(
    leaves: tuple[Leaf, ...], values: dict[str, Any], text: str, starts: list[int], offset: int
) -> tuple[tuple[Tag, ...], tuple[str, ...], tuple[Link, ...]]:
    tags: list[Tag] = []
    aliases: list[str] = []
    links: list[Link] = []
    for leaf in leaves:
        value = leaf.value.strip()
        special = leaf.key.lower() if len(leaf.key) in (4, 7) and _is_direct(leaf, values) else ""
        if special == "aliases" and value:
            aliases.append(value)
        elif special == "tags":
            name = value[1:] if value.startswith("#") else value
            if name and not _WHITESPACE.search(name):
                start, end = _trim(text, leaf.start + offset, leaf.end + offset)
                tags.append(Tag(name, bisect_right(starts, start), start, end, in_properties=True))
        if value.endswith(("]]", ")")):
            start, end = _trim(text, leaf.start + offset, leaf.end + offset)
            link = read_property_link(value, text[start:end], leaf.key, bisect_right(starts, start), start)
            if link is not None:
                links.append(link)
    return tuple(tags), tuple(aliases), tuple(links)


def _is_direct(leaf: Leaf, values: dict[str, Any]) -> bool:
    """True for the key's own value or an item of its list, false for a value in a nested map."""
    return leaf.depth == 0 or (leaf.depth == 1 and type(values[leaf.key]) is list)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
