"""Reads YAML 1.2 core into plain JSON-safe values, with the position of every string.

`parse_yaml` reads anything. It works on parse events rather than a loader's tree, because a loader recurses
over the input's nesting and expands aliases without a bound. Dates, times and `yes/no/on/off` stay strings
and `010` is ten, as in YAML 1.2; `<<` is a key like any other, because merging is not part of the core
schema. Duplicate keys are refused.

`markdown.parse` decides which block of a note is YAML, and what its keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vaultbridge.markdown.model import Problem, ProblemCode

if TYPE_CHECKING:
    from yaml.events import Event, ScalarEvent

YAML_CHARS = 1024 * 1024
"""The longest YAML that we read: a thousand times a large set of properties."""

YAML_DEPTH = 64
"""The deepest nesting of lists and maps. Nobody writes six levels; exporters reach a dozen."""

YAML_VALUES = 50_000
"""The most values after aliases are expanded, so that a few lines cannot grow into gigabytes."""

_NUMBER = re.compile(
    r"(?P<int>[-+]?[0-9]+)\Z|(?P<oct>0o[0-7]+)\Z|(?P<hex>0x[0-9a-fA-F]+)\Z"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)\Z"
    r"|(?P<inf>[-+]?\.(?:inf|Inf|INF))\Z|(?P<nan>\.(?:nan|NaN|NAN))\Z"
)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INT_BITS = 63
_CORE_TAG = "tag:yaml.org,2002:"


class Leaf(Struct, frozen=True, gc=False):
    """A string and its position: `key` is the top-level key above it; `depth` is 0 for that key's own value
    and 1 for an item of its list. The span covers the text as written, without quotes."""

    key: str
    value: str
    start: int
    end: int
    depth: int


class Yaml(Struct, frozen=True):
    """The value of a YAML text. With a `problem`, `value` is None and there are no leaves."""

    value: Any = None
    leaves: tuple[Leaf, ...] = ()
    problem: Problem | None = None


class _Unusable(Exception):
    """Reading cannot continue; carries the problem out of the reader."""

    def __init__(self, code: ProblemCode, message: str, line: int, start: int, end: int) -> None:
        super().__init__(message)
        self.problem = Problem(code, f"Line {line}: {message}", line, start, end)


class _Frame:
    """A list or map being read. `key` is None while a map expects its next key."""

    __slots__ = ("anchor", "container", "first_leaf", "key", "start", "values_before")

    def __init__(self, container: Any, anchor: str | None, start: int, first_leaf: int, values: int) -> None:
        self.container = container
        self.anchor = anchor
        self.start = start
        self.first_leaf = first_leaf
        self.values_before = values
        self.key: str | None = None


class _Anchored(Struct, frozen=True):
    value: Any
    weight: int
    depth: int
    leaves: tuple[Leaf, ...]


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar under the core schema. An integer that does not fit in 64 bits
    becomes a float, as in the app and in the JSON readers of our clients."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    match = _NUMBER.match(text)
    if match is None:
        return text
    kind = match.lastgroup
    if kind in ("int", "oct", "hex"):
        if len(text) > 400:
            return float("-inf") if text[0] == "-" else float("inf")
        return fit_integer(int(text) if kind == "int" else int(text, 0))
    if kind == "nan":
        return float("nan")
    return float(text.replace(".", "", 1)) if kind == "inf" else float(text)


def fit_integer(number: int) -> int | float:
    """The number that an integer of any size is in a property."""
    if number.bit_length() <= _INT_BITS:
        return number
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def parse_yaml(text: str) -> Yaml:
    """Read one YAML document. Never raises; offsets and lines are those of `text`, lines from 1."""
    if len(text) > YAML_CHARS:
        return Yaml(problem=Problem("bad-yaml", f"Line 1: more than {YAML_CHARS} characters of YAML."))
    import yaml

    reader = _EventReader(text)
    try:
        return reader.read(yaml.parse(reader.prepared.text, Loader=yaml_loader()))
    except _Unusable as unusable:
        return Yaml(problem=unusable.problem)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, index = (mark.line + 1, mark.index + reader.prepared.skipped) if mark else (1, 0)
        message = error.problem or error.context or "not YAML"
    except yaml.YAMLError as error:
        index = min(int(getattr(error, "position", 0) or 0), len(text))
        line = 1 + text.count("\n", 0, index)
        message = str(getattr(error, "reason", "") or "not YAML")
    return Yaml(problem=Problem("bad-yaml", f"Line {line}: {message}.", line, index, index))


def yaml_loader() -> Any:
    """Return PyYAML's fast loader if there is one. Everything that reads properties must use the same loader,
    because the one in Python refuses some of what the other accepts, such as a tab after a key's colon."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_HIDDEN_AT = 0x10F000
