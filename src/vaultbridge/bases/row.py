"""One file of the vault as a base sees it: the value the engine fills, one per file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field


def _no_backlinks() -> tuple[str, ...]:
    return ()


class FileRow(Struct, frozen=True):
    """`path`, `name` (with its extension), `basename`, `folder` ("" for the root), `ext` without a dot.

    `tags` without `#`, frontmatter first; `links` and `embeds` are vault paths where they resolve and the
    link's own target where they do not; `backlinks` gives the paths of the notes that link here, when asked
    for. `properties` are the frontmatter's values as YAML gave them. Times are the wall clock's: an aware one
    is taken into the zone of the `now` that the view is run with.
    """

    path: str
    name: str
    basename: str
    folder: str
    ext: str
    size: int
    ctime: datetime
    mtime: datetime
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    embeds: tuple[str, ...] = ()
    backlinks: Callable[[], tuple[str, ...]] = _no_backlinks
    properties: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
