"""Gathers what a vault says about a question: the best passages within a number of characters.

Notes and sections are taken by rank. Each passage is cut so that it answers as much of the question as
possible, passages that repeat another are left out, and the rest is put into reading order. Everything comes
from `Queries` and `Engine`, so nothing that the caller may not see appears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from operator import add, attrgetter
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine.passages import (
    EarlierPassages,
    Span,
    cut_passage,
    find_body,
    line_of,
    share_room,
    trim,
)
from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.fold import fold_text, split_words
from vaultbridge.index.ranking.boilerplate import find_boilerplate, leave_out
from vaultbridge.index.ranking.plain_words import describe_translation
from vaultbridge.index.ranking.question import read_question
from vaultbridge.links.resolve import file_name
from vaultbridge.markdown.text import decode, replace_surrogates, split_with_starts
from vaultbridge.vault.paths import TEXT_SUFFIXES

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.index.graph import OutgoingLink
    from vaultbridge.index.ranking.rank import RankedNote, RankedPage, RankedSection
    from vaultbridge.vault.paths import VaultPath

DEFAULT_CHARS: Final = 4_000
"""About 1,000 tokens: less than reading one note to see whether it helps."""

LEAST_CHARS: Final = 200
"""The smallest budget: less has no room for a path and a sentence."""

LARGEST_CHARS: Final = 90_000
"""The largest budget, the same as for reading a note: below what assistants accept as one result."""

NOTES: Final = 16
"""How many notes are looked at; the lower ones are rarely about the question."""

MORE_NOTES: Final = 160
"""How many are requested when canvases fill the first places."""

SECTIONS: Final = 4
"""How many sections of one note are considered."""

PASSAGE_CHARS: Final = 700
"""A long paragraph. At first the best passages get this much of their sections, and the others what they need
to be understood; the room that is left makes all of them longer."""

SHORT_PASSAGE_CHARS: Final = 450
"""A short paragraph: there are as many passages as have room for this much."""

FAVOUR: Final = 3
"""The exponent of a passage's weight when the room is shared out: half of a paragraph often lacks the fact
that was asked for, so the best passages must be whole."""

RELEVANT: Final = 0.2
WEAK: Final = 0.08
"""The shares of the best section's score above which another section is shown, and above which it is shown if
there is room left."""

WEAK_PASSAGES: Final = 2
"""How many of the latter: sometimes one has a missing fact, but most are irrelevant."""

SAME_NOTE: Final = 0.75
"""How much each further section of one note counts compared with the one before: several notes say more than
one."""

HUB_LINKS: Final = 8
"""A note with this many links that is asked for by name is a map of others: its links are the answer."""

HUB_SPACING: Final = 250
"""The most characters for each link of a map of notes, on average: an article has as many links in more
text."""

HUB_ROOM: Final = 5
"""The part of the budget that is reserved for the links of such a note outside its passages."""

HUB_RANK: Final = 3
"""Such a note is among the first few; any other has the name by chance."""

HUB_SHARES: Final = (0.8, 0.5, 0.25)
"""How much of the room such a note may take if it is all that was asked for: the largest with which its other
links fit too. Other notes get what is left."""

LINKED: Final = 6
"""How many of the notes that the passages link to are named."""

_ENDING: Final = 90
"""The room for the last line."""


class ContextPassage(Struct, frozen=True):
    """Part of a note, exactly as written. `heading` is the section's own, "" before the first; `line` and
    `end_line` are the lines of the stretch."""

    path: VaultPath
    heading: str
    line: int
    end_line: int
    text: str


class LinkedNote(Struct, frozen=True):
    path: VaultPath
    links: int


class Hub(Struct, frozen=True):
    """A map of other notes: the links outside its passages, as written, and how many more did not fit."""

    path: VaultPath
    links: tuple[str, ...]
    more: int


class GatheredContext(Struct, frozen=True):
    """`passages` in reading order: the best note first, each note from top to bottom. `linked` are the notes
    that they link to most. `notes` have a word of the question, and `more` is True if even more notes do;
    `with_all_words` have them all. During a first build `complete` is False, and `indexed` of `searchable`
    notes were searched. `left_out` counts the words of a very long question that were not looked up;
    `translation` says into which language they were translated."""

    passages: tuple[ContextPassage, ...]
    linked: tuple[LinkedNote, ...]
    hub: Hub | None
    notes: int
    with_all_words: int
    complete: bool
    indexed: int
    searchable: int
    left_out: int = 0
    more: bool = False
    translation: str = ""


class _Candidate(Struct):
    """A section that may be shown. `order` is the place of its note in the rank."""

    path: VaultPath
    order: int
    heading: str
    text: str
    starts: list[int]
    span: Span
    score: float
    weight: float
    words: set[str]


def gather(engine: Engine, question: str, *, max_chars: int = DEFAULT_CHARS) -> GatheredContext:
    """Passages for a question. Rendered by `render`, all of it takes at most `max_chars` characters."""
    page = _rank(engine, question)
    hub, alone = _find_hub(engine, page, question)
    links = {} if hub is None else {hub.path: engine.queries.outgoing(hub.path)}
    room = max_chars - _ENDING - max_chars // (10 if hub is None else HUB_ROOM)
    whole = hub if alone else None
    most = max_chars if alone else max_chars // HUB_ROOM - _ENDING
    candidates = _list_candidates(engine, page, whole)
    if whole is None:
        passages = _cut(candidates, room)
    else:
        passages = _cut_around_hub(candidates, room, whole.path, links[whole.path])
    for path in {passage.path for passage in passages}:
        if path not in links:
            links[path] = engine.queries.outgoing(path)
    return _fit(
        GatheredContext(
            passages=tuple(passages),
            linked=_find_linked(passages, links),
            hub=None if hub is None else _describe_hub(hub.path, passages, links[hub.path], most),
            notes=page.total,
            with_all_words=page.with_all_words,
            complete=page.complete,
            indexed=page.indexed,
            searchable=page.searchable,
            left_out=page.left_out,
            more=page.more,
            translation=describe_translation(page),
        ),
        max_chars,
    )


def _rank(engine: Engine, question: str) -> RankedPage:
    """The best notes. A canvas is not a text to quote from, so if many rank high, more notes are
    requested."""
    # `explain` says whether the question is a note's name or alias.
    page = engine.queries.rank(question, limit=NOTES, sections_per_note=SECTIONS, explain=True)
    if sum(_is_note(note.path) for note in page.notes) < len(page.notes) // 2:
        page = engine.queries.rank(question, limit=MORE_NOTES, sections_per_note=SECTIONS, explain=True)
    return replace(page, notes=tuple(note for note in page.notes if _is_note(note.path))[:NOTES])


def _is_note(path: str) -> bool:
    return path.lower().endswith(".md")


def _list_candidates(engine: Engine, page: RankedPage, hub: RankedNote | None) -> list[_Candidate]:
    found: list[_Candidate] = []
    for order, note in enumerate(page.notes):
        try:
            text = decode(engine.read_bytes(note.path)).text
        except VaultbridgeError:
            # It was deleted, or its disk was removed, since the index was queried.
            continue
        found += _list_sections(note, order, text, whole=note is hub)
    best = max((candidate.score for candidate in found), default=0.0)
    for candidate in found:
        candidate.weight *= (1 + candidate.score / best) if best else 1
    return found


def _list_sections(note: RankedNote, order: int, text: str, *, whole: bool) -> Iterable[_Candidate]:
    """The sections of a note that have a body, or the whole note as one. Comments, badges and navigation
    divide a section, and are not shown."""
    _, starts = split_with_starts(text)
    boilerplate = find_boilerplate(text)
    place = 0
    for section in note.sections[:1] if whole else note.sections:
        headed = bool(section.heading)
        span = find_body(text, starts, section.line, section.end_line, headed=headed)
        if whole:
            span = find_body(text, starts, 1, len(starts), headed=False)
        stretches = _list_stretches(text, span, boilerplate)
        if not stretches and len(note.sections) == 1:
            # Only properties, or a heading right above another: the text below says what it is about.
            span = find_body(text, starts, section.line, len(starts), headed=headed)
            stretches = _list_stretches(text, span, boilerplate)
        words = _find_matched_words(section)
        if whole and stretches:
            stretches = [(stretches[0][0], stretches[-1][1])]
        elif len(stretches) > 1:
            held = [
                span for span in stretches if any(word in fold_text(text[slice(*span)]) for word in words)
            ]
            stretches = held or stretches[:1]
        heading = "" if whole else section.heading.rpartition(" > ")[2]
        for stretch in stretches:
            weight = SAME_NOTE**place / (1 + order / 3)
            yield _Candidate(note.path, order, heading, text, starts, stretch, section.score, weight, words)
            place += 1


def _list_stretches(text: str, span: Span, boilerplate: list[Span]) -> list[Span]:
    stretches = (trim(text, *stretch) for stretch in leave_out(span, boilerplate))
    return [(start, end) for start, end in stretches if start < end]


def _find_matched_words(section: RankedSection) -> set[str]:
    """The words of the section that match the question, folded."""
    return {
        fold_text(match.text[start:end])
        for match in section.matches
        for start, end in match.spans
        if end > start
    }


def _cut_around_hub(
    candidates: list[_Candidate], room: int, hub: VaultPath, links: list[OutgoingLink]
) -> list[ContextPassage]:
    """Passages of a map of notes, so that there is room for the links outside of them, and of a few other
    notes if there is more room than that."""
    own = [candidate for candidate in candidates if candidate.path == hub]
    others = [candidate for candidate in candidates if candidate.path != hub and candidate.order < HUB_RANK]
    for share in HUB_SHARES:
        spans = [
            (candidate, cut_passage(candidate.text, candidate.span, {}, int(room * share)))
            for candidate in own
        ]
        outside = _describe_hub(hub, _leave_out_overlaps(spans), links, LARGEST_CHARS).links
        needed = sum(len(target) + 2 for target in outside)
        if needed <= room * (1 - share):
            break
    taken = needed + sum(end - start + _head_chars(candidate) for candidate, (start, end) in spans)
    if room - taken < PASSAGE_CHARS:
        return _leave_out_overlaps(spans)
    return [*_leave_out_overlaps(spans), *_cut(others, room - taken)]


def _cut(candidates: list[_Candidate], room: int) -> list[ContextPassage]:
    """Passages for the best candidates, in reading order."""
    earlier = EarlierPassages()
    spans: list[tuple[_Candidate, Span]] = []
    best = max((candidate.score for candidate in candidates), default=0.0)
    # What is further from the question gets only the room that is left.
    near = [
        candidate for candidate in candidates if candidate.score >= RELEVANT * best or not candidate.order
    ]
    far = [
        candidate
        for candidate in candidates
        if WEAK * best <= candidate.score < RELEVANT * best and candidate.order
    ]
    far = sorted(far, key=lambda candidate: -candidate.score)[:WEAK_PASSAGES]
    for chosen in (near, far):
        left = room - sum(end - start + _head_chars(candidate) for candidate, (start, end) in spans)
        if left >= PASSAGE_CHARS or not spans:
            spans += _cut_some(chosen, left, earlier)
    spans.sort(key=lambda cut: (cut[0].order, cut[1]))
    return _leave_out_overlaps(spans)


def _cut_some(
    candidates: list[_Candidate], room: int, earlier: EarlierPassages
) -> list[tuple[_Candidate, Span]]:
    """Cuts passages from these candidates, as many as fit. One that repeats another makes room for the
    next."""
    chosen: list[_Candidate] = []
    most = max(1, room // SHORT_PASSAGE_CHARS)
    for candidate in sorted(candidates, key=attrgetter("weight"), reverse=True):
        if len(chosen) == most:
            break
        # Compared as it would be cut by itself: of a long section that has this one in it, the part that is
        # shown may be another, and two copies of a section are cut at the same place.
        own = cut_passage(candidate.text, candidate.span, dict.fromkeys(candidate.words, 1.0), PASSAGE_CHARS)
        if not earlier.repeats(candidate.text[slice(*own)]):
            chosen.append(candidate)
    holders = Counter(word for candidate in chosen for word in candidate.words)
    # A word that few of the sections contain says more than one that all contain.
    words = {word: 1.0 / count for word, count in holders.items()}
    room -= sum(map(_head_chars, chosen))
    weights = [candidate.weight for candidate in chosen]
    needs = [candidate.span[1] - candidate.span[0] for candidate in chosen]
    # First the best passages whole, and from each other one the place with the words; then longer ones.
    least = share_room(
        [min(need, PASSAGE_CHARS) for need in needs], [weight**FAVOUR for weight in weights], max(0, room)
    )
    rest = [need - share for need, share in zip(needs, least, strict=True)]
    more = share_room(rest, weights, max(0, room - sum(least)))
    return [
        (candidate, cut_passage(candidate.text, candidate.span, words, share))
        for candidate, share in zip(chosen, map(add, least, more), strict=True)
        if share
    ]


def _head_chars(candidate: _Candidate) -> int:
    """The most characters that the line above a passage takes."""
    return len(_render_place(candidate.path, candidate.heading, 10**4)) + 2


def _leave_out_overlaps(spans: list[tuple[_Candidate, Span]]) -> list[ContextPassage]:
    """The passages without those inside another: a section that was extended downwards may contain others."""
    passages: list[ContextPassage] = []
    ends: dict[str, int] = {}
    for candidate, (start, end) in spans:
        if start < end and start >= ends.get(candidate.path, 0):
            first, last = line_of(candidate.starts, start), line_of(candidate.starts, end - 1)
            passages.append(
                ContextPassage(candidate.path, candidate.heading, first, last, candidate.text[start:end])
            )
            ends[candidate.path] = end
    return passages


# Links


def _find_hub(engine: Engine, page: RankedPage, question: str) -> tuple[RankedNote | None, bool]:
    """The note that the question names, if it is a map of others, and whether the question asks for nothing
    else: then the note itself is the answer."""
    asked = " ".join(split_words(question))
    wanted = {word for unit in read_question(question).units if not unit.function for word in unit.words}
    for note in page.notes[:HUB_RANK]:
        name = " ".join(split_words(file_name(note.path).removesuffix(".md")))
        exact = any(view.startswith("exact ") for view in note.views)
        if (exact or (name and f" {name} " in f" {asked} ")) and _is_map(engine, note.path):
            return note, exact or wanted <= set(name.split())
    return None, False


def _is_map(engine: Engine, path: VaultPath) -> bool:
    links = len(engine.queries.outgoing(path))
    if links < HUB_LINKS:
        return False
    try:
        return len(engine.read_bytes(path)) <= links * HUB_SPACING
    except VaultbridgeError:
        return False


def _describe_hub(
    path: VaultPath, passages: list[ContextPassage], links: list[OutgoingLink], most: int
) -> Hub:
    """The links that no passage shows, as many as fit in `most` characters."""
    # A passage may end within a line.
    shown = [
        (range(passage.line, passage.end_line + 1), passage.text)
        for passage in passages
        if passage.path == path
    ]
    named: dict[str, str] = {}
    inside: set[str] = set()
    for link in links:
        if not link.target or _is_attachment(link):
            continue
        key = link.resolved or link.target.lower()
        if any(link.line in lines and link.raw in text for lines, text in shown):
            inside.add(key)
        named.setdefault(key, link.target)
    others = [target for key, target in named.items() if key not in inside]
    ends = accumulate(len(target) + 2 for target in others)
    fitting = sum(end <= most for end in ends)
    return Hub(path, tuple(others[:fitting]), len(others) - fitting)


def _is_attachment(link: OutgoingLink) -> bool:
    return link.resolved is not None and not link.resolved.lower().endswith(TEXT_SUFFIXES)


def _find_linked(
    passages: list[ContextPassage], links: dict[VaultPath, list[OutgoingLink]]
) -> tuple[LinkedNote, ...]:
    shown = {passage.path for passage in passages}
    counts: Counter[VaultPath] = Counter()
    for passage in passages:
        for link in links[passage.path]:
            to = link.resolved
            if to is None or to in shown or not _is_note(to):
                continue
            if passage.line <= link.line <= passage.end_line:
                counts[to] += 1
    ordered = sorted(counts, key=lambda path: (-counts[path], path))
    return tuple(LinkedNote(path, counts[path]) for path in ordered[:LINKED])


# The text


def render(found: GatheredContext) -> str:
    """The passages, each below its place in brackets, then the links, then what was left out."""
    lines: list[str] = []
    if found.notes and not found.with_all_words:
        lines.append(f"({found.translation or 'no note has all the words'})")
    if found.left_out:
        lines.append(f"(a long question: {found.left_out} of its most common words were left out)")
    path = ""
    for passage in found.passages:
        place = _render_place(passage.path, passage.heading, passage.line)
        lines.append(place if passage.path != path else f"[{place[len(path) + 1 :].lstrip(':')}")
        lines.append(replace_surrogates(passage.text))
        path = passage.path
    if found.hub is not None and found.hub.links:
        more = f" and {found.hub.more} more" if found.hub.more else ""
        lines.append(f"More links of {found.hub.path}: {', '.join(found.hub.links)}{more}")
    if found.linked:
        named = (
            f"{file_name(note.path).removesuffix('.md')}{f' ({note.links})' if note.links > 1 else ''}"
            for note in found.linked
        )
        lines.append(f"Linked from here: {', '.join(named)}")
    lines.append(_render_ending(found))
    return "\n".join(lines)


def _render_place(path: str, heading: str, line: int) -> str:
    stem = file_name(path).removesuffix(".md")
    title = f"#{heading}" if heading and heading.lower() != stem.lower() else ""
    return f"[{path}{title}:{line}]"


def _render_ending(found: GatheredContext) -> str:
    if not found.notes:
        return f"(no note has any of the words{found.translation and f'; {found.translation}'})"
    shown = len({passage.path for passage in found.passages})
    if not shown:
        return "(nothing to quote; search lists what has the words)"
    if shown == found.notes:
        return f"(notes: {shown})"
    return f"({shown} of {found.notes}{'+' if found.more else ''} notes; search lists the others)"


def _fit(found: GatheredContext, max_chars: int) -> GatheredContext:
    """The same with less around the passages, and finally fewer passages, until it fits. The room for
    headings is an estimate, so this step is what guarantees the limit."""
    while len(render(found)) > max_chars:
        if found.linked:
            found = replace(found, linked=found.linked[:-1])
        elif found.hub is not None and found.hub.links:
            kept = found.hub.links[: len(found.hub.links) * 3 // 4]
            more = found.hub.more + len(found.hub.links) - len(kept)
            found = replace(found, hub=Hub(found.hub.path, kept, more))
        elif found.passages:
            found = replace(found, passages=found.passages[:-1])
        else:
            break
    return found
