"""`search` answers a query in plain words by rank, and any other in the app's query language, or by rank if
that finds nothing; `context` returns the passages of the vault that a question needs, in one call and within
a budget.

A ranked hit names the best section of a note and the line to read there, with the words that matter marked. A
hit of the app's query language is a line, exactly as it is in the note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta

from vaultbridge.engine.context import gather, render
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.index.query.hits import HitMatch, shorten_line
from vaultbridge.index.ranking.plain_words import answer_query, describe_translation
from vaultbridge.markdown.edits.change import split_lines
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    describe_incomplete_index,
    group_rows,
    render_page,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.context import GatheredContext
    from vaultbridge.index.query.search import SearchHit, SearchPage
    from vaultbridge.index.ranking.rank import RankedNote, RankedPage, RankedSection
    from vaultbridge.vault.paths import VaultPath


RANKED: Final = 10
EXACT: Final = 20
"""How many notes an answer has by default: what is ranked lower hardly ever helps, but every exact match is
wanted."""

NOT_ALL: Final = "(no note has all the words; these match most of them)"

SECTIONS: Final = 50
"""The most sections of one note, which is what ranking gives."""

MARK: Final = ("**", "**")
UNMARKED: Final = ("", "")
"""What encloses a word that matters, in answers for assistants."""

AS_WORDS: Final = "({}; ranked as plain words)"
AS_TEXT: Final = "({}; searched for as text)"
"""How a query with operators was read where the app's language finds nothing."""


class SearchArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"context", "match", "max_chars"})

    query: Annotated[str, Meta(description="Words or operators")]
    match: Annotated[Literal["rank", "all"], Meta(description="all: every word must occur")] = "rank"
    context: Annotated[int, Meta(ge=0, le=20, description="Lines around each hit")] = 0
    matches: Annotated[int, Meta(ge=0, le=100, description="Places per note; 0: paths only")] = 1
    sort: Annotated[Literal["relevance", "modified", "name", "path"], Meta(description="Order")] = "relevance"
    limit: Annotated[int, Meta(ge=0, le=500, description=f"Notes; 0: {RANKED} by rank, else {EXACT}")] = 0
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: SearchArguments) -> Answer:
    # Only to wait: the result itself says whether it is complete.
    wait_for_index(context)
    if arguments.match == "all":
        return _answer_exact(context, _find_exact(context, arguments, arguments.query), arguments)
    found = answer_query(
        arguments.query,
        lambda words: _find_ranked(context, arguments, words),
        lambda query: _find_exact(context, arguments, query),
        sorted_otherwise=arguments.sort != "relevance",
    )
    ranked = found.ranked
    if ranked is None:
        assert found.exact is not None
        return _answer_exact(context, found.exact, arguments, found.reason)
    return answer_text(
        _render_ranked(context, ranked, arguments, found.reason),
        lambda: _draw_ranked(context, ranked, arguments),
    )


def _answer_exact(
    context: VaultContext, found: SearchPage, arguments: SearchArguments, reason: str = ""
) -> Answer:
    return answer_text(
        _render_exact(found, arguments, reason), lambda: _draw_exact(context, found, arguments)
    )


def _find_exact(context: VaultContext, arguments: SearchArguments, query: str) -> SearchPage:
    return context.engine.queries.search(
        query,
        limit=arguments.limit or EXACT,
        offset=arguments.offset,
        sort=arguments.sort,
        matches_per_note=arguments.matches,
        context=arguments.context,
    )


def _find_ranked(context: VaultContext, arguments: SearchArguments, words: str) -> RankedPage:
    return context.engine.queries.rank(
        words,
        limit=arguments.limit or RANKED,
        offset=arguments.offset,
        sections_per_note=min(arguments.matches, SECTIONS),
    )


def _render_exact(found: SearchPage, arguments: SearchArguments, reason: str) -> str:
    notes = [] if found.complete else [describe_incomplete_index(found.indexed, found.notes)]
    if reason:
        notes.append(AS_TEXT.format(reason))
    return render_page(
        map(render_hit, found.hits),
        total=found.total,
        offset=arguments.offset,
        what="notes",
        notes=notes,
        row_chars=PAGE_CHARS,
        max_chars=arguments.max_chars,
    )


def _draw_exact(context: VaultContext, found: SearchPage, arguments: SearchArguments) -> dict[str, Any]:
    rows = [
        {
            "path": replace_surrogates(hit.path),
            "places": [
                {"heading": "", "line": match.line, "parts": split_marked(match.text, match.spans)}
                for match in hit.matches
            ],
        }
        for hit in found.hits
    ]
    return draw_results(context, arguments.query, rows, found.total)


