"""Hidden files behind links, and refusals that do not tell of hidden files.

A scope is about content: a link that leads to a hidden file is as hidden as that file. A rename rewrites
links in notes that its caller may not see, because it would break them otherwise. When one of those stands in
the way, the caller learns that the change cannot be made, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from vaultbridge.errors import EditRefused, VaultbridgeError
from vaultbridge.vault.beneath import real_path
from vaultbridge.vault.paths import Root, VaultPath


@contextmanager
def unnamed(hidden: Collection[str]) -> Iterator[None]:
    """An error from within that names one of these paths is raised as one that names none."""
    try:
        yield
    except VaultbridgeError as error:
        told = f"{error} {error.details}"
        if any(path in told for path in hidden):
            raise EditRefused(
                "This cannot be done from here: it reaches beyond the folders that may be used."
            ) from None
        raise


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
