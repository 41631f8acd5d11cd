"""Translates a search's patterns from JavaScript's syntax to Python's and runs them where they can be
stopped.

A pattern may backtrack forever, and Python's matcher cannot be interrupted in its own process. So patterns
run in a child process that is killed when the search's time for patterns has run out. Starting it takes about
20 ms; texts are sent to it in batches. The translation covers what the two languages write differently; what
Python cannot do (look-behind of varying width) is refused with the reason."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, Final, TypeVar

from vaultbridge.cancellation import current_cancellation
from vaultbridge.errors import EngineFailure, InvalidQuery, TimedOut

_Item = TypeVar("_Item")

REGEX_SECONDS: Final = 5.0
"""The time that one search may spend on patterns: a simple one takes 0.2 s for 10,000 notes."""

REGEX_CHARS: Final = 1000
"""The longest pattern: people write fewer than 200 characters, and the time to compile grows with it."""

BATCH_CHARS: Final = 256 * 1024
"""The text that is sent to the child at once, unless a single one is longer: enough to make sending cheap
compared to matching, and small enough to hold three times (as read, as packed, in the pipe). The C library
keeps much of it: with four times as much a session held 22 MB more after its first pattern, and was no
faster."""

SPANS_PER_TEXT: Final = 64
"""The most matches returned for one text: more than is ever shown."""

ORPHAN_SECONDS: Final = 1.0
"""How much longer than its search the child may run, if the process that would kill it was killed itself."""

_CHILD: Final = """
import faulthandler, re, struct, sys
faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
source, sink = sys.stdin.buffer, sys.stdout.buffer
known = {}
while len(head := source.read(12)) == 12:
    flags, size, count = struct.unpack(">III", head)
    written = source.read(size).decode()
    pattern = known.get((flags, written))
    if pattern is None:
        pattern = known[flags, written] = re.compile(written, flags)
    answer = []
    for _ in range(count):
        (length,) = struct.unpack(">I", source.read(4))
        text = source.read(length).decode()
        spans = []
        for match in pattern.finditer(text):
            spans += match.span()
            if len(spans) >= 2 * LIMIT:
                break
        answer.append(struct.pack(f">I{len(spans)}I", len(spans) // 2, *spans))
    data = b"".join(answer)
    sink.write(struct.pack(">I", len(data)) + data)
    sink.flush()
""".replace("LIMIT", str(SPANS_PER_TEXT))

_PROPERTIES: Final = {
    "L": r"[^\W\d_]", "Letter": r"[^\W\d_]", "Alphabetic": r"[^\W\d_]",
    "N": r"\d", "Nd": r"\d", "Number": r"\d",
    "Script=Han": "[\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]",
    "Script=Hiragana": "[\u3041-\u309f]", "Script=Katakana": "[\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9d]",
    "Script=Hangul": "[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]", "Script=Thai": "[\u0e01-\u0e5b]",
    "Script=Cyrillic": "[\u0400-\u052f]", "Script=Greek": "[\u0370-\u03ff\u1f00-\u1fff]",
    "Script=Latin": "[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]",
}  # fmt: skip


def compile_pattern(written: str, *, ignore_case: bool) -> re.Pattern[str]:
    """Compiles a pattern in JavaScript's syntax. Raises `InvalidQuery`, which says what is wrong with it."""
    if len(written) > REGEX_CHARS:
        raise InvalidQuery(f"The pattern has {len(written)} characters; at most {REGEX_CHARS} are allowed.")
    import warnings

    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    try:
        with warnings.catch_warnings():
            # Python warns about sets that a later version might read differently; ours are escaped.
            warnings.simplefilter("ignore")
            return re.compile(_translate(written), flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidQuery(
            f"The pattern /{written}/ cannot be read: {error}.",
            hint='Search for the text itself by quoting it: "…".',
        ) from error


def _translate(pattern: str) -> str:
    out: list[str] = []
    at = 0
    in_set = False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            piece, at = _escape(pattern, at, in_set=in_set)
            out.append(piece)
            continue
        if in_set:
            in_set = char != "]"
            # Python reserves nested sets and set operators; JavaScript has none without a flag.
            out.append("\\" + char if char in "[&~|" else char)
        elif pattern.startswith("[^]", at):
            out.append(r"[\s\S]")
            at += 2
        elif pattern.startswith("[]", at):
            out.append(r"(?!)")
            at += 1
        elif char == "[":
            in_set = True
            out.append(char)
            if pattern.startswith("^", at + 1):
                out.append("^")
                at += 1
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            out.append("(?P<")
            at += 2
        else:
            out.append(char)
        at += 1
    return "".join(out)


def _escape(pattern: str, at: int, *, in_set: bool) -> tuple[str, int]:
    """Translates one escape; returns it and where it ends."""
    char = pattern[at + 1 : at + 2]
    if char == "k" and (name := re.compile(r"<(\w+)>").match(pattern, at + 2)):
        return f"(?P={name[1]})", name.end()
    if char == "u" and (code := re.compile(r"\{([0-9a-fA-F]{1,6})\}").match(pattern, at + 2)):
        number = int(code[1], 16)
        return re.escape(chr(number)) if number <= sys.maxunicode else "", code.end()
    if char in "pP" and (named := re.compile(r"\{([\w=]+)\}").match(pattern, at + 2)):
        return _property(named[1].replace("sc=", "Script="), negated=char == "P", in_set=in_set), named.end()
    if char == "c" and pattern[at + 2 : at + 3].isalpha():
        return re.escape(chr(ord(pattern[at + 2]) & 31)), at + 3
    if char == "/":
        return "/", at + 2
    if char.isascii() and char.isalpha() and char not in "dDwWsSbBnrtfvxu":
        return char, at + 2
    return pattern[at : at + 2], at + 2


def _property(name: str, *, negated: bool, in_set: bool) -> str:
    members = _PROPERTIES.get(name)
    if members is None or (in_set and members.startswith("[^")) or (in_set and negated):
        raise re.error(f"\\p{{{name}}} is not known here")
    if in_set:
        return members.strip("[]")
    if not negated:
        return members
    return f"(?!{members})[\\s\\S]"


class PatternMatcher:
    """The patterns of one search. Use it as a context: leaving it ends the child."""

    def __init__(self, *, seconds: float | None = None) -> None:
        self._seconds = REGEX_SECONDS if seconds is None else seconds
        self._cancellation = current_cancellation()
        self._child: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None
        self._expired = threading.Event()

    def __enter__(self) -> PatternMatcher:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._child is not None:
            assert self._child.stdin is not None and self._child.stdout is not None
            self._child.kill()
            self._child.wait()
            with suppress(OSError):
                self._child.stdin.close()
            self._child.stdout.close()

    def spans(self, pattern: re.Pattern[str], texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the pattern matches in each text. Raises `TimedOut` when the search's time is up."""
        return [spans for batch in split_batches(texts, len) for spans in self._batch_spans(pattern, batch)]

    def _batch_spans(self, pattern: re.Pattern[str], texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        child = self._start_child()
        assert child.stdin is not None and child.stdout is not None
        written = pattern.pattern.encode()
        pieces = [struct.pack(">III", pattern.flags & (re.M | re.I), len(written), len(texts)), written]
        for text in texts:
            data = text.encode("utf-8", "replace")
            pieces += (struct.pack(">I", len(data)), data)
        # Written from a second thread: the answer may begin before the child has read everything.
        sender = threading.Thread(target=_send, args=(child.stdin, b"".join(pieces)), daemon=True)
        sender.start()
        with self._cancellation.call_on_request(child.kill):
            head = child.stdout.read(4)
            data = child.stdout.read(int.from_bytes(head, "big")) if len(head) == 4 else b""
            sender.join()
        self._cancellation.check()
        if len(head) < 4 or len(data) < int.from_bytes(head, "big"):
            if self._expired.is_set():
                raise TimedOut(
                    f"The pattern /{pattern.pattern}/ took longer than {self._seconds:g} s.",
                    hint="Make it simpler: avoid a repetition inside a repetition.",
                )
            raise EngineFailure("The process that matches patterns died.")
        return _unpack(data, len(texts))

    def _start_child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CHILD, str(self._seconds + ORPHAN_SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._timer = threading.Timer(self._seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()
        return self._child

    def _expire(self) -> None:
        self._expired.set()
        if self._child is not None:
            self._child.kill()


def split_batches(items: Iterable[_Item], size: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yields the items in lists with a total size of about BATCH_CHARS."""
    batch: list[_Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= BATCH_CHARS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _send(pipe: BinaryIO, data: bytes) -> None:
    with suppress(OSError, ValueError):
        pipe.write(data)
        pipe.flush()


def _unpack(data: bytes, count: int) -> list[list[tuple[int, int]]]:
    found: list[list[tuple[int, int]]] = []
    at = 0
    for _ in range(count):
        (number,) = struct.unpack_from(">I", data, at)
        numbers = struct.unpack_from(f">{2 * number}I", data, at + 4)
        found.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
        at += 4 + 8 * number
    return found
