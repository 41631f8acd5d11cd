"""Long lists in pages, with cursors that survive changes of the list.

A cursor holds the key of the last item given, not its position: an item added or removed before it
neither repeats nor skips anything. It is opaque to the client, and it is not trusted: any text that is no
cursor is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from vaultbridge.dialects.mcp_values import Page
from vaultbridge.errors import InvalidArgument

PAGE_ITEMS: Final = 500
"""Items of one page: about 100 KB of resources, which a client reads in one go, and 20 pages for a large
vault."""

CURSOR_CHARS: Final = 8192
"""The longest cursor that is looked at: several times the longest path."""

_MARK: Final = b"k"

T = TypeVar("T")


def page(items: Sequence[T], cursor: str, key: Callable[[T], str], size: int = PAGE_ITEMS) -> Page[T]:
    """The page of `items` (sorted by `key`, keys unique) that follows `cursor`; "" begins. Raises
    InvalidArgument."""
    start = bisect_right(items, key_of(cursor), key=key) if cursor else 0
    end = start + size
    return page_from(items[start : end + 1], key, size)


def page_from(items: Sequence[T], key: Callable[[T], str], size: int = PAGE_ITEMS) -> Page[T]:
    """The page that `items` begin with, of which there is one more when there is another page."""
    found = tuple(items[:size])
    return Page(found, _cursor(key(found[-1])) if len(items) > size else "")


def _cursor(key: str) -> str:
    from base64 import urlsafe_b64encode

    # The mark keeps the cursor of an empty key from being empty, which would mean the beginning.
    return urlsafe_b64encode(_MARK + key.encode("utf-8", "surrogatepass")).decode("ascii")


def key_of(cursor: str) -> str:
    """The key of the last item before the page; "" for the first page. Raises InvalidArgument."""
    if not cursor:
        return ""
    from base64 import b64decode

    try:
        if len(cursor) > CURSOR_CHARS:
            raise ValueError("too long")
        raw = b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        if not raw.startswith(_MARK):
            raise ValueError("not marked")
        return raw.removeprefix(_MARK).decode("utf-8", "surrogatepass")
    except ValueError:
        raise InvalidArgument(
            "cursor is not one that this list gave.", argument="cursor", hint="Begin again without a cursor."
        ) from None