_BREAKS = {0x2028: _HIDDEN_AT + 0x100, 0x2029: _HIDDEN_AT + 0x101}
_HIDING = {
    code: _HIDDEN_AT + code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10, 13)
} | _BREAKS
_RESTORING = {hidden: code for code, hidden in _HIDING.items()}
_TO_HIDE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_HIDDEN = re.compile("[\U0010f000-\U0010f101]")
_TAB_LINE = re.compile(r"(?:(?<=[\r\n])|\A)[ \t]*\t[ \t]*(?=[\r\n]|\Z)")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\r\n]*)?(?:[\r\n]|\Z)")


@cache
def base_loader() -> Any:
    """Return the loader for bases: PyYAML's in Python, because on deep nesting it raises where the fast one
    crashes. It is changed to accept tabs wherever YAML 1.2, and so the app, does: everywhere but in the
    indentation."""
    import yaml

    class Loader(yaml.SafeLoader):
        def scan_to_next_token(self) -> None:
            while True:
                super().scan_to_next_token()
                blanks = self._count_blanks()
                if not blanks or (not self.flow_level and self._is_indentation(blanks)):
                    return
                self.forward(blanks)

        def scan_plain_spaces(self, indent: int, start_mark: Any) -> Any:
            blanks = self._count_blanks()
            text = self.prefix(blanks)
            if "\t" in text:
                self.forward(blanks)
                if self.peek() not in _LINE_ENDS:
                    return [text]
            spaces = super().scan_plain_spaces(indent, start_mark)
            if spaces and self.column >= indent and self.peek() == "\t":
                # A continued line may be indented further with tabs.
                self.forward(self._count_blanks())
            return spaces

        def _is_indentation(self, blanks: int) -> bool:
            before = self.buffer[self.pointer - self.column : self.pointer]
            return not before.strip(" \t") and self.peek(blanks) not in _LINE_ENDS

        def _count_blanks(self) -> int:
            length = 0
            while self.peek(length) in (" ", "\t"):
                length += 1
            return length

    return Loader


_LINE_ENDS = frozenset("\0\r\n\x85\u2028\u2029")


class Prepared(Struct, frozen=True):
    """A text in the form in which PyYAML reads it as the app does. `skipped` characters at the start are left
    out; the others keep their order, one for one."""

    text: str
    skipped: int
    hides: bool

    def restore(self, value: str) -> str:
        """Return a scalar with the characters that are hidden in `text`."""
        return value.translate(_RESTORING) if self.hides else value


def prepare_yaml(text: str) -> Prepared:
    """Prepare a text for PyYAML. Byte order marks at the start are left out, because the fast loader skips
    one without counting it. In YAML 1.1, which PyYAML implements, U+2028 and the like end a line and control
    characters are errors; in the app they are ordinary characters, so others stand for them here. A line of
    only blanks may contain a tab."""
    bare = text.lstrip("\ufeff")
    skipped = len(text) - len(bare)
    if "\t" in bare and not _BLOCK_SCALAR.search(bare):
        bare = _TAB_LINE.sub(lambda line: " " * len(line[0]), bare)
    hides = _TO_HIDE.search(bare) is not None and _HIDDEN.search(bare) is None
    return Prepared(bare.translate(_HIDING) if hides else bare, skipped, hides)


