"""Links and folders named in a base, a file or a block in a note, and their rewriting.

A base is YAML whose strings hold expressions. Files are named in `link("…")`, `file("…")`, `image("…")` and
`file.hasLink("…")`, by wikilinks in any string, and folders in `file.inFolder("…")`. The text is edited in
place, through the YAML's and the expression's own quoting; a base that is not valid YAML is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import EditRefused
from vaultbridge.note.change import Change
from vaultbridge.note.embedded import Embedded, Quoting, embedded

if TYPE_CHECKING:
    from yaml.nodes import Node, ScalarNode

NewTarget = Callable[[str], str | None]
"""Given a path part or a folder as written, the new one, or None to leave it."""

BASE_NODES: Final = 100_000
"""The most YAML nodes looked at: far above any base written by hand, and a bound for one that is not."""

_TEXT: Final = re.compile(
    r"""(?P<call>\b(?:link|file|image|hasLink|inFolder)\s*\(\s*)?"""
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<wiki>\[\[[^\[\]\r\n]+\]\])""",
    re.S,
)
_WIKI: Final = re.compile(r"\[\[([^\[\]|#\r\n]+)[^\[\]\r\n]*\]\]")


def base_changes(text: str, *, file: NewTarget, folder: NewTarget) -> tuple[Change, ...]:
    """The changes that rewrite every file and folder for which a callable gives a new name.

    Raises EditRefused when the text is not YAML: then the app cannot use it either."""
    changes: list[Change] = []
    for layer in _scalars(text):
        changes += layer.outward(_in_expression(layer.text, file, folder))
    return tuple(changes)


def _in_expression(text: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    for match in _TEXT.finditer(text):
        if match["wiki"]:
            yield from _wikilinks(text, match.start(), match.end(), file)
            continue
        quoting: Quoting = "expression-double" if match["string"][0] == '"' else "expression-single"
        inner = embedded(text, match.start("string") + 1, match.end("string") - 1, quoting)
        call = (match["call"] or "").rstrip("( \t\r\n")
        yield from inner.outward(_in_string(inner.text, call, file, folder))


def _in_string(text: str, call: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    if "[[" in text:
        yield from _wikilinks(text, 0, len(text), file)
    elif call == "inFolder":
        new = folder(text)
        if new is not None and new != text:
            yield Change(0, len(text), new)
    elif call:
        target = text.partition("#")[0]
        new = file(target) if target else None
        if new is not None and new != target:
            yield Change(0, len(target), new)


def _wikilinks(text: str, start: int, end: int, file: NewTarget) -> Iterator[Change]:
    for match in _WIKI.finditer(text, start, end):
        new = file(match[1])
        if new is not None and new != match[1]:
            yield Change(match.start(1), match.end(1), new)


def _scalars(text: str) -> Iterator[Embedded]:
    # PyYAML takes long to import, and only a rename in a vault with bases comes here.
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise EditRefused("The base is not valid YAML.") from error
    for node in _leaves(root):
        start, end = node.start_mark.index, node.end_mark.index
        if node.style == '"':
            yield embedded(text, start + 1, end - 1, "yaml-double")
        elif node.style == "'":
            yield embedded(text, start + 1, end - 1, "yaml-single")
        else:
            yield embedded(text, start, end, "none")


def _leaves(root: Node | None) -> Iterator[ScalarNode]:
    """Each scalar once, in the order of the text. Aliases lead to nodes already seen."""
    import yaml

    seen: set[int] = set()
    stack: list[Node] = [root] if root is not None else []
    while stack and len(seen) < BASE_NODES:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.MappingNode):
            for key, value in reversed(node.value):
                stack += [value, key]
        elif isinstance(node, yaml.SequenceNode):
            stack += reversed(node.value)
