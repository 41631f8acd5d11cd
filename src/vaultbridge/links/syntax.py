"""Writes links, finds the parts of a written link, and changes one so that it names another file, heading or
block (docs/obsidian.md 4).

It chooses the target text by the vault's settings. The chosen text is guaranteed to resolve to its file: if
the preferred form does not, the next one that does is used. A written link is split only into offsets, so
that a rewrite replaces the target, the subpath, or a display text that repeats the old name, and leaves every
other character alone.

Links can be in a note's text, in its properties (inside YAML quotes), and on a canvas (a card's file, or a
link in a text card, inside JSON strings).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.canvas.parse import FileCard, read_canvas
from vaultbridge.errors import EditRefused, EngineFailure
from vaultbridge.links.resolve import FileTable, Resolved, file_name, folder_of, name_key, resolve
from vaultbridge.markdown.edits.change import Change
from vaultbridge.markdown.embedded import Embedded, decode_embedded
from vaultbridge.markdown.inline.links import internal_target, read_destination
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.parse import parse

_WIKI_BREAKS: Final = re.compile(r"[#|\r\n\x00]|\[\[|\]\]|\]$|^\s|\s$")
_ENCODED_PLAIN: Final = re.compile(r"[\s\x00-\x1f\x7f\\<>%`|]")
_ENCODED_ANGLE: Final = re.compile(r"[\r\n\t\x00-\x1f\x7f\\<>%`|]")
_OPENED: Final = re.compile(r"\(\s*<?")
_DEFINED: Final = re.compile(
    r"\[((?:[^\[\]\\]|\\.)+)\]:[ \t]*+(?:[\r\n][\s>]*+)?(?:<((?:[^<>\r\n\\]|\\.)*)>|([^\s<]\S*))\Z", re.DOTALL
)


class WrittenLink(Struct, frozen=True):
    """A link's raw text with the offsets of its parts. The subpath follows the target directly and includes
    its `#`; both may be empty. `display` is the span of the display text (for an image with a size: of the
    text and the size), None if there is none."""

    raw: str
    markdown: bool
    embed: bool
    target_start: int
    target_end: int
    subpath_end: int
    display: tuple[int, int] | None
    angle: bool = False

    @property
    def target(self) -> str:
        """As written: a Markdown destination still encoded."""
        return self.raw[self.target_start : self.target_end]

    @property
    def subpath(self) -> str:
        return self.raw[self.target_end : self.subpath_end]


def parse_written_link(raw: str, *, target: str | None = None) -> WrittenLink:
    """Find the parts of a link's raw text. `target`, if known, is the path part that the parser found: it
    decides whether a backslash before `|` escapes it (in a table) or belongs to the name.

    Raises EngineFailure if `raw` is not a link: callers pass what the parser found to be one."""
    embed = raw.startswith("!")
    opening = 1 if embed else 0
    if raw.startswith("[[", opening) and raw.endswith("]]") and len(raw) >= opening + 4:
        return _parse_wiki(raw, opening + 2, embed=embed, target=target)
    if raw.startswith("[", opening):
        found = _parse_markdown(raw, opening + 1, embed=embed) or _parse_definition(raw)
        if found is not None:
            return found
    raise EngineFailure(f"Not the text of a link: {raw[:80]!r}.")


def _parse_wiki(raw: str, start: int, *, embed: bool, target: str | None) -> WrittenLink:
    end = len(raw) - 2
    bar = raw.find("|", start + 1, end)
    inner_end = end if bar < 0 else bar
    escaped = bar > 0 and raw[bar - 1] == "\\" and not (target or "").endswith("\\")
    if escaped:
        inner_end -= 1
    hash_at = raw.find("#", start, inner_end)
    target_end = inner_end if hash_at < 0 else hash_at
    written = raw[start:target_end]
    lead = len(written) - len(written.lstrip())
    if hash_at < 0:
        # Blanks around the name are not part of it; before a `#` they belong to the name, because the subpath
        # follows it directly.
        target_end = start + len(written.rstrip()) if written.strip() else target_end
        inner_end = max(target_end, start + lead)
    return WrittenLink(
        raw=raw,
        markdown=False,
        embed=embed,
        target_start=min(start + lead, target_end),
        target_end=target_end,
        subpath_end=max(inner_end, target_end) if hash_at >= 0 else target_end,
        display=None if bar < 0 else (bar + 1, end),
    )


def _parse_markdown(raw: str, text_start: int, *, embed: bool) -> WrittenLink | None:
    """Use the first `](` whose destination and title end exactly where the raw text ends. That cannot be so
    for brackets in the link's text, in code or in a nested image: more text follows them."""
    at = raw.find("](", text_start)
    while at >= 0:
        found = _find_destination(raw, at + 1)
        if found is not None:
            start, end, angle = found
            hash_at = raw.find("#", start, end)
            display = (text_start, at) if at > text_start else None
            return WrittenLink(
                raw=raw,
                markdown=True,
                embed=embed,
                target_start=start,
                target_end=end if hash_at < 0 else hash_at,
                subpath_end=end,
                display=display,
                angle=angle,
            )
        at = raw.find("](", at + 1)
    return None