def _draw_ranked(context: VaultContext, found: RankedPage, arguments: SearchArguments) -> dict[str, Any]:
    rows = [
        {
            "path": replace_surrogates(note.path),
            "places": [
                {
                    "heading": replace_surrogates(render_section_title(note.path, section)[1:-1]),
                    "line": match.line,
                    "parts": split_marked(match.text.strip(), _shift(match)),
                }
                for section, match in choose_lines(context.engine, note, max(1, arguments.matches))
            ],
        }
        for note in found.notes
    ]
    return draw_results(context, arguments.query, rows, found.total, more=found.more)


def draw_results(
    context: VaultContext, query: str, rows: list[dict[str, Any]], total: int, *, more: bool = False
) -> dict[str, Any]:
    """The figure of a list of notes: each with the places in it that matter, and of each place the text in
    parts, of which every second one matters. `more` says that there are more notes than `total`."""
    return {
        "kind": "results",
        "vault": context.engine.name,
        "query": query,
        "total": total,
        "more": more,
        "rows": rows,
    }


def split_marked(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """The text in parts: outside of the spans, in one, outside, and so on."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            parts += [text[at:start], text[start:end]]
            at = end
    return [replace_surrogates(part) for part in (*parts, text[at:])]


def render_hit(hit: SearchHit) -> str:
    """Just the path for a hit by name, `path:line: text` for one line, and for more the path once with the
    lines below it."""
    if not hit.matches:
        return hit.path
    return "\n".join(group_rows((hit.path, place) for place in _render_lines(hit.matches)))


def _render_lines(matches: Iterable[HitMatch]) -> Iterator[str]:
    """Lines around a hit are marked with `-`, as grep does."""
    lines: dict[int, str] = {}
    for match in matches:
        around = [
            *enumerate(match.before, match.line - len(match.before)),
            *enumerate(match.after, match.line + 1),
        ]
        for number, text in around:
            lines.setdefault(number, f"{number}- {text}")
    for match in matches:
        lines[match.line] = f"{match.line}: {match.text}"
    return (lines[number] for number in sorted(lines))


def _render_ranked(context: VaultContext, found: RankedPage, arguments: SearchArguments, reason: str) -> str:
    notes = [] if found.complete else [describe_incomplete_index(found.indexed, found.searchable)]
    if reason:
        notes.append(AS_WORDS.format(reason))
    elif found.total and not found.with_all_words and not arguments.offset:
        translation = describe_translation(found)
        notes.append(f"({translation})" if translation else NOT_ALL)
    if found.left_out:
        notes.append(f"(a long question: {found.left_out} of its most common words were left out)")
    # A single word need not be marked: the reader knows it.
    mark = MARK if len(arguments.query.split()) > 1 else UNMARKED
    return render_page(
        (
            render_ranked(context.engine, note, places=arguments.matches, around=arguments.context, mark=mark)
            for note in found.notes
        ),
        total=found.total,
        offset=arguments.offset,
        what="notes",
        more=found.more,
        notes=notes,
        row_chars=PAGE_CHARS,
        max_chars=arguments.max_chars,
    )


def render_ranked(
    engine: Engine, note: RankedNote, *, places: int = 1, around: int = 0, mark: tuple[str, str] = MARK
) -> str:
    """The path, and for each section its heading and best line: `path#Heading:12: text`. If there are fewer
    sections than the `places` requested, more of their lines follow. `around` asks for that many lines on
    either side, `mark` is what encloses a word."""
    chosen = choose_lines(engine, note, places)
    lines = read_lines(engine, note.path) if around and chosen else []
    rows: list[str] = []
    for section, match in chosen:
        before = range(max(1, match.line - around), match.line)
        after = range(match.line + 1, min(len(lines), match.line + around) + 1)
        text = mark_words(match.text.strip(), _shift(match), mark)
        rows += [f"{number}- {shorten(lines[number - 1])}" for number in before if number <= len(lines)]
        rows.append(f"{render_section_title(note.path, section)}{match.line}: {text}")
        rows += [f"{number}- {shorten(lines[number - 1])}" for number in after]
    return "\n".join(group_rows((note.path, row) for row in rows)) if rows else note.path


def choose_lines(engine: Engine, note: RankedNote, places: int) -> list[tuple[RankedSection, HitMatch]]:
    best = [
        (section, match)
        for section in note.sections[:places]
        if (match := _choose_line(engine, note.path, section)) is not None
    ]
    more: list[tuple[RankedSection, HitMatch]] = []
    shown = {match.line for _, match in best}
    for section, _ in best:
        more += [(section, match) for match in section.matches if match.line not in shown]
    order = {section.line: place for place, (section, _) in enumerate(best)}
    chosen = [*best, *more[: max(0, places - len(best))]]
    return sorted(chosen, key=lambda pair: (order[pair[0].line], pair[1].line))


def render_section_title(path: str, section: RankedSection) -> str:
    """`#Heading:`, or nothing for the part before the first one and for a title that repeats the name."""
    title = section.heading.rpartition(" > ")[2]
    stem = path.rpartition("/")[2].removesuffix(".md")
    return f"#{title}:" if title and title.lower() != stem.lower() else ""


def _choose_line(engine: Engine, path: VaultPath, section: RankedSection) -> HitMatch | None:
    """The line that says most of what was asked. The heading is named anyway, so where nothing else has the
    words, it is the first line below it."""
    below = [match for match in section.matches if not (section.heading and match.line == section.line)]
    if below:
        return max(
            below, key=lambda match: len({match.text[start:end].lower() for start, end in match.spans})
        )
    if not section.matches:
        return None
    lines = read_lines(engine, path)
    for number in range(section.line + 1, min(section.end_line, len(lines)) + 1):
        if lines[number - 1].strip():
            return HitMatch(number, shorten(lines[number - 1]))
    return section.matches[0]


def _shift(match: HitMatch) -> list[tuple[int, int]]:
    """The spans within the text without the blanks around it."""
    blanks = len(match.text) - len(match.text.lstrip())
    return [(start - blanks, end - blanks) for start, end in match.spans if start >= blanks]


def mark_words(text: str, spans: Iterable[tuple[int, int]], mark: tuple[str, str] = MARK) -> str:
    """Each word once, where it first occurs. A word that the note itself marks stays as it is, and so does
    one in a wikilink, which somebody may copy."""
    pieces: list[str] = []
    seen: set[str] = set()
    at = 0
    for start, end in spans:
        word = text[start:end].lower()
        marked = text[:start].endswith("*") or text[end:].startswith("*")
        linked = text.rfind("[[", 0, start) > text.rfind("]]", 0, start)
        if start < at or word in seen or marked or linked:
            continue
        seen.add(word)
        pieces += [text[at:start], mark[0], text[start:end], mark[1]]
        at = end
    return "".join([*pieces, text[at:]])


def read_lines(engine: Engine, path: VaultPath) -> list[str]:
    """The lines of a note, without their ends; none for a note that can no longer be read."""
    try:
        return split_lines(decode(engine.read_bytes(path)).text)
    except VaultbridgeError:
        return []


def shorten(line: str) -> str:
    return shorten_line(line, [])[0]


SEARCH = Tool(
    name="search",
    description=(
        "Search the vault. Plain words are ranked: ask as a person would. Exact with OR, -not, -path:x, "
        '"phrase", /regex/, file: path: content: tag:#x line:(a b) section:() task-todo:x [property:value]'
    ),
    arguments=SearchArguments,
    run=run,
    group="find",
    long=True,
    core=True,
)


class ContextArguments(Arguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(description="In plain words")]
    max_chars: Annotated[int, Meta(ge=200, le=90_000, description="Most characters")] = 4_000


def run_context(context: VaultContext, arguments: ContextArguments) -> Answer:
    if not arguments.question.strip():
        raise InvalidArgument("question is empty.", argument="question", hint="Ask in plain words.")
    notes = wait_for_index(context)
    room = arguments.max_chars - sum(len(note) + 1 for note in notes)
    found = gather(context.engine, arguments.question, max_chars=room)
    return answer_text("\n".join([*notes, render(found)]), lambda: _draw_passages(context, arguments, found))


def _draw_passages(
    context: VaultContext, arguments: ContextArguments, found: GatheredContext
) -> dict[str, Any]:
    rows = [
        {
            "path": replace_surrogates(path),
            "places": [
                {
                    "heading": replace_surrogates(passage.heading),
                    "line": passage.line,
                    "parts": [replace_surrogates(passage.text)],
                }
                for passage in passages
            ],
        }
        for path, passages in groupby(found.passages, key=lambda passage: passage.path)
    ]
    return draw_results(context, arguments.question, rows, len(rows))


CONTEXT = Tool(
    name="context",
    description=(
        "What the vault says about a question: the best passages of the best notes as [path#heading:line]. "
        "Use before search"
    ),
    arguments=ContextArguments,
    run=run_context,
    group="find",
    long=True,
    core=True,
)
