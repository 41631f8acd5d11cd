"""Refusals that do not tell of hidden files.

A rename rewrites links in notes that its caller may not see, because it would break them otherwise. When one
of those stands in the way, the caller learns that the change cannot be made, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from vaultbridge.errors import EditRefused, VaultbridgeError


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