def _parse_definition(raw: str) -> WrittenLink | None:
    """Find the destination of `[label]: destination`, which ends the raw text. It may be on the next line,
    after the mark of a quote."""
    match = _DEFINED.match(raw)
    if match is None:
        return None
    angle = match[2] is not None
    start, end = match.span(2 if angle else 3)
    hash_at = raw.find("#", start, end)
    return WrittenLink(
        raw=raw,
        markdown=True,
        embed=False,
        target_start=start,
        target_end=end if hash_at < 0 else hash_at,
        subpath_end=end,
        display=None,
        angle=angle,
    )


def _find_destination(raw: str, parenthesis: int) -> tuple[int, int, bool] | None:
    read = read_destination(raw, parenthesis)
    if read is None or read[1] != len(raw):
        return None
    opened = _OPENED.match(raw, parenthesis)
    start = opened.end() if opened else parenthesis + 1
    return start, start + len(read[0]), raw[start - 1] == "<"


def fits_wiki(target: str) -> bool:
    """Return whether a wikilink can contain this path part. Wikilinks have no escapes, so some names cannot
    be written."""
    return bool(target) and not _WIKI_BREAKS.search(target)


def fits_markdown(target: str) -> bool:
    """Return whether a Markdown destination can contain this path part, so that it is read back as the same
    path: the app decodes no escape of `#`, and a colon makes a destination external unless it starts with a
    dot segment."""
    return bool(target) and internal_target(encode_destination(target)) == (target, "")


def encode_destination(target: str, *, angle: bool = False) -> str:
    """Encode a path as a Markdown destination: what would end or change the destination is percent-encoded,
    everything else stays readable."""
    text = (_ENCODED_ANGLE if angle else _ENCODED_PLAIN).sub(_percent_encode, target)
    if not angle and not _is_balanced(text):
        text = text.replace("(", "%28").replace(")", "%29")
    return text


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _is_balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


LinkFormat: TypeAlias = Literal["shortest", "relative", "absolute"]


class LinkSettings(Struct, frozen=True):
    """`newLinkFormat` and `useMarkdownLinks` of the vault's `app.json`, with the app's defaults."""

    new_link_format: LinkFormat = "shortest"
    use_markdown_links: bool = False


def note_name(path: str) -> str:
    """Return the file's name as people say it: without `.md`, but with any other extension."""
    name = file_name(path)
    return name[:-3] if name_key(name).endswith(".md") else name


def choose_target(
    dest: str, source: str, table: FileTable, link_format: LinkFormat, *, markdown: bool = False
) -> str:
    """Choose the path part, not yet encoded, with which a link in `source` names `dest`.

    `table` must be the vault as it will be. Raises EditRefused if no text works: for a name with `#`, or one
    without an extension."""
    fits = fits_markdown if markdown else fits_wiki
    for text in _list_forms(dest, source, table, link_format, markdown=markdown):
        if fits(text) and resolves_only_to(text, dest, source, table):
            return text
    raise EditRefused(
        f"No link can name {dest!r}.",
        hint="Links cannot contain '#', '|' or ']]', and a file without an extension cannot be linked to.",
        path=dest,
    )


