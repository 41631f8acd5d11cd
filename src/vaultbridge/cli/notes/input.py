"""What people type into a change: text from the command line or standard input, and NAME=VALUE."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, InvalidArgument
from vaultbridge.limits import NOTE_READ_BYTES

STDIN: Final = "-"

# A number must come back as it was written: 01234 is a postal code and 1e3 a name.
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,14}")
_DECIMAL_NUMBER: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")


def read_text(words: list[str], *, required: bool = True) -> str:
    """Join the words, or read standard input for `-`, and when nothing was given but something is piped in.
    Raises InvalidArgument when there is no text and it is `required`."""
    if words == [STDIN] or (required and not words and not sys.stdin.isatty()):
        data = sys.stdin.buffer.read(NOTE_READ_BYTES + 1)
        if len(data) > NOTE_READ_BYTES:
            raise InvalidArgument(
                f"Standard input has more than {NOTE_READ_BYTES:,} bytes, the most that a note may have.",
                argument="usage",
            )
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgument(
                f"Standard input is not UTF-8 text (byte {error.start}).", argument="usage"
            ) from None
    else:
        text = " ".join(words)
    if required and not text.strip():
        raise InvalidArgument(
            "There is no text to add.", argument="usage", hint="Give it, or - to read standard input."
        )
    return text


def parse_assignment(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a property: a number, true, false, null or a JSON list is that value, anything else is
    text. Raises InvalidArgument."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidArgument(
            f"{text!r} sets nothing.", argument="usage", hint="Write NAME=VALUE, such as status=active."
        )
    return name.strip(), _parse_value(value.strip())


def _parse_value(text: str) -> Any:
    if text[:1] not in ('"', "[") and text not in ("true", "false", "null"):
        if _WHOLE_NUMBER.fullmatch(text):
            return int(text)
        if _DECIMAL_NUMBER.fullmatch(text) and repr(float(text)) == text:
            return float(text)
        return text
    try:
        return msgspec.json.decode(text)
    except JSON_ERRORS:
        return text
