"""Commands for the index: `vaultbridge search` finds notes, `context` the passages that answer a question,
and `index` builds the index and prints what is in it.

`search` ranks notes for plain words, and reads anything else as Obsidian does if that finds something; its
hits look like grep's.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.cli.common import OK, emit, open_vault, refresh, run, say
from vaultbridge.cli.parser import Parser, parse_integer
from vaultbridge.cli.terminal import escape_controls
from vaultbridge.errors import InvalidArgument

if TYPE_CHECKING:
    from vaultbridge.cli.terminal import Terminal
    from vaultbridge.engine import Engine
    from vaultbridge.index.query.search import SearchPage
    from vaultbridge.index.ranking.rank import RankedNote, RankedPage


SYNTAX = """\
Plain words give ranked results: ask as you would ask a person. A query with operators, or --exact, works
as in Obsidian: words are joined by AND; OR, -word, "a phrase", (groups), /regex/
  file: path: content: tag:#x line:(…) block:(…) section:(…)
  task: task-todo: task-done: match-case: ignore-case:
  [property] [property:value] [property:>5] [property:null]
Without --exact, a query that is not valid in this syntax, or finds nothing, is ranked by its words."""

RANKED_NOTES, EXACT_NOTES = 10, 20
RANKED_MATCHES, EXACT_MATCHES = 1, 5
"""What is shown by default: the best place of a ranked note, the matching lines of an exact one."""


def main_search(argv: list[str]) -> int:
    parser = Parser("search", "Find notes by their names, paths and contents.", epilog=SYNTAX, paged=True)
    parser.takes_dashes = True
    parser.add_vault()
    parser.add_argument(
        "query", metavar="QUERY", nargs="+", help="one query; several arguments are joined by spaces"
    )
    parser.add_argument("--exact", action="store_true", help="only notes that contain every word")
    parser.add_argument("--explain", action="store_true", help="show what each note's score is made of")
    parser.add_argument(
        "--limit",
        type=parse_integer,
        metavar="N",
        help=f"notes to show ({RANKED_NOTES}, exact {EXACT_NOTES})",
    )
    parser.add_argument("--offset", type=parse_integer, default=0, metavar="N", help="notes to skip")
    parser.add_argument("--sort", choices=["relevance", "modified", "name", "path"], default="relevance")
    parser.add_argument(
        "-C", "--context", type=parse_integer, default=0, metavar="N", help="lines around each match"
    )
    parser.add_argument(
        "--matches",
        type=parse_integer,
        metavar="N",
        help=f"matches to show per note ({RANKED_MATCHES}, exact {EXACT_MATCHES})",
    )
    return run(parser, argv, _search)


def _search(args: argparse.Namespace) -> int:
    from vaultbridge.index.ranking.plain_words import Answered, answer_query

    query = " ".join(args.query)
    with open_vault(args.vault, with_model=True) as engine:
        refresh(engine)
        if args.exact:
            found = Answered(exact=_find_exact(engine, query, args))
        else:
            found = answer_query(
                query,
                lambda words: _rank(engine, words, args),
                lambda query: _find_exact(engine, query, args),
                sorted_otherwise=args.sort != "relevance",
            )
        if found.ranked is not None:
            _show_ranked(engine, found.ranked, args, found.reason)
        elif found.exact is not None:
            _show_exact(found.exact, engine.name, args, found.reason)
    return OK


def _find_exact(engine: Engine, query: str, args: argparse.Namespace) -> SearchPage:
    return engine.queries.search(
        query,
        limit=EXACT_NOTES if args.limit is None else args.limit,
        offset=args.offset,
        sort=args.sort,
        matches_per_note=EXACT_MATCHES if args.matches is None else args.matches,
        context=args.context,
    )


def _rank(engine: Engine, query: str, args: argparse.Namespace) -> RankedPage:
    return engine.queries.rank(
        query,
        limit=RANKED_NOTES if args.limit is None else args.limit,
        offset=args.offset,
        sections_per_note=RANKED_MATCHES if args.matches is None else args.matches,
        explain=args.explain,
    )


def _show_ranked(engine: Engine, page: RankedPage, args: argparse.Namespace, reason: str) -> None:
    from vaultbridge.index.ranking.plain_words import describe_translation

    if args.json:
        emit({**_describe(page), "reason": reason})
        return
    for note in page.notes:
        _show_note(engine, note, args)
    if args.explain and engine.embeddings is not None and (problem := engine.embeddings.status().problem):
        sys.stderr.write(f"without {engine.embeddings.settings.model}: {problem}\n")
    missing = f"; {reason}: ranked as plain words" if reason else ""
    if not page.with_all_words and not reason:
        missing = f"; {describe_translation(page) or 'no note has all the words'}"
    if page.left_out:
        missing += f"; {page.left_out} of the most common words of the long question were left out"
    _show_total(len(page.notes), page.total, args.offset, missing, more=page.more)
    _show_incomplete(complete=page.complete, indexed=page.indexed, notes=page.searchable)


def _describe(page: RankedPage) -> dict[str, Any]:
    """The same members as an exact search has, and what only ranking knows."""
    from msgspec.structs import asdict

    return {
        "hits": [
            {**asdict(note), "matches": [match for section in note.sections for match in section.matches]}
            for note in page.notes
        ],
        "total": page.total,
        "more": page.more,
        "with_all_words": page.with_all_words,
        "complete": page.complete,
        "indexed": page.indexed,
        "notes": page.searchable,
    }


def _show_note(engine: Engine, note: RankedNote, args: argparse.Namespace) -> None:
    from vaultbridge.tools.search import choose_lines, read_lines, render_section_title

    terminal: Terminal = args.terminal
    path = _show_path(terminal, note.path, engine.name)
    chosen = choose_lines(engine, note, RANKED_MATCHES if args.matches is None else args.matches)
    if not chosen:
        say(path)
    lines = read_lines(engine, note.path) if args.context and chosen else []
    for section, match in chosen:
        around = range(max(1, match.line - args.context), min(len(lines), match.line + args.context) + 1)
        for number in around:
            if number < match.line:
                say(f"{path}-{number}- {terminal.clean(lines[number - 1])}")
        heading = terminal.style(
            terminal.clean(render_section_title(note.path, section).rstrip(":")), "heading"
        )
        line = terminal.style(str(match.line), "line")
        say(f"{path}{heading}:{line}: {terminal.mark(match.text, match.spans)}")
        for number in around:
            if number > match.line:
                say(f"{path}-{number}- {terminal.clean(lines[number - 1])}")
    if args.explain:
        say(terminal.style(f"  {_explain(note)}", "dim"))


def _explain(note: RankedNote) -> str:
    """How much each view contributed, the most first, and which words the note lacks."""
    parts = sorted(note.views.items(), key=lambda part: -part[1])
    views = " + ".join(f"{name} {value:.3g}" for name, value in parts)
    missing = f"; without {', '.join(note.missing)}" if note.missing else ""
    return f"{note.score:.4g} = {views}{missing}" if views else f"{note.score:.4g}{missing}"


def _show_exact(page: SearchPage, vault: str, args: argparse.Namespace, reason: str) -> None:
    if args.json:
        from msgspec.structs import asdict

        emit({**asdict(page), "reason": reason})
        return
    terminal: Terminal = args.terminal
    for hit in page.hits:
        path = _show_path(terminal, hit.path, vault)
        if not hit.matches:
            say(path)
        for match in hit.matches:
            for number, line in enumerate(match.before, match.line - len(match.before)):
                say(f"{path}-{number}- {terminal.clean(line)}")
            where = terminal.style(str(match.line), "line")
            say(f"{path}:{where}: {terminal.mark(match.text, match.spans)}")
            for number, line in enumerate(match.after, match.line + 1):
                say(f"{path}-{number}- {terminal.clean(line)}")
    _show_total(
        len(page.hits), page.total, args.offset, f"; {reason}: searched for as text" if reason else ""
    )
    _show_incomplete(complete=page.complete, indexed=page.indexed, notes=page.notes)


def _show_path(terminal: Terminal, path: str, vault: str) -> str:
    return terminal.link_note(terminal.style(terminal.clean(path), "path"), vault, path)


def _show_total(shown: int, total: int, offset: int, besides: str = "", *, more: bool = False) -> None:
    of = f"{offset + 1}-{offset + shown} of " if 0 < shown < total else ""
    sys.stderr.write(f"{of}{total}{'+' if more else ''} note{'s' if total != 1 else ''}{besides}\n")


def _show_incomplete(*, complete: bool, indexed: int, notes: int) -> None:
    if not complete:
        sys.stderr.write(f"The index is still being built: {indexed} of {notes} notes were searched.\n")


CHARS = 4_000


def main_context(argv: list[str]) -> int:
    parser = Parser(
        "context",
        "Answer a question with the best passages of the best notes.",
        paged=True,
    )
    parser.takes_dashes = True
    parser.add_vault()
    parser.add_argument(
        "question", metavar="QUESTION", nargs="+", help="in plain words, as you would ask a person"
    )
    parser.add_argument(
        "--max-chars",
        type=parse_integer,
        default=CHARS,
        metavar="N",
        help=f"the longest answer, in characters ({CHARS})",
    )
    return run(parser, argv, _show_context)


def _show_context(args: argparse.Namespace) -> int:
    from vaultbridge.engine.context import LARGEST_CHARS, LEAST_CHARS, gather, render

    if not LEAST_CHARS <= args.max_chars <= LARGEST_CHARS:
        raise InvalidArgument(
            f"--max-chars is {args.max_chars}.",
            argument="usage",
            hint=f"Give {LEAST_CHARS} to {LARGEST_CHARS}.",
        )
    with open_vault(args.vault, with_model=True) as engine:
        refresh(engine)
        found = gather(engine, " ".join(args.question), max_chars=args.max_chars)
    if args.json:
        emit(found)
        return OK
    say(args.terminal.clean(render(found)))
    if not found.complete:
        sys.stderr.write(
            f"The index is still being built: {found.indexed} of {found.searchable} notes were searched.\n"
        )
    return OK


NAMES_SHOWN: Final = 20
"""How many files left out are shown: a screenful shows which folder they come from."""

_ONE = {"notes": "note", "canvases": "canvas", "bases": "base", "attachments": "attachment"}


def main_index(argv: list[str]) -> int:
    parser = Parser(
        "index", "Build a vault's index, or bring it up to date. Notes are only read, never written."
    )
    parser.add_vault()
    parser.add_argument("--rebuild", action="store_true", help="delete the index first")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="accept the vault's folder as it is now, even if it is empty or has different files",
    )
    return run(parser, argv, _index)


def _index(args: argparse.Namespace) -> int:
    from vaultbridge.vault.walk import LEFT_OUT

    started = time.perf_counter()
    with open_vault(args.vault, accept=args.accept) as engine:
        if args.rebuild:
            engine.index_sync.index.rebuild()
        report = refresh(engine)
        counts = engine.queries.counts()
        total, left_out = engine.queries.left_out()
    seconds = time.perf_counter() - started
    if args.json:
        emit(
            {
                "vault": engine.name,
                "seconds": round(seconds, 3),
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "unreadable": [place.path for place in report.unreadable],
                "leftOut": [{"path": skipped.path, "why": skipped.why} for skipped in left_out],
                **counts,
            }
        )
        return OK
    found = ", ".join(f"{count:,} {_ONE[kind] if count == 1 else kind}" for kind, count in counts.items())
    say(f"{escape_controls(engine.name)}: {found}")
    say(f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed in {seconds:.2f} s")
    for place in report.unreadable:
        say(f"could not be read: {place.path}")
    for skipped in left_out[:NAMES_SHOWN]:
        say(f"left out, because {LEFT_OUT[skipped.why]}: {skipped.path}")
    if total > NAMES_SHOWN:
        say(f"left out for the same reasons: {total - NAMES_SHOWN:,} more")
    return OK