def resolves_only_to(text: str, dest: str, source: str, table: FileTable) -> bool:
    """Return whether a link with this path part resolves to `dest` and nothing else."""
    found = resolve(text, source, table)
    return isinstance(found, Resolved) and found.path == dest and not found.others


def _list_forms(
    dest: str, source: str, table: FileTable, link_format: LinkFormat, *, markdown: bool
) -> Iterator[str]:
    """Yield the ways to name `dest`, the preferred one first. A leading `./` protects a relative link from a
    file with the same path at the root; a leading `/` allows a name that starts with a blank."""
    full = dest if markdown else _without_md(dest)
    name = file_name(full)
    relative = relative_path(full, source)
    dotted = relative if relative.startswith("../") else f"./{relative}"
    if link_format == "relative":
        yield relative
        yield dotted
    elif link_format == "shortest" and len(table.paths_named(name_key(file_name(dest)))) == 1:
        yield name
    yield full
    yield dest
    yield f"/{dest}"
    yield relative_path(dest, source) if dotted.startswith("../") else f"./{relative_path(dest, source)}"
    yield name


def _without_md(path: str) -> str:
    return path[:-3] if name_key(path).endswith(".md") and len(file_name(path)) > 3 else path


def relative_path(path: str, source: str) -> str:
    """Return the path relative to the folder of `source`: `../` upwards, no `./` for the same folder or
    below."""
    here = folder_of(source).split("/") if folder_of(source) else []
    there = path.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and name_key(here[shared]) == name_key(there[shared]):
        shared += 1
    return "/".join([".."] * (len(here) - shared) + there[shared:])


def write_link(
    dest: str,
    source: str,
    table: FileTable,
    settings: LinkSettings,
    *,
    display: str | None = None,
    embed: bool = False,
    markdown: bool | None = None,
) -> str:
    """Write a new link to `dest` as the app would write it in `source`; both must be in `table`.

    `markdown` overrides the vault's setting. A wikilink that needs a path displays
    the file's name, and a Markdown link always has a text; an embed has neither."""
    as_markdown = settings.use_markdown_links if markdown is None else markdown
    target = choose_target(dest, source, table, settings.new_link_format, markdown=as_markdown)
    mark = "!" if embed else ""
    if as_markdown:
        shown = display if display is not None else ("" if embed else note_name(dest))
        return f"{mark}[{_escape_brackets(shown)}]({encode_destination(target)})"
    if display is None and not embed and "/" in target:
        display = note_name(dest)
    bar = "" if display is None else f"|{display}"
    return f"{mark}[[{target}{bar}]]"


