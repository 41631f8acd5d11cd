"""Edits YAML files: sets or removes one server below the key, and leaves every other byte as it is."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from vaultbridge.assistants.config_file import check_servers, make_unsafe_edit
from vaultbridge.errors import EditRefused
from vaultbridge.markdown.yaml import parse_yaml

INDENT: Final = "  "
"""For the first server of a file."""

_NOT_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def list_servers(text: str, key: str) -> dict[str, Any]:
    """List the servers by name. Raises EditRefused when the text is not YAML."""
    servers = _parse(text).get(key)
    return servers if isinstance(servers, dict) else {}


def set_server(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return the text with this server first below the key, or in the place of its former entry. Raises
    EditRefused."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    head = _find_key(lines, key)
    if head is None:
        body = text if not text or text.endswith("\n") else text + line_end
        changed = f"{body}{key}:{line_end}{_render(name, entry, INDENT, line_end)}"
        return _check(text, changed, key, name, entry)
    children = _find_children(lines, head)
    indent = children[0][2] if children else INDENT
    written = _render(name, entry, indent, line_end)
    for start, end, _, child in children:
        if child == name:
            return _check(text, "".join([*lines[:start], written, *lines[end:]]), key, name, entry)
    before = lines[: head + 1]
    if not children:  # `extensions: {}` or nothing after the colon
        before[-1] = re.sub(rf"^({re.escape(key)}:)[ \t]*(?:\{{\}}|null|~)?", r"\1", before[-1])
    if not before[-1].endswith("\n"):
        before[-1] += line_end
    return _check(text, "".join([*before, written, *lines[head + 1 :]]), key, name, entry)


def remove_server(text: str, key: str, name: str) -> str:
    """Return the text without this server; unchanged if there is none. Raises EditRefused."""
    if name not in list_servers(text, key):
        return text
    lines = text.splitlines(keepends=True)
    head = _find_key(lines, key)
    children = _find_children(lines, head) if head is not None else []
    for start, end, _, child in children:
        if child == name:
            kept = [*lines[:start], *lines[end:]]
            if head is not None and len(children) == 1:
                kept[head] = re.sub(rf"^({re.escape(key)}:)", r"\1 {}", kept[head])
            return _check(text, "".join(kept), key, name, None)
    raise make_unsafe_edit()


def _parse(text: str) -> dict[str, Any]:
    parsed = parse_yaml(text)
    if parsed.problem is not None:
        raise EditRefused(f"The file is not YAML: {parsed.problem.message}", hint="Nothing was changed.")
    if parsed.value is None:
        return {}
    if not isinstance(parsed.value, dict):
        raise EditRefused("The file is not a list of settings.", hint="Nothing was changed.")
    return parsed.value


def _find_key(lines: list[str], key: str) -> int | None:
    wanted = re.compile(rf"(?:\ufeff)?{re.escape(key)}:(?:[ \t]|\r?$|\n)")
    return next((number for number, line in enumerate(lines) if wanted.match(line)), None)


def _find_children(lines: list[str], head: int) -> list[tuple[int, int, str, str]]:
    """The entries below a key: first line, line after the last, indentation and name."""
    children: list[tuple[int, int, str, str]] = []
    indent: str | None = None
    last = head + 1
    for number in range(head + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        blanks = line[: len(line) - len(line.lstrip(" "))]
        if not blanks or (indent is not None and len(blanks) < len(indent)):
            break
        indent = blanks if indent is None else indent
        if len(blanks) == len(indent):
            named = re.match(r"""\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)'|([^\s:#][^:]*?))\s*:""", line)
            if named is None:
                raise make_unsafe_edit()
            if children:
                children[-1] = (children[-1][0], last, *children[-1][2:])
            name = parse_yaml(named[1]).value if named[1] else named[2] or named[3] or ""
            children.append((number, number + 1, indent, name))
        last = number + 1
    if children:
        children[-1] = (children[-1][0], last, *children[-1][2:])
    return children


def _render(name: str, entry: dict[str, Any], indent: str, line_end: str) -> str:
    plain = name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) else _render_value(name)
    rows = [f"{indent}{plain}:"]
    rows += [f"{indent * 2}{key}: {_render_value(value)}" for key, value in entry.items()]
    return "".join(row + line_end for row in rows)


def _render_value(value: Any) -> str:
    """JSON's texts, numbers and lists are YAML too, so nothing in a path can be misread; a few characters
    that JSON allows must be escaped. Raises EditRefused."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:  # a date, which JSON does not have
        raise make_unsafe_edit() from None
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _check(text: str, changed: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    before = _parse(text)
    if not isinstance(before.get(key) or {}, dict):
        raise EditRefused(f"{key!r} is not a list of settings.", hint="Nothing was changed.")
    try:
        after = _parse(changed)
    except EditRefused:  # The file is YAML, but an entry cannot be added to it as it is written.
        raise make_unsafe_edit() from None
    check_servers(before, after, key, name, entry)
    return changed
