"""What a link to a file should say (OBSIDIAN.md 4).

Owns the choice of the target text by the vault's settings, with the promise that the text chosen resolves to
the file it is for; when the preferred form does not, the next one that does is taken. Where in a note the
text goes is `links.retarget`'s duty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.links.resolve import FileTable, Resolved, file_name, folder_of, name_key, resolve
from vaultbridge.links.subpath import writable_subpath
from vaultbridge.links.written import encode_destination, fits_markdown, fits_wiki

LinkFormat: TypeAlias = Literal["shortest", "relative", "absolute"]


class LinkSettings(Struct, frozen=True):
    """`newLinkFormat` and `useMarkdownLinks` of the vault's `app.json`, with the app's defaults."""

    new_link_format: LinkFormat = "shortest"
    use_markdown_links: bool = False


def stem_of(path: str) -> str:
    """The file's name as people say it: without `.md`, other extensions kept."""
    name = file_name(path)
    return name[:-3] if name_key(name).endswith(".md") else name


def target_text(
    dest: str, source: str, table: FileTable, link_format: LinkFormat, *, markdown: bool = False
) -> str:
    """The path part, not yet encoded, by which a link in `source` names `dest`.

    `table` must hold the vault as it will be. Raises EditRefused when no text can: a name that holds `#`, or
    one without an extension."""
    fits = fits_markdown if markdown else fits_wiki
    for text in _forms(dest, source, table, link_format, markdown=markdown):
        if fits(text) and names_only(text, dest, source, table):
            return text
    raise EditRefused(
        f"No link can name {dest!r}.",
        hint="Links cannot hold '#', '|' or ']]', and a file without an extension cannot be linked to.",
        path=dest,
    )


def names_only(text: str, dest: str, source: str, table: FileTable) -> bool:
    """Whether a link with this path part means `dest` and nothing else."""
    found = resolve(text, source, table)
    return isinstance(found, Resolved) and found.path == dest and not found.others


def _forms(
    dest: str, source: str, table: FileTable, link_format: LinkFormat, *, markdown: bool
) -> Iterator[str]:
    """Ways to name `dest`, the preferred one first. A leading `./` keeps a relative link out of reach of a
    file of the same path at the root; a leading `/` saves a name that starts with a blank."""
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
    """From the folder of `source`: no `./` for the same folder or below, `../` upward."""
    here = folder_of(source).split("/") if folder_of(source) else []
    there = path.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and name_key(here[shared]) == name_key(there[shared]):
        shared += 1
    return "/".join([".."] * (len(here) - shared) + there[shared:])


def link_text(
    dest: str,
    source: str,
    table: FileTable,
    settings: LinkSettings,
    *,
    subpath: str = "",
    display: str | None = None,
    embed: bool = False,
    markdown: bool | None = None,
) -> str:
    """A new link to `dest` as the app would write it into `source`; `table` must hold both.

    `subpath` starts with `#`. `markdown` overrules the vault's setting. A wikilink that needs a path shows
    the file's name, a Markdown link always has a text; an embed gets neither."""
    as_markdown = settings.use_markdown_links if markdown is None else markdown
    sub = writable_subpath(subpath)
    to_itself = dest == source and sub != ""
    target = (
        "" if to_itself else target_text(dest, source, table, settings.new_link_format, markdown=as_markdown)
    )
    mark = "!" if embed else ""
    if as_markdown:
        shown = display if display is not None else ("" if embed else stem_of(dest))
        spelled = encode_destination(target) + encode_destination(sub)
        return f"{mark}[{_bracket_safe(shown)}]({spelled})"
    if display is None and not embed and "/" in target:
        display = stem_of(dest)
    bar = "" if display is None else f"|{display}"
    return f"{mark}[[{target}{sub}{bar}]]"


def _bracket_safe(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
