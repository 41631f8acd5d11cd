"""Finds patterns of a scope that match nothing in a vault, and the name that was probably meant.

A pattern with a typing error hides nothing, and nobody notices until an assistant quotes a diary. That is not
an error, because the folder may be made later, so it is only said: in the log of a server, which no caller
sees, by `doctor`, and by `token make`. What it says names files and folders, so it is for the owner alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.links.resolve import name_key
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.walk import list_folders

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.server.config.model import Config, VaultConfig
    from vaultbridge.tokens import AccessToken

MATCHES_TRIED: Final = 2_000_000
"""How many comparisons of a pattern with a path are made for one vault, which takes about two seconds. If
there are more patterns than that allows, only the first ones are checked."""

NAMES_COMPARED: Final = 20_000
"""How many names are compared with a mistyped one: comparing takes some 10 µs each. The folders come first,
and no vault has more of those."""

SIMILARITY: Final = 0.75
"""How similar a name must be to be suggested: two letters swapped in a word of six."""

ANYWHERE: Final = "**/"
"""How a pattern begins that matches at any depth."""

_QUOTES: Final = "'\"`“”‘’„«»"
_WILDCARDS: Final = "*?[{"

log = logging.getLogger("vaultbridge.scope")


class ScopePattern(Struct, frozen=True):
    """A pattern, and where it was written: `--deny`, `deny of the token phone`. `effect` is what it would
    do."""

    where: str
    pattern: str
    effect: str = "hides"


class UnusedPattern(Struct, frozen=True):
    """`empty_folder` is a folder without files that the pattern matches: then it is not mistyped."""

    written: ScopePattern
    suggestion: str = ""
    empty_folder: str = ""

    def __str__(self) -> str:
        written = self.written
        text = f"The pattern {written.pattern!r} ({written.where}) {written.effect} nothing"
        if self.empty_folder:
            empty = f"the folder {self.empty_folder!r} is there, but no file of the vault is in it"
            return f"{text} yet: {empty}."
        advice = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"{text}: no file or folder of the vault matches it.{advice}"


def list_scope_patterns(where: str, allow: Iterable[str], deny: Iterable[str]) -> Iterator[ScopePattern]:
    """`where` names the place of both, such as `[scope]`."""
    yield from (ScopePattern(f"deny{where}", pattern) for pattern in deny)
    yield from (ScopePattern(f"allow{where}", pattern, "allows") for pattern in allow)


def list_patterns(
    config: Config, vault: VaultConfig | None, vault_name: str, tokens: Iterable[AccessToken] = ()
) -> list[ScopePattern]:
    """All patterns that the configuration and these tokens, which are for this vault, have for it."""
    patterns = [*list_scope_patterns("", config.scope.allow, config.scope.deny)]
    if vault is not None:
        patterns += list_scope_patterns(f" of the vault {vault_name}", vault.allow, vault.deny)
    for token in tokens:
        patterns += list_scope_patterns(f" of the token {token.name}", token.allow, token.deny)
    private = config.embeddings.private if config.embeddings.url else ()
    return patterns + [ScopePattern("embeddings.private", pattern, "keeps back") for pattern in private]


def find_unused(
    patterns: Sequence[ScopePattern], files: Collection[str], read_folders: Callable[[], Iterable[str]]
) -> list[UnusedPattern]:
    """Finds the patterns that match none of these files, nor a folder that contains one. Only if there are
    any, `read_folders` is asked for all folders: those without files are known to the disk alone."""
    filled = _list_filled_folders(files)
    names = [*filled, *files]
    unused = [
        written
        for written in patterns[: _count_checked(names)]
        if _find_match(written.pattern, names) is None
    ]
    if not unused:
        return []
    empty = sorted({f"{folder}/" for folder in read_folders()}.difference(filled), key=_rank_folder)
    folders = sorted([*filled, *empty], key=_rank_folder)
    names += empty
    return [
        UnusedPattern(written, empty_folder=folder.rstrip("/"))
        if (folder := _find_match(written.pattern, empty))
        else UnusedPattern(written, _suggest(written.pattern, folders, files, names))
        for written in unused[: _count_checked(empty)]
    ]


def _list_filled_folders(files: Iterable[str]) -> set[str]:
    """The folders that contain one of these files at any depth, with a slash at their end."""
    folders: set[str] = set()
    for path in files:
        while (path := path.rpartition("/")[0]) and f"{path}/" not in folders:
            folders.add(f"{path}/")
    return folders


def _rank_folder(folder: str) -> tuple[int, str]:
    """For sorting: those at the top first."""
    return folder.count("/"), folder


def _count_checked(names: Sequence[str]) -> int:
    """How many patterns may be compared with all of these names."""
    return max(1, MATCHES_TRIED // max(1, len(names)))


def _find_match(pattern: str, names: Iterable[str]) -> str | None:
    visible = Scope(deny=(pattern,)).visible
    return next((name for name in names if not visible(name.rstrip("/"))), None)


def _suggest(pattern: str, folders: Sequence[str], files: Collection[str], names: Sequence[str]) -> str:
    """The pattern that was probably meant; "" if nothing is similar. It matches something."""
    bare = pattern.strip().strip(_QUOTES)
    candidates = [bare] if bare != pattern.strip() else []
    body = bare.replace("\\", "/")
    anywhere = body.startswith(ANYWHERE)
    literal, wild = _split_wildcards(body.removeprefix(ANYWHERE).strip("/"))
    if literal:
        ending = wild or ("/" if body.endswith("/") else "")
        # A pattern that ends with a slash, or goes on, means a folder.
        for found in _find_similar(literal, folders, () if ending else files):
            place = found.rstrip("/")
            candidates.append(f"{ANYWHERE}{place.rpartition('/')[2]}{ending}" if anywhere else place + ending)
    for candidate in candidates:
        if candidate and _find_match(candidate, names) is not None:
            return candidate
    return ""


def _split_wildcards(body: str) -> tuple[str, str]:
    """The folders at the beginning that contain no wildcard, and the rest with a slash before it."""
    parts = body.split("/")
    for number, part in enumerate(parts):
        if any(mark in part for mark in _WILDCARDS):
            return "/".join(parts[:number]), "/" + "/".join(parts[number:])
    return body, ""


def _find_similar(wanted: str, folders: Sequence[str], files: Iterable[str]) -> Iterator[str]:
    """Names that may have been meant: the same name elsewhere, then similar names."""
    key = name_key(wanted)
    by_key = {name_key(folder.rstrip("/")): folder for folder in reversed(folders[:NAMES_COMPARED])}
    for path in files:
        if len(by_key) >= NAMES_COMPARED:
            break
        by_key.setdefault(name_key(path), path)
    elsewhere = [
        found for found in by_key if found.removesuffix(".md").endswith(f"/{key.removesuffix('.md')}")
    ]
    if len(elsewhere) > 1:
        yield f"**/{wanted}"
    yield from (by_key[found] for found in elsewhere[:1])
    for found in get_close_matches(key, by_key, n=1, cutoff=SIMILARITY):
        yield by_key[found]
    last = key.rpartition("/")[2]
    by_name: dict[str, str] = {}
    for found, path in by_key.items():
        by_name.setdefault(found.rpartition("/")[2].removesuffix(".md"), path)
    for found in get_close_matches(last.removesuffix(".md"), by_name, n=1, cutoff=SIMILARITY):
        yield by_name[found]


class PatternReporter:
    """Says once about each pattern of a running server that it matches nothing. Call `check` now and then: it
    costs nothing while there is no new pattern, and waits for no index."""

    def __init__(self) -> None:
        self._checked: set[tuple[str, ScopePattern]] = set()

    def check(self, vaults: Mapping[str, tuple[Engine, Sequence[ScopePattern]]]) -> None:
        """A pattern that applies to several vaults has to match something in one of them."""
        if not all(engine.queries.status.complete for engine, _ in vaults.values()):
            return
        unused: dict[ScopePattern, UnusedPattern] = {}
        used: set[ScopePattern] = set()
        for name, (engine, patterns) in vaults.items():
            fresh = [pattern for pattern in patterns if (name, pattern) not in self._checked]
            if not fresh:
                used.update(patterns)
                continue
            read_folders = partial(list_folders, engine.root)
            unmatched = find_unused(fresh, list(engine.queries.table()), read_folders)
            found = {about.written: about for about in unmatched}
            used.update(pattern for pattern in fresh if pattern not in found)
            for written, about in found.items():
                if about.empty_folder or written not in unused:
                    unused[written] = about
            self._checked.update((name, pattern) for pattern in fresh)
        for written, about in unused.items():
            if written not in used:
                log.log(logging.INFO if about.empty_folder else logging.WARNING, "%s", about)
