"""Finds the vaults that assistants on this machine use: those in the assistants' own lists of servers, those
of the configuration, and those of sessions that run now.

The list of servers in the current folder is not read: it may have come with the folder, and could name any
folder as a vault. A session that was started from it counts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vaultbridge.assistants.catalog import ASSISTANTS, find_config_file
from vaultbridge.assistants.config_file import list_servers, read_text
from vaultbridge.assistants.entry import list_entry_vaults, starts_vaultbridge
from vaultbridge.errors import JSON_ERRORS, VaultbridgeError
from vaultbridge.review.store import ReviewStore
from vaultbridge.server.config.model import choose_config
from vaultbridge.server.sessions import list_sessions
from vaultbridge.system import read_private
from vaultbridge.vault.folders import ABOUT_FILE, find_bases
from vaultbridge.vault.obsidian import find_vault


class KnownVault(Struct, frozen=True):
    """A vault that was used on this machine, its state folder and the process ids of the sessions that use it
    now."""

    folder: Path
    state: Path
    pids: tuple[int, ...]


def list_used_vaults(environ: Mapping[str, str]) -> list[Path]:
    """The folders that are there, each once: configured ones first. Raises InvalidArgument for an invalid
    configuration, whose limits must not be lost."""
    folders: dict[str, Path] = {}
    for folder in (*_list_configured(environ), *_list_connected(environ)):
        folders.setdefault(os.path.realpath(folder), folder)
    for known in list_known_vaults(environ):
        if known.pids:
            folders.setdefault(os.path.realpath(known.folder), known.folder)
    return [Path(real) for real, folder in folders.items() if folder.is_dir()]


def list_known_vaults(environ: Mapping[str, str]) -> list[KnownVault]:
    """The vaults that have a cache folder."""
    states = find_bases(environ).state
    return [
        # Its state folder has the name of its cache folder. It may not be there: nothing is made here.
        KnownVault(folder, states / cache.name, tuple(list_sessions(cache)))
        for folder, cache in list_caches(environ)
    ]


def count_waiting(state: Path) -> int:
    """How many changes wait for a person in the vault with this state folder, whether or not a bridge is
    running."""
    store = ReviewStore(state)
    try:
        return len(store.waiting())
    except VaultbridgeError:
        return 0  # `doctor` says what is wrong with the state folder
    finally:
        store.close()


def _list_configured(environ: Mapping[str, str]) -> Iterator[Path]:
    for vault in choose_config(environ).load().vaults:
        with contextlib.suppress(VaultbridgeError):
            yield Path(find_vault(vault.path, environ=environ))


def _list_connected(environ: Mapping[str, str]) -> Iterator[Path]:
    for assistant in ASSISTANTS:
        if assistant.base == "here":
            continue
        with contextlib.suppress(VaultbridgeError):
            text = read_text(find_config_file(assistant, environ, here=Path.cwd()))
            for entry in list_servers(text or "", assistant).values():
                if starts_vaultbridge(entry):
                    yield from list_entry_vaults(entry)


def list_caches(environ: Mapping[str, str]) -> Iterator[tuple[Path, Path]]:
    """Each vault that has a cache folder, with that folder."""
    base = find_bases(environ).cache
    try:
        caches = sorted(base.iterdir())
    except OSError:
        return
    for cache in caches:
        data = read_private(cache / ABOUT_FILE)
        try:
            folder = msgspec.json.decode(data or b"{}", type=dict[str, str])["vault"]
        except (*JSON_ERRORS, KeyError):
            continue
        yield Path(folder), cache
