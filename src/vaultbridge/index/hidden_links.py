"""Groups the links of visible files to hidden ones by what they mean to a caller who may not see the latter.

Such a link leads to no file, unless another file has that name. Both are remembered until the links, or a
file with one of these names, change: grouping 11,000 links takes 40 ms.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from msgspec import Struct

from vaultbridge.index.store.file_cache import LinksToHidden, VisibleFiles, agree, find_differing
from vaultbridge.links.resolve import FileTable, candidate_keys, file_name, name_key
from vaultbridge.vault.paths import Visible

Link = tuple[int, int, str]
"""Source, number and target."""


class NamedLink(Struct, frozen=True):
    """A link to a hidden file whose target may mean another one. `to` is the hidden file's id, and `found`
    the file that the link leads to if the hidden one does not exist."""

    source: int
    seq: int
    target: str
    to: int
    found: str | None


class HiddenTargets(Struct, frozen=True):
    """The links of visible files to hidden ones. Those that are not `named` are grouped by the key of their
    target, and `counts` has the number of links and files of each group. `names` are the keys of all names
    that decide which links are named."""

    named: list[NamedLink]
    groups: dict[str, list[Link]]
    counts: dict[str, tuple[int, int]]
    names: set[str]

    def hold_for(self, before: Mapping[int, str], after: Mapping[int, str]) -> bool:
        """Whether other files make no difference to the same links. A source may have the id of an earlier
        one with the same links and another path."""
        removed, added = find_differing(before, after)
        names = {name_key(file_name(path)) for path in (*removed, *added)}
        return self.names.isdisjoint(names) and all(
            before[link.source] == after.get(link.source) for link in self.named
        )


def _group_links(
    links: LinksToHidden,
    has_namesake: Callable[[tuple[str, ...], int], bool],
    find: Callable[[str, int], str | None],
) -> HiddenTargets:
    """`has_namesake` says whether another file than the hidden one has one of these name keys, and `find`
    which file a target then means in the file with this id."""
    named: list[NamedLink] = []
    groups: dict[str, list[Link]] = {}
    names: set[str] = set()
    keys: dict[tuple[str, int], str | None] = {}
    for source, found in links.items():
        for seq, target, to in found:
            if (target, to) not in keys:
                candidates = candidate_keys(target)
                names.update(candidates)
                keys[target, to] = None if has_namesake(candidates, to) else name_key(target)
            if (key := keys[target, to]) is None:
                named.append(NamedLink(source, seq, target, to, find(target, source)))
            else:
                groups.setdefault(key, []).append((source, seq, target))
    counts = {key: count_links(group) for key, group in groups.items()}
    return HiddenTargets(named, groups, counts, names)


def count_links(links: list[Link]) -> tuple[int, int]:
    return len(links), len({source for source, _, _ in links})


class _GroupedLinks(Struct, frozen=True):
    """The links to hidden files, and what they were grouped by."""

    links: LinksToHidden
    paths: Mapping[int, str]
    exists: Visible | None
    targets: HiddenTargets


def group_links_to_hidden(
    db: sqlite3.Connection,
    files: VisibleFiles,
    paths: Mapping[int, str],
    table: FileTable,
    exists: Visible | None,
    find: Callable[[str, int], str | None],
) -> HiddenTargets:
    """Groups the links, again only if that may change something. `exists` says which files exist for the
    caller, None that all do, and `find` which of them a target means in the file with this id."""
    links = files.links_to_hidden(db)
    known: _GroupedLinks | None = files.of_hidden.get("targets")
    if (
        known is not None
        and known.links is links
        and agree(exists, known.exists)
        and (known.paths is paths or known.targets.hold_for(known.paths, paths))
    ):
        targets = known.targets
    else:

        def has_namesake(keys: tuple[str, ...], to: int) -> bool:
            # Asking whether the hidden file itself exists takes longer than everything else.
            named = (path for key in keys for path in table.paths_named(key))
            return exists is not None and any(path != paths[to] and exists(path) for path in named)

        targets = _group_links(links, has_namesake, find)
    files.of_hidden["targets"] = _GroupedLinks(links, paths, exists, targets)
    return targets
