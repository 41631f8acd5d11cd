"""What a note says, as values.

Offsets count code points of the decoded text, a leading BOM left out and line ends as they stand in
the file. `start` is the first character, `end` one past the last. Lines are counted from 1, as editors
show them. Conversion to a client's units (UTF-16, 0-based lines) happens in `markdown.positions` alone.
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
    """`text` is the raw text after the marks, closing `#`s dropped. `end` excludes the line end;
    for a setext heading the span covers the underline too."""

    level: int
    text: str
    line: int
    start: int
    end: int


class Tag(Struct, frozen=True, gc=False):
    """`name` without `#`, in the note's own case. For a body tag the span covers the `#`; for a
    property tag it covers the value as written, without quotes (a `#` written there included)."""

    name: str
    line: int
    start: int
    end: int
    in_properties: bool = False


class Link(Struct, frozen=True, gc=False):
    """A reference to a file.

    `raw` is the whole source text of the link (with `!` for an embed). `target` is the path part as it
    resolves (Markdown destinations decoded), `subpath` starts with `#` or is empty. `display` is None when
    the link has none. `kind` is "property" for any link in the properties and "canvas" for a file card
    and the picture behind a group; `markdown` tells the written style apart there. `property_name` is the
    top-level key, for property links. The span covers `raw` exactly. For a canvas card, `card` is the node's
    id and the span covers the card's JSON string of the path (for links inside a text card: the span covers
    that card's whole JSON string).
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
    """`status` is the one character between the brackets; `text` what follows them, trimmed.
    `fields` are the Tasks plugin's (priority, created, start, scheduled, due, done, cancelled, recurrence,
    id, depends_on), dates as written and priorities by name (highest … lowest); `description` is the text
    without them. The span covers the status character. `depth` counts the list nesting from 0; `heading` is
    the index of the heading above, or -1."""

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
    """A block with an id. `line` is where `^id` stands; the span covers the whole block that the id
    names, the id included (several lines for a list item, table, quote or callout). `id_start` is where
    `^` stands."""

    id: str
    line: int
    start: int
    end: int
    id_start: int


class Callout(Struct, frozen=True, gc=False):
    """`fold` is "", "+" or "-"; `depth` counts the quote marks before it, from 1."""

    type: str
    title: str
    fold: str
    line: int
    depth: int
    start: int
    end: int


class Footnote(Struct, frozen=True, gc=False):
    """`id` is empty for an inline footnote `^[text]`; `text` is empty for a reference."""

    kind: Literal["reference", "definition", "inline"]
    id: str
    text: str
    line: int
    start: int
    end: int


class InlineField(Struct, frozen=True, gc=False):
    """A Dataview field. `key` is normalised, `name` as written; the span covers the whole field."""

    key: str
    name: str
    value: str
    line: int
    start: int
    end: int


class Problem(Struct, frozen=True, gc=False):
    """Something wrong in a note that did not stop us from reading the rest. The text is for people."""

    code: ProblemCode
    message: str
    line: int = 1
    start: int = 0
    end: int = 0


class Properties(Struct, frozen=True):
    """The block at the top. `start`/`end` cover it from the first `---` to the line end after the
    closing one; `body_start`/`body_end` cover the YAML between. `valid` is False when the block is there
    but unusable (bad YAML, duplicate keys): then `values` is empty and nobody may rewrite it."""

    values: dict[str, Any]
    start: int
    end: int
    body_start: int
    body_end: int
    valid: bool = True


class Note(Struct, frozen=True):
    """All of it, each list in the order of the text. `tags` are property tags first, then body tags,
    duplicates kept. `headings` are top level only, as the outline pane shows them."""

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
