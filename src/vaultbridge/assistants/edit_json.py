"""Edits JSON files, with comments and trailing commas where an editor allows them: sets or removes one
server, and leaves every other byte as it is."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from vaultbridge.assistants.config_file import check_servers, make_unsafe_edit
from vaultbridge.errors import EditRefused
from vaultbridge.json_text import BadJson, JsonObject, JsonValue, scan_json, to_plain_value
from vaultbridge.markdown.edits.change import Change, apply_changes

INDENT: Final = "  "
"""For a new file, and for one without any indentation."""

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT: Final = re.compile(rf"{_STRING}|(//[^\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(rf"{_STRING}|(,)(?=\s*[}}\]])")
_REST_OF_LINE: Final = re.compile(r"[ \t]*(,?)[ \t]*(?=\r?\n|$)")


Key = str | tuple[str, ...]
"""The member that contains the servers, or the names that lead to it; only the first may be missing."""


def list_servers(text: str, key: Key) -> dict[str, Any]:
    """List the servers by name. Raises EditRefused when the text is not such a file."""
    object_ = _find(_scan(text), key)
    servers = to_plain_value(object_) if isinstance(object_, JsonObject) else {}
    return servers if isinstance(servers, dict) else {}


def set_server(text: str, key: Key, name: str, entry: dict[str, Any]) -> str:
    """Return the text with this server added, or replaced if the name exists. Raises EditRefused."""
    text = text if text.strip() else "{}\n"
    whole = _scan(text)
    listed = _find(whole, key)
    if listed is None and isinstance(key, str):
        changes = _add_member(text, whole, key, {name: entry})
    elif not isinstance(listed, JsonObject):
        raise EditRefused(f"{key!r} is not an object.", hint="Nothing was changed.")
    elif (old := listed.get(name)) is not None:
        rendered = _render(text, listed, entry, _line_indent(text, old.start))
        changes = (Change(old.start, old.end, rendered),)
    else:
        changes = _add_member(text, listed, name, entry)
    return _check(text, apply_changes(text, changes), key, name, entry)


def remove_server(text: str, key: Key, name: str) -> str:
    """Return the text without this server; unchanged if there is none. Raises EditRefused."""
    changed = text
    while changed.strip():
        listed = _find(_scan(changed), key)
        members = listed.members if isinstance(listed, JsonObject) else ()
        # A name may occur twice, and each needs its own comma.
        member = next((candidate for candidate in members if candidate.key == name), None)
        if member is None or not isinstance(listed, JsonObject):
            break
        changed = apply_changes(changed, _delete_member(changed, listed, member.key_start, member.value.end))
    return _check(text, changed, key, name, None)


def _delete_member(text: str, listed: JsonObject, start: int, end: int) -> list[Change]:
    """Delete a member with one comma, and its line if nothing else is on it. Comments stay."""
    bare = _blank(_COMMENT, text)
    after = re.compile(r"\s*,").match(bare, end)
    before = bare.rfind(",", listed.start, start)
    others = text[listed.start + 1 : start] + text[after.end() if after else end : listed.end - 1]
    if not others.strip():
        return [Change(listed.start + 1, listed.end - 1, "")]
    commas: list[Change] = []
    if after is not None and not text[end : after.end() - 1].strip():
        end = after.end()
    elif after is not None:
        commas = [Change(after.end() - 1, after.end(), "")]
    elif before >= 0 and not bare[before + 1 : start].strip():
        commas = [Change(before, before + 1, "")]
    line_start = text.rfind("\n", 0, start) + 1
    tail = re.compile(r"[ \t]*\r?\n").match(text, end)
    if not text[line_start:start].strip(" \t") and tail is not None and line_start > listed.start:
        start, end = line_start, tail.end()
    elif after is None and commas and not text[before + 1 : start].strip(" \t"):
        return [Change(before, end, "")]
    elif text[end : end + 1] == " ":
        end += 1
    return [*commas, Change(start, end, "")]


def _find(whole: JsonObject, key: Key) -> JsonValue | None:
    value: JsonValue | None = whole
    for name in (key,) if isinstance(key, str) else key:
        value = value.get(name) if isinstance(value, JsonObject) else None
    return value


def _scan(text: str) -> JsonObject:
    """Read the text as an object whose positions are those of the text."""
    plain = _blank(_TRAILING_COMMA, _blank(_COMMENT, text))
    body = plain.removeprefix("\ufeff")
    try:
        whole = scan_json(plain if body is plain else f" {body}")
    except BadJson as error:
        line = text.count("\n", 0, error.offset) + 1
        raise EditRefused(
            f"The file is not JSON: {error.reason} (line {line}).", hint="Nothing was changed."
        ) from None
    if not isinstance(whole, JsonObject):
        raise EditRefused("The file is not a JSON object.", hint="Nothing was changed.")
    return whole


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace what the pattern's group finds by as many spaces; line ends stay."""

    def spaces(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else re.sub(r"[^\r\n]", " ", match[0])

    return pattern.sub(spaces, text)


def _add_member(text: str, into: JsonObject, key: str, value: dict[str, Any]) -> tuple[Change, ...]:
    """Add a member, written like the others: on its own line, or after them."""
    named = json.dumps(key, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not into.members:
        outer = _line_indent(text, into.start)
        inner = outer + _find_indent_unit(text)
        written = f"{line_end}{inner}{named}: {_render(text, into, value, inner)}"
        if (inside := text[into.start + 1 : into.end - 1]).strip():
            # Only comments: the member goes after them.
            at = into.start + 1 + len(inside.rstrip())
            return (Change(at, at, written),)
        return (Change(into.start + 1, into.end - 1, f"{written}{line_end}{outer}"),)
    last = into.members[-1]
    end = last.value.end
    indent = _indent_before(text, last.key_start)
    if indent is None:
        return (Change(end, end, f", {named}: {json.dumps(value, ensure_ascii=False)}"),)
    written = f"{line_end}{indent}{named}: {_render(text, into, value, indent)}"
    # What follows on the last member's line, a comma or a comment, stays on it.
    line = _REST_OF_LINE.match(_blank(_COMMENT, text), end)
    if line is None:
        return (Change(end, end, f",{written}"),)
    if line[1]:
        return (Change(line.end(), line.end(), f"{written},"),)
    if line.end() == end:
        return (Change(end, end, f",{written}"),)
    return Change(end, end, ","), Change(line.end(), line.end(), written)


def _render(text: str, beside: JsonObject, value: dict[str, Any], indent: str) -> str:
    if "\n" not in text[beside.start : beside.end] and beside.members:
        return json.dumps(value, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_find_indent_unit(text)).replace(
        "\n", line_end + indent
    )


def _find_indent_unit(text: str) -> str:
    """Find the indentation of one level: that of the first indented line."""
    for line in text.split("\n"):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if blanks and line.strip() and not line.lstrip().startswith("*"):
            return blanks
    return INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_before(text: str, at: int) -> str | None:
    """The blanks between the start of the line and `at`; None when there is something else too."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip(" \t") and "\n" in text[:at] else None


def _check(text: str, changed: str, key: Key, name: str, entry: dict[str, Any] | None) -> str:
    """Check the result, and that no comment is lost."""
    if not text.strip() and entry is None:
        return text
    before, after = to_plain_value(_scan(text)), to_plain_value(_scan(changed))
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    check_servers(before, after, key, name, entry)
    replaced = entry is not None and name in list_servers(text, key)
    if not replaced and _list_comments(text) != _list_comments(changed):
        raise make_unsafe_edit()
    return changed


def _list_comments(text: str) -> list[str]:
    return [comment for comment in _COMMENT.findall(text) if comment]
