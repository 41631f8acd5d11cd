"""What a change would lose of what was there: what a person should see first under `destructive`.

A piece of the old text survives if it is anywhere in what the change leaves: at another place in the note, or
in another note that the same change writes. So moving a section loses nothing. Pieces are compared as runs of
RUN_UNITS words, not as single words: a new text of the same language has most of the old one's words, and the
same words in another order are another text. What is counted is how many characters are in no run that
survives.

One change is judged at a time, with all its files and operations together. A text that is taken away in many
small changes is not noticed here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from vaultbridge.canvas.parse import Canvas, Card, FileCard, GroupCard, LinkCard, TextCard, read_canvas
from vaultbridge.markdown.text import decode
from vaultbridge.review.policy import Reason, Review
from vaultbridge.vault.paths import TEXT_SUFFIXES

if TYPE_CHECKING:
    from vaultbridge.engine.plan import Plan, PlannedFile, PlannedFiles

MANY_FILES: Final = 10
"""A change to more files than this counts as destructive: a person cannot see at a glance what it did. A move
with its links usually touches fewer."""

MUCH_LOST: Final = 1000
"""A change that loses this many characters, in all its files together, waits whatever their size: some 160
words, a long paragraph, which nobody rewrites from memory."""

SOME_LOST: Final = 200
"""A note or a card that loses half of its text waits only from this many characters on: two sentences. Less
is the size of an ordinary correction, even if the note is short."""

HALF: Final = 0.5
"""The share of a note's or a card's text from which on a person would not say that it was edited."""

REPLACED: Final = 0.9
REPLACED_CHARS: Final = 100
"""A note or a card is replaced, and not only corrected, when nine tenths of it are lost and that is more than
a sentence."""

RUN_UNITS: Final = 3
"""How many words in a row must survive together. A corrected word costs itself alone, because its neighbours
survive with theirs; and two texts rarely have three words in a row in common by chance."""

REPEATED_CHARS: Final = 100
"""The same words, up to this length, lost at many places are counted once: that is a renamed link, tag or
person, and the longest name of a note is about as long."""

UNSPACED_WEIGHT: Final = 2
"""A character of a script without spaces counts like two letters: a text in Chinese or Japanese is about half
as long as the same in English."""

CARD_LOST: Final = 50
"""What a card or an arrow that is gone from a canvas counts besides its text: twenty of them are an
arrangement that nobody restores by hand."""

MEASURED_CHARS: Final = 1_000_000
"""The longest text that is measured, without the lines that are the same at its beginning and its end: two
seconds of work at worst. A longer one counts as lost, because a person can see what nobody has measured."""

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han: scripts that put no spaces between words."""

