"""What reading JSON can raise, in one place: whoever reads a file or an argument expects all of it."""

from __future__ import annotations

from typing import Final

import msgspec

JSON_FAULTS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Of `msgspec.json.decode`: not JSON or not of the wanted type, not UTF-8, nested deeper than Python goes."""


def json_fault(error: BaseException) -> str:
    """The fault in words, for a person."""
    if isinstance(error, RecursionError):
        return "its lists and objects are nested too deeply"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return str(error)