class _EventReader:
    """Builds the value bottom-up from events, with an explicit stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.prepared = prepare_yaml(text)
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._leaves: list[Leaf] = []
        self._values = 0
        self._top_key = ""
        self._result: Any = None
        self._documents = 0

    def read(self, events: Iterator[Event]) -> Yaml:
        from yaml import events as kinds

        for event in events:
            kind = type(event)
            if kind is kinds.ScalarEvent:
                self._add_scalar(event)  # type: ignore[arg-type]
            elif kind is kinds.SequenceStartEvent:
                self._open([], event)
            elif kind is kinds.MappingStartEvent:
                self._open({}, event)
            elif kind in (kinds.SequenceEndEvent, kinds.MappingEndEvent):
                self._close(event)
            elif kind is kinds.AliasEvent:
                self._add_alias(event)
            elif kind is kinds.DocumentStartEvent:
                self._documents += 1
                if self._documents > 1:
                    raise self._unusable(
                        "bad-yaml", "a second document begins here; only one is allowed.", event
                    )
        return Yaml(self._result, tuple(self._leaves))

    def _add_scalar(self, event: ScalarEvent) -> None:
        text = self.prepared.restore(event.value)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.key is None and type(frame.container) is dict:
            self._set_key(frame, text, event)
            return
        tag = event.tag or ""
        plain = not event.style and event.implicit[0]
        typed = tag.startswith(_CORE_TAG) and tag != _CORE_TAG + "str"
        value: Any = resolve_plain(text) if plain or typed else text
        leaf = self._leaf(event) if type(value) is str else None
        if leaf is not None:
            self._leaves.append(leaf)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, self._depth(), (leaf,) if leaf else ())
        self._put(value, 1, event)

    def _leaf(self, event: ScalarEvent) -> Leaf:
        start, end = self._span(event)
        value = self.prepared.restore(event.value)
        if event.style in ("'", '"') and event.anchor is None and event.tag is None:
            start, end = start + 1, end - 1
        elif event.style or event.anchor is not None or event.tag is not None:
            at = self._text.find(value.strip(), start, end)
            if at >= 0:
                start, end = at, at + len(value.strip())
        return Leaf(self._top_key, value, start, end, self._depth())

    def _depth(self) -> int:
        return max(len(self._frames) - 1, 0)

    def _open(self, container: Any, event: Event) -> None:
        if len(self._frames) >= YAML_DEPTH:
            raise self._unusable(
                "bad-yaml", f"lists and maps are nested deeper than {YAML_DEPTH} levels.", event
            )
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchors.pop(anchor, None)
        self._frames.append(_Frame(container, anchor, self._span(event)[0], len(self._leaves), self._values))

    def _close(self, event: Event) -> None:
        frame = self._frames.pop()
        if frame.anchor:
            leaves = tuple(self._leaves[frame.first_leaf :])
            weight = self._values - frame.values_before + 1
            self._anchors[frame.anchor] = _Anchored(frame.container, weight, self._depth(), leaves)
        above = self._frames[-1] if self._frames else None
        if above is not None and above.key is None and type(above.container) is dict:
            # JSON has no keys that are lists or maps: we use the key's source text.
            del self._leaves[frame.first_leaf :]
            self._set_key(above, self._text[frame.start : self._span(event)[1]].strip(), event)
            return
        self._put(frame.container, 1, event)

    def _add_alias(self, event: Event) -> None:
        name: str = getattr(event, "anchor", "")
        anchored = self._anchors.get(name)
        if anchored is None:
            raise self._unusable("bad-yaml", f"the alias *{name} has no complete anchor above it.", event)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.key is None and type(frame.container) is dict:
            self._set_key(frame, f"*{name}" if type(anchored.value) is not str else anchored.value, event)
            return
        deeper = self._depth() - anchored.depth
        self._leaves.extend(
            Leaf(self._top_key, leaf.value, leaf.start, leaf.end, leaf.depth + deeper)
            for leaf in anchored.leaves
        )
        if len(self._leaves) > YAML_VALUES:
            raise self._unusable("bad-yaml", f"aliases expand to more than {YAML_VALUES} values.", event)
        self._put(anchored.value, anchored.weight, event)

    def _set_key(self, frame: _Frame, key: str, event: Event) -> None:
        if key in frame.container:
            raise self._unusable("duplicate-key", f"the key {key!r} is used more than once.", event)
        frame.key = key
        if len(self._frames) == 1:
            self._top_key = key

    def _put(self, value: Any, weight: int, event: Event) -> None:
        self._values += weight
        if self._values > YAML_VALUES:
            raise self._unusable("bad-yaml", f"there are more than {YAML_VALUES} values.", event)
        if not self._frames:
            self._result = value
            return
        frame = self._frames[-1]
        if frame.key is None:
            frame.container.append(value)
        else:
            frame.container[frame.key] = value
            frame.key = None

    def _unusable(self, code: ProblemCode, message: str, event: Event) -> _Unusable:
        start, end = self._span(event)
        return _Unusable(code, message, 1 + self._text.count("\n", 0, start), start, end)

    def _span(self, event: Event) -> tuple[int, int]:
        first, last = event.start_mark, event.end_mark
        assert first is not None and last is not None
        return first.index + self.prepared.skipped, last.index + self.prepared.skipped
