"""Matches a compiled regular expression with a bound on the work.

Python's `re` cannot be interrupted, and one pattern such as `(a+)+$` in a `.base` file would block the
process forever. This matcher backtracks with its own stack and counts its steps. `bases.regex_compile`
compiles patterns into the programs that it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

MAX_STEPS: Final = 100_000
"""The most steps of one search: about 50 ms. An ordinary pattern needs a few for each character of the
text."""


class RegexTooCostly(Exception):
    """The search needed more than MAX_STEPS steps."""


Instruction: TypeAlias = (
    "Char | Test | Split | Jump | Capture | Mark | RequireProgress | At | Look | BackReference | Accept"
)


class Char(Struct, frozen=True):
    """One exact character."""

    char: str


class Test(Struct, frozen=True):
    """One character that satisfies `accepts`."""

    accepts: Callable[[str], bool]


class Split(Struct, frozen=True):
    """Continue at `first`; if that fails, at `second`."""

    first: int
    second: int


class Jump(Struct, frozen=True):
    to: int


class Capture(Struct, frozen=True):
    """Record the position in a capture slot."""

    slot: int


class Mark(Struct, frozen=True):
    """Record the position at the start of an iteration."""

    slot: int


class RequireProgress(Struct, frozen=True):
    """Fail if the iteration since `Mark` consumed nothing: otherwise `(a*)*` would loop forever."""

    slot: int


class At(Struct, frozen=True):
    """A condition on the position alone: anchors and word boundaries."""

    holds: Callable[[str, int], bool]


class Look(Struct, frozen=True):
    """Look-ahead or look-behind with a separate program."""

    program: tuple[Instruction, ...]
    negative: bool
    behind: bool


class BackReference(Struct, frozen=True):
    group: int
    fold: bool


class Accept(Struct, frozen=True):
    pass


Slots: TypeAlias = tuple[int, ...]


class RegexMatch(Struct, frozen=True):
    """`groups[0]` is the whole match; a group that did not participate is None."""

    start: int
    end: int
    groups: tuple[str | None, ...]


class CompiledRegex(Struct, frozen=True):
    """A compiled pattern. `names` maps a group's name to its number. `memoryless` is true if the rest of a
    match depends only on the position in the program and in the text (no back reference, no
    `RequireProgress`): then a position that failed once is not tried again, and the search is linear in the
    text."""

    source: str
    flags: str
    program: tuple[Instruction, ...]
    group_count: int
    slot_count: int
    names: dict[str, int]
    memoryless: bool

    def search(self, text: str, start: int = 0) -> tuple[RegexMatch | None, int]:
        """Return the leftmost match at or after `start`, and its cost in steps. Raises RegexTooCostly."""
        search = _Search(text)
        blank: Slots = (-1,) * self.slot_count
        first = self.program[0] if self.program else Accept()
        sticky = "y" in self.flags
        while start <= len(text):
            if isinstance(first, Char) and not sticky:  # skip to where the pattern can begin at all
                start = text.find(first.char, start)
                if start < 0:
                    break
            found = search.match(self.program, start, blank, memoryless=self.memoryless)
            if found is not None:
                end, slots = found
                spans = ((slots[2 * n], slots[2 * n + 1]) for n in range(1, self.group_count + 1))
                groups = (text[start:end], *(text[a:b] if 0 <= a <= b else None for a, b in spans))
                return RegexMatch(start, end, groups), search.steps
            if sticky:
                break
            start += 1
        return None, search.steps


class _Search:
    """One search of one text; `steps` counts all its attempts and look-arounds."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._failed: set[tuple[int, int]] = set()
        self.steps = 0

    def match(
        self,
        program: tuple[Instruction, ...],
        start: int,
        slots: Slots,
        must_end: int = -1,
        *,
        memoryless: bool = False,
    ) -> tuple[int, Slots] | None:
        """Return the end and slots of a match that begins at `start` (and ends at `must_end`, if given)."""
        waiting: list[tuple[int, int, Slots]] = [(0, start, slots)]
        while waiting:
            pc, at, slots = waiting.pop()
            while True:
                self.steps += 1
                if self.steps > MAX_STEPS:
                    raise RegexTooCostly
                instruction = program[pc]
                if isinstance(instruction, Accept):
                    if must_end in (-1, at):
                        return at, slots
                    break
                if isinstance(instruction, Split):
                    if memoryless:
                        # Whatever was tried from here has failed, or the search would have ended.
                        if (pc, at) in self._failed:
                            break
                        self._failed.add((pc, at))
                    waiting.append((instruction.second, at, slots))
                    pc = instruction.first
                    continue
                if isinstance(instruction, Jump):
                    pc = instruction.to
                    continue
                after = self._advance(instruction, at, slots)
                if after is None:
                    break
                at, slots = after
                pc += 1
        return None

    def _advance(self, instruction: Instruction, at: int, slots: Slots) -> tuple[int, Slots] | None:
        text = self._text
        match instruction:
            case Char(char):
                return (at + 1, slots) if at < len(text) and text[at] == char else None
            case Test(accepts):
                return (at + 1, slots) if at < len(text) and accepts(text[at]) else None
            case Capture(slot) | Mark(slot):
                return at, (*slots[:slot], at, *slots[slot + 1 :])
            case RequireProgress(slot):
                return (at, slots) if slots[slot] != at else None
            case At(holds):
                return (at, slots) if holds(text, at) else None
            case BackReference():
                return self._back_reference(instruction, at, slots)
            case Look():
                return self._look(instruction, at, slots)
            case _:
                raise AssertionError(instruction)

    def _back_reference(self, instruction: BackReference, at: int, slots: Slots) -> tuple[int, Slots] | None:
        begin, end = slots[2 * instruction.group], slots[2 * instruction.group + 1]
        if not 0 <= begin <= end:
            return at, slots  # JavaScript: a group that did not participate matches the empty text
        wanted = self._text[begin:end]
        found = self._text[at : at + len(wanted)]
        self.steps += len(wanted)
        same = found.lower() == wanted.lower() if instruction.fold else found == wanted
        return (at + len(wanted), slots) if same else None

    def _look(self, look: Look, at: int, slots: Slots) -> tuple[int, Slots] | None:
        found = None
        if not look.behind:
            found = self.match(look.program, at, slots)
        else:
            for begin in range(at, -1, -1):
                found = self.match(look.program, begin, slots, must_end=at)
                if found is not None:
                    break
        if look.negative:
            return (at, slots) if found is None else None
        return (at, found[1]) if found is not None else None