def _escape_brackets(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


class Rewrite(Struct, frozen=True):
    """What a link should say. `target` and `subpath` are decoded; None leaves that part alone. `shown` are
    pairs of a display text that repeats the old name, in Markdown links, and the new one. `card_path` is the
    new file of a canvas card (cards have full paths, whatever the vault's link format)."""

    target: str | None = None
    subpath: str | None = None
    shown: Sequence[tuple[str, str]] = ()
    card_path: str | None = None


def is_file_card(link: Link) -> bool:
    """Return whether the link is the file of a canvas card rather than a link written in a text."""
    return link.kind == "canvas"


def retarget(path: str, text: str, link: Link, rewrite: Rewrite) -> tuple[Change, ...]:
    """Return the changes for one link of `text`, the text of the note or canvas `path`. A link in a text card
    represents all links of that card with the same raw text: they name the same file and share one span.

    Raises EditRefused if the text is not the one in which the link was found."""
    if link.card:
        return _retarget_on_canvas(path, text, link, rewrite)
    if text[link.start : link.end] != link.raw:
        raise stale_link_error(path, link)
    if link.kind != "property":
        return _shift(rewrite_link(link, rewrite), link.start)
    layer = _find_yaml_layer(text, link)
    if layer is None:
        return _shift(rewrite_link(link, rewrite), link.start)
    decoded = Link(
        raw=layer.text,
        target=link.target,
        subpath=link.subpath,
        display=link.display,
        embed=link.embed,
        kind=link.kind,
        line=link.line,
        start=link.start,
        end=link.end,
        markdown=link.markdown,
    )
    return layer.to_outer(rewrite_link(decoded, rewrite))


def rewrite_link(link: Link, rewrite: Rewrite) -> tuple[Change, ...]:
    """Return the changes within the link's raw text."""
    written = parse_written_link(link.raw, target=link.target)
    changes: list[Change] = []
    if written.markdown and written.display and rewrite.shown:
        changes += _change_display(link.raw, written.display, rewrite.shown)
    if rewrite.target is not None:
        spelled = (
            encode_destination(rewrite.target, angle=written.angle) if written.markdown else rewrite.target
        )
        if spelled != written.target:
            changes.append(Change(written.target_start, written.target_end, spelled))
    if rewrite.subpath is not None:
        spelled = (
            encode_destination(rewrite.subpath, angle=written.angle) if written.markdown else rewrite.subpath
        )
        if spelled != written.subpath:
            changes.append(Change(written.target_end, written.subpath_end, spelled))
    return tuple(changes)


def stale_link_error(path: str, link: Link) -> EditRefused:
    return EditRefused(
        f"{path} no longer has the link {link.raw[:80]!r} at line {link.line}.",
        hint="The file has changed since it was indexed; repeat the edit.",
        path=path,
    )


def _change_display(raw: str, display: tuple[int, int], shown: Sequence[tuple[str, str]]) -> list[Change]:
    """Replace the display text (without an image's size) if it is one of the old names."""
    start, end = display
    text = raw[start:end]
    name, bar, size = text.rpartition("|")
    if bar and size.replace("x", "", 1).isdigit():
        text = name
    for old, new in shown:
        if text == old and "]" not in new and "[" not in new:
            return [Change(start, start + len(text), new)]
    return []


def _shift(changes: Sequence[Change], by: int) -> tuple[Change, ...]:
    return tuple(Change(c.start + by, c.end + by, c.text) for c in changes)


def _find_yaml_layer(text: str, link: Link) -> Embedded | None:
    """Return the quoted scalar around a property's link. A link cannot be a plain scalar (`[` opens a list),
    so a link without a quote before it is in a block scalar, where nothing is escaped."""
    before = text[: link.start].rstrip(" \t")[-1:]
    if before == "'":
        return decode_embedded(text, link.start, link.end, "yaml-single")
    if before == '"':
        return decode_embedded(text, link.start, link.end, "yaml-double")
    return None


def _retarget_on_canvas(path: str, text: str, link: Link, rewrite: Rewrite) -> tuple[Change, ...]:
    token = text[link.start : link.end]
    if len(token) < 2 or token[0] != '"' or token[-1] != '"':
        raise stale_link_error(path, link)
    layer = decode_embedded(text, link.start + 1, link.end - 1, "json")
    if is_file_card(link):
        changes = list(_change_card_subpath(path, text, link, rewrite.subpath))
        if rewrite.card_path is not None and rewrite.card_path != layer.text:
            changes += layer.to_outer((Change(0, len(layer.text), rewrite.card_path),))
        return tuple(changes)
    inner = [inner_link for inner_link in parse(layer.text).links if inner_link.raw == link.raw]
    if not inner:
        raise stale_link_error(path, link)
    changes = []
    for inner_link in inner:
        changes += layer.to_outer(retarget(path, layer.text, inner_link, rewrite))
    return tuple(changes)


def _change_card_subpath(path: str, text: str, link: Link, subpath: str | None) -> Iterator[Change]:
    """Change the subpath of a card, which is in a separate string."""
    if subpath is None:
        return
    for card in read_canvas(text).cards:
        if isinstance(card, FileCard) and card.id == link.card:
            token = card.json.get("subpath")
            if token is None or card.subpath != link.subpath:
                raise stale_link_error(path, link)
            layer = decode_embedded(text, token.start + 1, token.end - 1, "json")
            yield from layer.to_outer((Change(0, len(layer.text), subpath),))
            return
    raise stale_link_error(path, link)
