"""Reads and resolves links without any of our own code, so that a fault there cannot hide itself.

A drawn vault gives every link a label that no move changes: `[[note|L7]]`, `[L7](note.md)`, or a canvas card
whose id is `L7`. A base has one name, in its first line. `read_meaning` says for each label which file it
leads to, by the rules in docs/obsidian.md.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping

Snapshot = Mapping[str, bytes]
"""The files of a vault by their path."""

_WIKI = re.compile(r"\[\[([^\[\]|#]*)((?:#[^\[\]|]*)?)\\?\|(L\d+)(?:\\?\|\d+)?\]\]")
_PLAIN = r"[^()\s#]*(?:\([^()\s#]*\)[^()\s#]*)*"
_MARKDOWN = re.compile(rf"\[(L\d+)\]\((?:<([^<>#]*)([^<>]*)>|({_PLAIN})([^()\s]*))\)")
_RESERVED = set(b";/?:@&=+$,#")


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()


def decode_uri(text: str) -> str:
    """JavaScript's `decodeURI`: escapes of reserved characters stay, and a wrong one leaves all as it is."""
    out, at, data = bytearray(), 0, text.encode()
    while at < len(data):
        if data[at] == 0x25:
            try:
                byte = int(data[at + 1 : at + 3].decode(), 16) if at + 3 <= len(data) else -1
            except ValueError:
                byte = -1
            if byte < 0:
                return text
            out += data[at : at + 3] if byte in _RESERVED else bytes([byte])
            at += 3
        else:
            out.append(data[at])
            at += 1
    try:
        return out.decode()
    except UnicodeDecodeError:
        return text


def resolve(target: str, source: str, paths: Iterable[str]) -> frozenset[str]:
    """The files that a link may mean: none, one, or several where the app's choice is not stable."""
    folded = {path: fold(path) for path in paths}
    folder = fold(source).rpartition("/")[0]
    link = fold(target)
    name = link.rpartition("/")[2]
    found = {path for path, key in folded.items() if "." in name and key.rpartition("/")[2] == name}
    if not found:
        link = fold(target + ".md")
        name = link.rpartition("/")[2]
        found = {path for path, key in folded.items() if key.rpartition("/")[2] == name}
    if "/" not in link and len(found) == 1:
        return frozenset(found)
    rooted = link.startswith("/")
    if link.startswith(("./", "../")):
        link = link.removeprefix("./")
        while link.startswith("../"):
            link, folder = link[3:], folder.rpartition("/")[0]
        link = f"{folder}/{link}" if folder else link
        folder = f"{folder}/" if folder else ""
    link = link.removeprefix("/")
    if exact := {path for path in found if folded[path] == link}:
        return frozenset(exact)
    fitting = {path for path in found if folded[path].endswith(link)} if not rooted else set()
    near = {path for path in fitting if folded[path].startswith(folder)} or fitting
    shortest = min((len(path.encode("utf-16-le")) for path in near), default=0)
    return frozenset(path for path in near if len(path.encode("utf-16-le")) == shortest)


def _read_text(text: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for match in _WIKI.finditer(text):
        # A backslash escapes the `|` in a table.
        found[match[3]] = match[1].removesuffix("\\"), match[2].removesuffix("\\")
    for match in _MARKDOWN.finditer(text):
        plain, angled = match[4], match[2]
        found[match[1]] = decode_uri(plain if angled is None else angled), match[5] or match[3] or ""
    return found


def _unquote(text: str) -> str:
    """The text with the properties in single quotes as YAML reads them."""
    return re.sub(r"(?<=[:-] ')\[.*(?=')", lambda match: match[0].replace("''", "'"), text)


def _read_canvas(data: bytes) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for node in json.loads(data).get("nodes", []):
        if node.get("type") == "file":
            found[node["id"]] = f"/{node['file']}", node.get("subpath", "")
        elif node.get("type") == "text":
            found |= _read_text(node["text"])
    return found


def read_links(path: str, data: bytes) -> dict[str, tuple[str, str]]:
    """The target and the subpath of each labelled link of a file, by its label."""
    if path.lower().endswith(".canvas"):
        return _read_canvas(data)
    if path.lower().endswith(".base"):
        expression = json.loads(data.decode().partition("\n")[0].removeprefix("filters: "))
        return {"L0": (json.loads(expression.removeprefix("file.hasLink(").removesuffix(")")), "")}
    if path.lower().endswith(".md"):
        return _read_text(_unquote(data.decode("utf-8-sig", "replace")))
    return {}


def read_meaning(snapshot: Snapshot) -> dict[tuple[str, str], frozenset[str]]:
    """The files that each labelled link of the vault may mean, by its file and label."""
    meaning = {}
    for path, data in snapshot.items():
        for label, (target, _) in read_links(path, data).items():
            meaning[path, label] = resolve(target, path, snapshot) if target else frozenset({path})
    return meaning


def mask_links(path: str, data: bytes) -> str:
    """The text of a file without the targets of its labelled links: what a move must not change."""
    text = data.decode("utf-8", "surrogateescape")
    if path.lower().endswith(".base"):
        text = re.sub(r"hasLink\(.*\)", "hasLink", text)
    if path.lower().endswith(".canvas"):
        # A backslash in a table on a card is escaped once more, in JSON.
        text = text.replace("\\\\", "\\")
        text = re.sub(r'"file":\s*"(?:[^"\\]|\\.)*"', '"file"', text)
    text = _WIKI.sub(lambda match: f"[[{match[2]}|{match[3]}]]", text)
    return _MARKDOWN.sub(lambda match: f"[{match[1]}]({match[3] or match[5] or ''})", text)
