"""The values a note is parsed into: headings, tags, links, tasks, blocks, properties and problems.

Offsets count code points of the decoded text, without a leading BOM and with line ends as they are in the
file. `start` is the first character, `end` is one past the last. Lines are counted from 1, as editors show
them. Only `markdown.text` converts to a client's units (UTF-16, 0-based lines).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

LinkKind = Literal["wiki", "markdown", "property", "canvas"]
ProblemCode = Literal[
    "bad-yaml",
    "duplicate-key",
    "unclosed-properties",
    "invalid-utf8",
    "too-large",
    "too-deep",
    "duplicate-block-id",
    "bad-canvas",
    "bad-base",
    "placeholder",
    "unreadable",
]


class Heading(Struct, frozen=True, gc=False):
    """A heading. `text` is the raw text after the markers, without closing `#`s. `end` excludes the line end;
    the span of a setext heading includes the underline."""

    level: int
    text: str
    line: int
    start: int
    end: int


class Tag(Struct, frozen=True, gc=False):
    """A tag. `name` has no `#` and keeps the note's case. The span of a tag in the body includes the `#`; the
    span of a tag in the properties is the value as written, without quotes but with a `#` if there is one."""

    name: str
    line: int
    start: int
    end: int
    in_properties: bool = False


class Link(Struct, frozen=True, gc=False):
    """A reference to a file.

    `raw` is the whole source text of the link (with `!` for an embed); of a reference definition, `[label]:
    destination`, all up to the end of the destination. `target` is the path part that is
    resolved (Markdown destinations are decoded); `subpath` starts with `#` or is empty. `display` is None
    when the link has no display text. `kind` is "property" for any link in the properties and "canvas" for a
    file card or a group's background image; `markdown` tells the two styles apart in properties.
    `property_name` is the top-level key of a property link. The span covers exactly `raw`. For a link on a
    canvas, `card` is the node's id and the span is the JSON string of the path, or the whole JSON string of a
    text card for a link inside it.
    """

    raw: str
    target: str
    subpath: str
    display: str | None
    embed: bool
    kind: LinkKind
    line: int
    start: int
    end: int
    markdown: bool = False
    property_name: str = ""
    card: str = ""


class Task(Struct, frozen=True, gc=False):
    """A task. `status` is the character between the brackets; `text` is what follows them, trimmed. `fields`
    are those of the Tasks plugin (priority, created, start, scheduled, due, done, cancelled, recurrence, id,
    depends_on): dates as written, priorities by name (highest … lowest). `description` is the text without
    them. The span covers the status character. `depth` is the list nesting, from 0; `heading` is the index of
    the heading above, or -1."""

    line: int
    status: str
    text: str
    description: str
    start: int
    end: int
    depth: int = 0
    heading: int = -1
    fields: dict[str, str] = {}

    @property
    def done(self) -> bool:
        return self.status != " "


class Block(Struct, frozen=True, gc=False):
    """A block with an id. `line` is the line of `^id` and `id_start` the offset of `^`. The span covers the
    whole block that the id names, including the id: several lines for a list item, table, quote or
    callout."""

    id: str
    line: int
    start: int
    end: int
    id_start: int


class Callout(Struct, frozen=True, gc=False):
    """A callout. `fold` is "", "+" or "-"; `depth` is the number of quote marks before it, from 1."""

    type: str
    title: str
    fold: str
    line: int
    depth: int
    start: int
    end: int


class Footnote(Struct, frozen=True, gc=False):
    """A footnote. `id` is empty for an inline footnote `^[text]`; `text` is empty for a reference."""

    kind: Literal["reference", "definition", "inline"]
    id: str
    text: str
    line: int
    start: int
    end: int


class InlineField(Struct, frozen=True, gc=False):
    """A Dataview field. `key` is normalized, `name` is as written; the span covers the whole field."""

    key: str
    name: str
    value: str
    line: int
    start: int
    end: int


class Problem(Struct, frozen=True, gc=False):
    """Something wrong in a note that did not prevent reading the rest. The message is for people."""

    code: ProblemCode
    message: str
    line: int = 1
    start: int = 0
    end: int = 0


class Properties(Struct, frozen=True):
    """The block at the top of a note. `start` and `end` cover it from the first `---` to the line end after
    the closing one; `body_start` and `body_end` cover the YAML between them. `valid` is False when the block
    cannot be used (bad YAML, duplicate keys): then `values` is empty and nothing may rewrite it."""

    values: dict[str, Any]
    start: int
    end: int
    body_start: int
    body_end: int
    valid: bool = True


class Note(Struct, frozen=True):
    """A parsed note, each list in the order of the text. `tags` are the property tags and then the body tags,
    with duplicates. `headings` are only those outside of quotes and lists, as in the app's outline."""

    properties: Properties | None = None
    headings: tuple[Heading, ...] = ()
    tags: tuple[Tag, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    tasks: tuple[Task, ...] = ()
    blocks: tuple[Block, ...] = ()
    callouts: tuple[Callout, ...] = ()
    footnotes: tuple[Footnote, ...] = ()
    fields: tuple[InlineField, ...] = ()
    problems: tuple[Problem, ...] = ()
