"""Edits TOML files: sets or removes one server's table, and leaves every other byte as it is."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

from vaultbridge.assistants.config_file import check_servers, make_unsafe_edit
from vaultbridge.errors import EditRefused

_HEADER: Final = re.compile(r"[ \t]*\[(\[)?[ \t]*(?P<name>[^\]\n]+?)[ \t]*\]\]?[ \t]*(?:#[^\n]*)?\r?$")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def list_servers(text: str, key: str) -> dict[str, Any]:
    """List the servers by name. Raises EditRefused when the text is not TOML."""
    servers = _parse(text).get(key)
    return servers if isinstance(servers, dict) else {}


def set_server(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return the text with this server's table at the end, or in the place of its former one. Raises
    EditRefused."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    rows = [
        f"[{key}.{_render_name(name)}]",
        *(f"{member} = {_render_value(value)}" for member, value in entry.items()),
    ]
    table = line_end.join(rows) + line_end
    spans = _find_tables(text, key, name)
    if spans:
        rest = _cut(text, spans[1:])
        start, end = spans[0]
        gap = line_end if end < len(text) else ""
        changed = rest[:start] + table + gap + rest[end:]
    else:
        body = text if not text or text.endswith("\n") else text + line_end
        changed = body + (line_end if body.strip() else "") + table
    return _check(text, changed, key, name, entry)


def remove_server(text: str, key: str, name: str) -> str:
    """Return the text without this server; unchanged if there is none. Raises EditRefused."""
    if name not in list_servers(text, key):
        return text
    return _check(text, _cut(text, _find_tables(text, key, name)), key, name, None)


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise EditRefused(f"The file is not TOML: {error}.", hint="Nothing was changed.") from None


def _find_tables(text: str, key: str, name: str) -> list[tuple[int, int]]:
    """The spans of the server's tables, `[key.name]` and those below it, each from its header to the blank
    lines and comments before the next header."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    at = end = 0
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line.rstrip("\n"))
        if header is not None:
            if start is not None:
                spans.append((start, end))
            start = at if _split_name(header["name"])[:2] == [key, name] else None
        at += len(line)
        if start is not None and line.strip() and not line.lstrip().startswith("#"):
            end = at
    if start is not None:
        spans.append((start, end))
    return spans


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        blank = re.compile(r"(?:[ \t]*\r?\n)*").match(text, end)
        rest = text[blank.end() if blank is not None else end :]
        # At the end of the file, the blank line before the table is removed too.
        text = (text[:start] if rest else re.sub(r"(\n)\r?\n$", r"\1", text[:start])) + rest
    return text


def _split_name(text: str) -> list[str]:
    """Split a table's dotted name, whose parts may be quoted; no parts if it is none, as in a longer text."""
    try:
        below = tomllib.loads(f"[{text}]")
    except tomllib.TOMLDecodeError:
        return []
    parts: list[str] = []
    while below:
        part, below = next(iter(below.items()))
        parts.append(part)
    return parts


def _render_name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _render_value(name)


def _render_value(value: Any) -> str:
    """Write a value: JSON and TOML write all but tables and dates alike. Raises EditRefused."""
    if isinstance(value, dict):
        members = (f"{_render_name(key)} = {_render_value(inner)}" for key, inner in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_value, value))}]"
    try:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    except TypeError:
        raise make_unsafe_edit() from None


def _check(text: str, changed: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    before = _parse(text)
    if not isinstance(before.get(key, {}), dict):
        raise EditRefused(f"{key!r} is not a table.", hint="Nothing was changed.")
    try:
        after = _parse(changed)
    except EditRefused:  # The file is TOML, but a table cannot be added to it as it is written.
        raise make_unsafe_edit() from None
    check_servers(before, after, key, name, entry)
    return changed
