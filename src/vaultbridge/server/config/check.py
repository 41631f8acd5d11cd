"""Turns the bytes of a configuration file into a checked `Config`, or an error that names the key and the
line."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Final, get_args

import msgspec

from vaultbridge.embeddings.settings import explain_bad_url
from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import VAULTS
from vaultbridge.protocols.http.guard import explain_bad_host, explain_bad_origin
from vaultbridge.server.config.model import Config, EmbeddingsConfig, ServerConfig, resolve_path
from vaultbridge.tools.base.arguments import ERROR_PLACE, WRONG_TYPE
from vaultbridge.vault.scope import Scope

_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_BOUND: Final = re.compile(r"Expected `(?P<kind>int|float)` (?P<sign>[<>]=) (?P<bound>\S+)")
_EMPTY: Final = "Expected `str` of length >= 1"
_WORDS: Final = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "left out",
}
_HEADER: Final = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?")
_KEY: Final = re.compile(
    r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=(.*)"""
)
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'[^']*'")


def check_config(data: bytes, file_name: str) -> Config:
    """Read and check a configuration file. Raises InvalidArgument, which names the key and the line."""
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _fault(file_name, line, "", "is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise _explain_syntax(file_name, str(error), text) from None
    except (RecursionError, ValueError):
        # The parser's own limits; it reports them without a line.
        raise InvalidArgument(
            f"{file_name} cannot be read: its brackets are nested too deeply, or a number is too long.",
            argument="config",
        ) from None
    lines = find_key_lines(text)
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise _explain(file_name, str(error), lines) from None
    _check_meaning(config, file_name, lines)
    return config


def find_key_lines(text: str) -> dict[str, int]:
    """Find the line of each key and table, by its dotted name; items of `[[vaults]]` are `vaults[0]`, …

    The text must be valid TOML. A value that spans lines is skipped, and keys inside an inline table are not
    listed (their table is).
    """
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    until = ""
    depth = 0
    # TOML has one line separator; `splitlines` has ten.
    for number, line in enumerate(text.split("\n"), start=1):
        if until:
            _, ended, rest = line.partition(until)
            if not ended:
                continue
            until, line = "", rest
            depth, until = _track_nesting(line, depth)
            continue
        if depth:
            depth, until = _track_nesting(line, depth)
            continue
        if header := _HEADER.fullmatch(line):
            table = _normalize_key(header[2])
            if header[1] == "[[":
                position = counts.get(table, 0)
                counts[table] = position + 1
                table = f"{table}[{position}]"
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            name = f"{table}.{_normalize_key(key[1])}" if table else _normalize_key(key[1])
            lines.setdefault(name, number)
            depth, until = _track_nesting(key[2], 0)
    return lines


def _track_nesting(line: str, depth: int) -> tuple[int, str]:
    """Return the bracket depth and the open multi-line string with which the next line begins."""
    for quotes in ('"""', "'''"):
        before, opening, after = line.partition(quotes)
        if opening:
            if quotes not in after:
                return depth, quotes
            line = before + after.partition(quotes)[2]
    plain = _TEXTS.sub("", line).partition("#")[0]
    return depth + sum(plain.count(mark) for mark in "[{") - sum(plain.count(mark) for mark in "]}"), ""


def _normalize_key(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def find_line(place: str, lines: dict[str, int]) -> int:
    """Find the line of a key, or of the nearest table that contains it."""
    while place:
        if place in lines:
            return lines[place]
        place = re.sub(r"(\[[^\[\]]*\]|\.?[^.\[\]]+)$", "", place)
    return 1


def _explain(file_name: str, message: str, lines: dict[str, int]) -> InvalidArgument:
    place = ""
    if match := ERROR_PLACE.search(message):
        place, message = match["place"], message[: match.start()]
    if match := _UNKNOWN.match(message):
        key = f"{place}.{match['field']}".lstrip(".")
        known = list_keys(place)
        close = get_close_matches(match["field"], known, n=1)
        guess = f"Did you mean {close[0]}? " if close else "" if place else _suggest_table(match["field"])
        hint = f"{guess}Choose one of: {', '.join(known)}."
        return _fault(file_name, find_line(key, lines), key, "is not a known key.", hint)
    if match := _MISSING.match(message):
        key = f"{place}.{match['field']}".lstrip(".")
        return _fault(file_name, find_line(key, lines), key, "is missing.")
    if match := WRONG_TYPE.match(message):
        expected = " or ".join(_WORDS.get(choice, choice) for choice in match["wanted"].split(" | "))
        actual = _WORDS.get(match["came"], match["came"])
        hint = "Write [[vaults]]: one for each." if place == "vaults" else ""
        return _fault(file_name, find_line(place, lines), place, f"should be {expected}, not {actual}.", hint)
    if message.startswith("Invalid enum value"):
        choices = " or ".join(f'"{choice}"' for choice in get_args(_find_type(place)))
        return _fault(file_name, find_line(place, lines), place, f"should be {choices}.")
    if match := _BOUND.fullmatch(message):
        side = "least" if match["sign"] == ">=" else "most"
        rule = f"should be at {side} {float(match['bound']):.10g}."
        return _fault(file_name, find_line(place, lines), place, rule)
    if message == _EMPTY:
        return _fault(file_name, find_line(place, lines), place, "should not be empty.")
    return _fault(file_name, find_line(place, lines), place, f"is not valid: {message}.")


def _suggest_table(key: str) -> str:
    """Suggest the table of a key that is outside of all tables."""
    tables = [name for name in list_keys("") if name != "vaults" and key in list_keys(name)]
    return f"Did you mean {key} in [{tables[0]}]? " if tables else ""


def list_keys(place: str) -> list[str]:
    """List the keys that the table at `place` may have."""
    kind = _find_type(place)
    return [] if kind is None else [field.name for field in msgspec.structs.fields(kind)]


def _find_type(place: str) -> Any:
    """Find the type of the value at `place`; for a list, that of its items; None when there is none."""
    type_: Any = Config
    for part in re.findall(r"[^.\[\]]+(?![^\[]*\])", place):
        field = next((field for field in msgspec.structs.fields(type_) if field.name == part), None)
        if field is None:
            return None
        is_list = getattr(field.type, "__origin__", None) is tuple
        type_ = field.type.__args__[0] if is_list else field.type
    return type_


def _check_meaning(config: Config, file_name: str, lines: dict[str, int]) -> None:
    """Check what the types cannot express."""
    scopes: list[tuple[str, Any]] = [("scope", config.scope)]
    scopes += [(f"vaults[{position}]", vault) for position, vault in enumerate(config.vaults)]
    for place, scope in scopes:
        try:
            Scope(allow=scope.allow, deny=scope.deny)
        except InvalidArgument as error:
            key = f"{place}.{error.argument}"
            raise _fault(file_name, find_line(key, lines), key, f"is not valid: {error}") from None
    _check_vaults(config, file_name, lines)
    _check_names(config.server, file_name, lines)
    _check_embeddings(config.embeddings, file_name, lines)
    server = config.server
    if bool(server.tls_certificate) != bool(server.tls_key):
        key = "server.tls_certificate" if server.tls_certificate else "server.tls_key"
        hint = "tls_certificate and tls_key belong together."
        raise _fault(file_name, find_line(key, lines), key, "is given alone.", hint)


def _check_names(server: ServerConfig, file_name: str, lines: dict[str, int]) -> None:
    faults = [
        ("server.host", server.host, explain_bad_host(server.host) and "Such as 0.0.0.0, without a port.")
    ]
    faults += [(f"server.hosts[{n}]", name, explain_bad_host(name)) for n, name in enumerate(server.hosts)]
    faults += [
        (f"server.origins[{n}]", page, explain_bad_origin(page)) for n, page in enumerate(server.origins)
    ]
    for key, text, hint in faults:
        if hint:
            raise _fault(file_name, find_line(key, lines), key, f"cannot be {text[:60]!r}.", hint)


def _check_embeddings(embeddings: EmbeddingsConfig, file_name: str, lines: dict[str, int]) -> None:
    if not embeddings.url:
        return
    if why := explain_bad_url(embeddings.url, allow_http=embeddings.allow_http):
        key = "embeddings.url"
        raise _fault(file_name, find_line(key, lines), key, "cannot be used.", f"{why[:1].upper()}{why[1:]}.")
    if not embeddings.model:
        key = "embeddings.model"
        hint = "Name the model that the endpoint should use."
        raise _fault(file_name, find_line(key, lines), key, "is missing.", hint)
    try:
        Scope(deny=embeddings.private)
    except InvalidArgument as error:
        key = "embeddings.private"
        raise _fault(file_name, find_line(key, lines), key, f"is not valid: {error}") from None


def _check_vaults(config: Config, file_name: str, lines: dict[str, int]) -> None:
    """A vault that is listed twice would have two scopes, of which only one could apply."""
    if len(config.vaults) > VAULTS:
        key = f"vaults[{VAULTS}]"
        raise _fault(file_name, find_line(key, lines), key, f"is one too many: there may be {VAULTS}.")
    first: dict[str, int] = {}
    for position, vault in enumerate(config.vaults):
        before = first.setdefault(resolve_path(vault.path), position)
        if before != position:
            key = f"vaults[{position}].path"
            line = find_line(f"vaults[{before}].path", lines)
            hint = "Give each vault one [[vaults]]."
            raise _fault(file_name, find_line(key, lines), key, f"is the same vault as in line {line}.", hint)


def _explain_syntax(file_name: str, message: str, text: str) -> InvalidArgument:
    reason, _, place = message.partition(" (at ")
    match = re.search(r"line (\d+)", place)
    line = int(match[1]) if match else text.count("\n") + 1
    return _fault(file_name, line, "", f"is not TOML: {reason}.")


def _fault(file_name: str, line: int, key: str, fault: str, hint: str = "") -> InvalidArgument:
    subject = f"{key} " if key else "this line "
    return InvalidArgument(
        f"{file_name}, line {line}: {subject}{fault}", argument="config", hint=hint, key=key, line=line
    )
