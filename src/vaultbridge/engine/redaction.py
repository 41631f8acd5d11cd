"""What a caller may not learn: errors that name hidden files, and links that lead to them.

A scope is about content: a link that leads to a hidden file is as hidden as that file. A move rewrites links
in notes that its caller may not see, because it would break them otherwise. When one of those prevents the
change, the caller learns that it cannot be made, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from vaultbridge.errors import EditRefused, VaultbridgeError
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.beneath import real_path
from vaultbridge.vault.paths import Root, VaultPath


@contextmanager
def redact(hidden: Collection[str]) -> Iterator[None]:
    """Raise an error from within that names one of the hidden files, or a folder around one, as one that
    names none. An error that does not say which files it names counts as one that does: whoever raises it
    says so in `paths`, or it is not shown where something is hidden."""
    try:
        yield
    except VaultbridgeError as error:
        if hidden and (error.paths is None or any(_names(path, hidden) for path in error.paths)):
            raise EditRefused(
                "This cannot be done from here: it reaches beyond the folders that may be used.", paths=()
            ) from None
        raise


def _names(path: str, hidden: Collection[str]) -> bool:
    key = name_key(path)
    return any(name_key(other) == key or name_key(other).startswith(f"{key}/") for other in hidden)


def hidden_links(root: Root, paths: Iterable[str], visible: Callable[[str], bool]) -> frozenset[str]:
    """Those of the vault's files that are links to a hidden one. Costs a look at each file."""
    prefix = f"{root.folder}{os.sep}"
    found: set[str] = set()
    for path in paths:
        place = prefix + path
        if not os.path.lexists(place):
            # Stored in another spelling.
            place = str(root.place(VaultPath(path)))
        if os.path.islink(place):  # noqa: PTH114 - once a file of the vault: a Path costs ten times as much
            real = root.path_of(real_path(place))
            if real is not None and not visible(real):
                found.add(path)
    return frozenset(found)
