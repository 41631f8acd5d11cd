"""Changes one written link so that it names another file, heading or block.

Knows where links can be: in a note's text, in its properties (inside YAML quotes), and on a canvas (a card's
file, or a link in a text card, inside JSON strings). Only the target, the subpath, or a display text that
repeats the old name changes; the rest of the link stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.links.syntax import encode_destination, parse_written_link
from vaultbridge.markdown.edits.change import Change
from vaultbridge.markdown.embedded import Embedded, decode_embedded
from vaultbridge.markdown.model import Link


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
        return _on_canvas(path, text, link, rewrite)
    if text[link.start : link.end] != link.raw:
        raise stale_link(path, link)
    if link.kind != "property":
        return _shift(rewrite_link(link, rewrite), link.start)
    layer = _yaml_layer(text, link)
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


def stale_link(path: str, link: Link) -> EditRefused:
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


def _yaml_layer(text: str, link: Link) -> Embedded | None:
    """Return the quoted scalar around a property's link. A link cannot be a plain scalar (`[` opens a list),
    so a link without a quote before it is in a block scalar, where nothing is escaped."""
    before = text[: link.start].rstrip(" \t")[-1:]
    if before == "'":
        return decode_embedded(text, link.start, link.end, "yaml-single")
    if before == '"':
        return decode_embedded(text, link.start, link.end, "yaml-double")
    return None


def _on_canvas(path: str, text: str, link: Link, rewrite: Rewrite) -> tuple[Change, ...]:
    token = text[link.start : link.end]
    if len(token) < 2 or token[0] != '"' or token[-1] != '"':
        raise stale_link(path, link)
    layer = decode_embedded(text, link.start + 1, link.end - 1, "json")
    if is_file_card(link):
        changes = list(_subpath_of_card(path, text, link, rewrite.subpath))
        if rewrite.card_path is not None and rewrite.card_path != layer.text:
            changes += layer.to_outer((Change(0, len(layer.text), rewrite.card_path),))
        return tuple(changes)
    # Imported here: only text cards need the whole parser.
    from vaultbridge.markdown.parse import parse

    inner = [found for found in parse(layer.text).links if found.raw == link.raw]
    if not inner:
        raise stale_link(path, link)
    changes = []
    for found in inner:
        changes += layer.to_outer(retarget(path, layer.text, found, rewrite))
    return tuple(changes)


def _subpath_of_card(path: str, text: str, link: Link, subpath: str | None) -> Iterator[Change]:
    """Change the subpath of a card, which is in a separate string."""
    if subpath is None:
        return
    from vaultbridge.canvas.parse import FileCard, read_canvas

    for card in read_canvas(text).cards:
        if isinstance(card, FileCard) and card.id == link.card:
            token = card.json.get("subpath")
            if token is None or card.subpath != link.subpath:
                raise stale_link(path, link)
            layer = decode_embedded(text, token.start + 1, token.end - 1, "json")
            yield from layer.to_outer((Change(0, len(layer.text), subpath),))
            return
    raise stale_link(path, link)