_UNIT: Final = re.compile(rf"\n|(?<=\n)[ \t]+|[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
"""A word, a character of a script without spaces, a sign, the end of a line, or the indentation of one: a
table of numbers and a nested list consist of these."""

_UNSPACED_CHARACTER: Final = re.compile(rf"[{_UNSPACED}]")

Run: TypeAlias = tuple[str, ...]


_WORD: Final = re.compile(r"\w+")


@dataclass(slots=True)
class Part:
    """A text that is judged by itself: a note, or a card of a canvas. `file` is the number of its file,
    `extra` what the loss of the part costs besides its text."""

    file: int
    before: str
    after: str
    extra: int = 0
    units: list[str] = field(default_factory=list)
    """What differs of the old text, without the lines around it that are the same."""
    kept: list[bool] = field(default_factory=list)
    lost: int = 0

    @property
    def size(self) -> int:
        return measure(self.before)


def find_reason(policy: Review, plan: Plan) -> Reason | None:
    """Why a person has to see this change first; None if it may be written at once."""
    if policy == "off":
        return None
    reason = find_danger(plan.files)
    return reason or ("all" if policy == "all" else None)


def find_danger(planned: PlannedFiles) -> Reason | None:
    """What about these changes a person should see first."""
    if any(file.change == "deleted" for file in planned.files):
        return "delete"
    if planned.moves_folder:
        return "folder"
    # A file that moves in the same change may be replaced, too; one that only moves has no content here.
    changed = [file for file in planned.files if file.change == "changed" or (file.was and file.content)]
    if changed and (
        planned.replaces_whole or any(is_unknown(file) or _keeps_nothing(file) for file in changed)
    ):
        return "overwrite"
    if loses_much(planned.files):
        return "loss"
    return "many files" if len(planned.files) + planned.more > MANY_FILES else None


def _keeps_nothing(file: PlannedFile) -> bool:
    """Whether nothing of the old text is left: no word of it, and not its beginning or its end."""
    old, new = ((data or b"").decode("utf-8", "replace").strip() for data in (file.before, file.after))
    if not old or file.after is None:
        return False
    if new and (old[0] == new[0] or old[-1] == new[-1]):
        return False
    return set(_WORD.findall(old)).isdisjoint(_WORD.findall(new))


def loses_much(files: Sequence[PlannedFile]) -> bool:
    """Whether a considerable part of the text in these files is lost. Files that are deleted or created are
    not judged: a deletion waits anyway, and text may move into a new note."""
    parts: list[Part] = []
    for number, file in enumerate(files):
        if file.change in ("changed", "moved") and not is_unknown(file):
            parts += _split_file(number, file)
    created = [_normalize(file.after) for file in files if file.change == "created" and not is_unknown(file)]
    differing = [_trim(part.before, part.after) for part in parts]
    if sum(map(len, created)) + sum(len(old) + len(new) for old, new in differing) > MEASURED_CHARS:
        return any(old for old, _ in differing)
    _match(parts, differing, created)
    _count_losses(parts)
    return _is_considerable(parts)


def is_unknown(file: PlannedFile) -> bool:
    """Whether nothing can be said about what a change does to the text: it is no text, or too long."""
    return not file.content or not file.path.lower().endswith(TEXT_SUFFIXES)


def measure(text: str) -> int:
    """The length of a text as the limits here count it."""
    unspaced = 0 if text.isascii() else len(_UNSPACED_CHARACTER.findall(text))
    return len("".join(text.split())) + (UNSPACED_WEIGHT - 1) * unspaced + text.count("\n")


def _weigh(unit: str) -> int:
    if unit.isspace():
        return 1
    return UNSPACED_WEIGHT if len(unit) == 1 and _UNSPACED_CHARACTER.match(unit) else len(unit)


def _split_file(number: int, file: PlannedFile) -> Iterator[Part]:
    before, after = _normalize(file.before), _normalize(file.after)
    if file.path.lower().endswith(".canvas"):
        old, new = read_canvas(before), read_canvas(after)
        # Otherwise a card that we cannot read would not be missed.
        if old.root is not None and new.root is not None and not (old.problems or new.problems):
            yield from _split_canvas(number, old, new)
            return
    yield Part(number, before, after)


def _split_canvas(number: int, old: Canvas, new: Canvas) -> Iterator[Part]:
    """The texts of the cards and the labels of the edges: where a card is, and its colour, are no text."""
    remaining = _read_texts(new)
    for key, text in _read_texts(old).items():
        now = remaining.pop(key, None)
        yield Part(number, text, now or "", extra=CARD_LOST if now is None else 0)
    yield from (Part(number, "", text) for text in remaining.values())


def _read_texts(canvas: Canvas) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    named = [(("card", card.id), _read_card(card)) for card in canvas.cards]
    named += [(("edge", edge.id), edge.label) for edge in canvas.edges]
    for key, text in named:
        # Two cards may have the same id in the file of another program.
        texts[key] = f"{texts[key]}\n{text}" if key in texts else text
    return texts


def _read_card(card: Card) -> str:
    match card:
        case TextCard():
            return _normalize_text(card.text)
        case FileCard():
            return card.file + card.subpath
        case LinkCard():
            return card.url
        case GroupCard():
            return card.label
    return card.type


def _normalize(data: bytes | None) -> str:
    return _normalize_text(decode(data or b"").text)


def _normalize_text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _trim(old: str, new: str) -> tuple[str, str]:
    """What differs, as whole lines: most changes leave most of a note as it is."""
    before, after = old.split("\n"), new.split("\n")
    start = 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return "\n".join(before[start : len(before) - end]), "\n".join(after[start : len(after) - end])


def _find_units(text: str) -> list[str]:
    """Between two line ends: then the first and the last word are in as many runs as any other line's."""
    return _UNIT.findall(f"\n{text}\n") if text else []


def _list_runs(units: Sequence[str]) -> Iterator[Run]:
    return zip(*(units[start:] for start in range(RUN_UNITS)), strict=False)


def _match(parts: Sequence[Part], differing: Sequence[tuple[str, str]], created: Iterable[str]) -> None:
    """Find out which units survive: those of a run that is in the new text of the same part, or else in any
    other new text. Each run of a new text stands for one of the old ones."""
    spare: Counter[Run] = Counter()
    for text in created:
        spare.update(_list_runs(_find_units(text)))
    missing: list[tuple[Part, int, Run]] = []
    for part, (old, new) in zip(parts, differing, strict=True):
        part.units = _find_units(old)
        part.kept = [False] * len(part.units)
        available = Counter(_list_runs(_find_units(new)))
        for place, run in enumerate(_list_runs(part.units)):
            if available[run] > 0:
                available[run] -= 1
                _keep(part, place)
            else:
                missing.append((part, place, run))
        spare.update(+available)
    for part, place, run in missing:
        if spare[run] > 0 and not all(part.kept[place : place + RUN_UNITS]):
            spare[run] -= 1
            _keep(part, place)


def _keep(part: Part, place: int) -> None:
    part.kept[place : place + RUN_UNITS] = [True] * RUN_UNITS


def _count_losses(parts: Iterable[Part]) -> None:
    """Add up the characters that do not survive. The same few words, lost at several places, count once."""
    repeated: set[Run] = set()
    for part in parts:
        # The line ends around the text are ours.
        for lost in _find_lost(part.units[1:-1], part.kept[1:-1]):
            size = sum(map(_weigh, lost))
            if size <= REPEATED_CHARS:
                if lost in repeated:
                    continue
                repeated.add(lost)
            part.lost += size


def _find_lost(units: Sequence[str], kept: Sequence[bool]) -> Iterator[Run]:
    """The stretches of the text that are lost."""
    lost: list[str] = []
    for unit, is_kept in zip(units, kept, strict=True):
        if not is_kept:
            lost.append(unit)
        elif lost:
            yield tuple(lost)
            lost = []
    if lost:
        yield tuple(lost)


def _is_considerable(parts: Sequence[Part]) -> bool:
    if sum(part.lost + part.extra for part in parts) >= MUCH_LOST:
        return True
    lost: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for part in parts:
        lost[part.file] += part.lost + part.extra
        sizes[part.file] += part.size
        if _is_replaced(part.lost, part.size):
            return True
    return any(_is_replaced(lost[number], sizes[number]) for number in lost)


def _is_replaced(lost: int, size: int) -> bool:
    """Whether so much of a text is lost that a person would not call it an edit."""
    return (lost >= SOME_LOST and lost >= HALF * size) or (lost >= REPLACED_CHARS and lost >= REPLACED * size)
