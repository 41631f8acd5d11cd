"""Decides how a query is answered: plain words by rank, anything else in the app's query language, and by
rank again where that cannot be read or finds nothing.

People and assistants paste what they have: `user:password`, a question with a parenthesis, `grep -n`,
`[[Note]]`. Whatever has a word that a note has must not end in an error or in nothing. Whoever asks for exact
results does not come here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from msgspec import Struct

from vaultbridge.errors import InvalidQuery
from vaultbridge.index.query.parse import (
    QUERY_CHARS,
    And,
    Cased,
    HasProperty,
    HasTag,
    Not,
    Or,
    Query,
    RegexTerm,
    Term,
    Within,
    parse_query,
)
from vaultbridge.index.query.search import SearchPage
from vaultbridge.index.ranking.question import is_long, is_plain
from vaultbridge.index.ranking.rank import RankedPage
from vaultbridge.markdown.text import replace_surrogates

LITERAL_CHARS: Final = QUERY_CHARS - 2
"""The longest text that fits into a query, between quotation marks."""

NOTHING_EXACT: Final = "no note matches all of it"
"""Why a query in the app's language is ranked, if it can be read."""

_ESCAPED: Final = re.compile(r"\\.")


Found = TypeVar("Found")


class Answered(Struct, frozen=True):
    """What a query found: `ranked` or `exact`, and never both. `reason` says in a few words why a query with
    operators was read as plain words; "" if it was not."""

    ranked: RankedPage | None = None
    exact: SearchPage | None = None
    reason: str = ""


def describe_translation(page: RankedPage) -> str:
    """Says into which language the words of an English question were translated, so that whoever can asks
    in it; "" if they were not."""
    if not page.translated:
        return ""
    language = page.translated.capitalize()
    what = "the words" if page.by_dictionary else "without a dictionary, only common words"
    return f"{what} were translated into {language}; ask in {language} if that is not what you want"


def answer_query(
    query: str,
    rank: Callable[[str], RankedPage],
    search: Callable[[str], SearchPage],
    *,
    sorted_otherwise: bool = False,
) -> Answered:
    """Answers a query with `rank`, which takes plain words, or `search`, which takes the app's language. Only
    notes that match completely are `sorted_otherwise` than by rank: nobody wants the newest of those with
    some of the words. Raises `InvalidQuery` only for a blank query."""
    long = is_long(query)
    if not is_plain(query):
        return _answer_operators(query, rank, search)
    if sorted_otherwise and not long:
        found = search(query)
        if found.total:
            return Answered(exact=found)
    ranked = rank(query)
    if ranked.total or long:
        return Answered(ranked)
    # Not even one of the words, but perhaps the beginning of one.
    return Answered(exact=search(query))


def _answer_operators(
    query: str, rank: Callable[[str], RankedPage], search: Callable[[str], SearchPage]
) -> Answered:
    readings = [query]
    try:
        exact = search(query)
    except InvalidQuery as error:
        if not query.strip():
            raise
        reason = error.what
    else:
        reason = NOTHING_EXACT
        if exact.total:
            return Answered(exact=exact)
        parsed = parse_query(query)
        # In `ls -la`, what is excluded may be all that a note has.
        readings = [list_words(parsed), " ".join(_find_texts(parsed, excluded=True))]
    for words in readings:
        ranked = rank(words)
        if ranked.total:
            return Answered(ranked, reason=reason)
    # Signs alone, such as `:)`, are no words, but a note may contain them.
    return Answered(exact=search_literally(query, search), reason=reason)


def search_literally(text: str, search: Callable[[str], Found]) -> Found:
    """Finds the notes that contain a text as it is, or its beginning if it is too long for a query."""
    escaped = replace_surrogates(text.strip()).replace("\\", "\\\\").replace('"', '\\"')
    if len(escaped) > LITERAL_CHARS:
        escaped = escaped[:LITERAL_CHARS].rstrip("\\")
    return search(f'"{escaped}"')


def list_words(query: Query) -> str:
    """Returns what a query asks for, as plain words. What it excludes counts only if there is nothing else:
    the `-n` of a command is one."""
    wanted = list(_find_texts(query, excluded=False))
    return " ".join(wanted or _find_texts(query, excluded=True))


def _find_texts(query: Query, *, excluded: bool) -> Iterator[str]:
    match query:
        case Term(text):
            yield text
        case RegexTerm(pattern):
            yield _ESCAPED.sub(" ", pattern)
        case HasTag(name):
            yield name
        case And(parts) | Or(parts):
            for part in parts:
                yield from _find_texts(part, excluded=excluded)
        case Within(_, part) | Cased(_, part):
            yield from _find_texts(part, excluded=excluded)
        case HasProperty(name, value):
            yield from _find_texts(name, excluded=excluded)
            yield from _find_texts(value, excluded=excluded)
        case Not(part) if excluded:
            yield from _find_texts(part, excluded=excluded)
        case _:
            pass
