"""Which assistants a person has paused, for all processes that serve a vault.

The list is a small file in the vault's state folder. `vaultbridge serve`, every `vaultbridge stdio` and the
command line share it, so a pause takes effect at once wherever the assistant is connected, when it
reconnects, and when the server restarts: it ends only when a person ends it. A process looks at the file's
stat before every call: two microseconds, and no call slips through after the page has said that its assistant
is paused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure
from vaultbridge.system import FileStat, make_private_folder, read_private, stat_file, write_private

FILE_NAME: Final = "paused.json"

PAUSES: Final = 200
"""Assistants that can be paused one by one; beyond that only all at once."""


class PauseList(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """`everyone` also pauses assistants that have never been seen. `identities` maps each paused one to its
    name for people."""

    everyone: bool = False
    identities: dict[str, str] = {}


NOBODY: Final = PauseList()
EVERYONE: Final = PauseList(everyone=True)


class VaultPauses:
    """The list of one vault. If the file cannot be read, the list stays as it was. A process that has not
    read it before then pauses everyone: somebody was paused, and nobody knows any more who."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE_NAME
        self._file_text = str(self._file)
        self._stat: FileStat | None = None
        self._was_read = False
        self._list = NOBODY

    def read(self) -> PauseList:
        if self._stat is None and not os.access(self._file_text, os.F_OK):
            # The usual case: nobody was paused, and nobody is. `stat` would raise, which takes longer.
            return self._list
        stat = stat_file(self._file)
        if stat != self._stat:
            self._stat = stat
            self._list = self._load()
        return self._list

    def write(self, changed: PauseList) -> None:
        """Store the list. Raises EngineFailure when that fails; the list then stays as it was."""
        try:
            if changed == NOBODY:
                self._file.unlink(missing_ok=True)
            else:
                make_private_folder(self._file.parent)
                write_private(self._file, msgspec.json.format(msgspec.json.encode(changed)) + b"\n")
        except OSError as error:
            raise EngineFailure(f"The pause cannot be stored: {os.strerror(error.errno or 0)}.") from error
        self._stat = stat_file(self._file)
        self._was_read = True
        self._list = changed

    def _load(self) -> PauseList:
        if self._stat is None:
            return NOBODY
        unreadable = self._list if self._was_read else EVERYONE
        data = read_private(self._file)
        if data is None:
            return unreadable
        try:
            pauses = msgspec.json.decode(data, type=PauseList)
        except JSON_ERRORS:
            return unreadable
        self._was_read = True
        return pauses


class Pauses:
    """The lists of all vaults that a process serves. An assistant paused in one of them is paused."""

    def __init__(self, states: Iterable[Path]) -> None:
        self._vaults = tuple(VaultPauses(state) for state in states)

    @property
    def everyone(self) -> bool:
        return any(vault.read().everyone for vault in self._vaults)

    @property
    def identities(self) -> dict[str, str]:
        return {
            identity: name for vault in self._vaults for identity, name in vault.read().identities.items()
        }

    def is_paused(self, identity: str) -> bool:
        for vault in self._vaults:
            paused = vault.read()
            if paused.everyone or identity in paused.identities:
                return True
        return False

    def pause(self, identities: Iterable[tuple[str, str]]) -> None:
        """Pause assistants, given as (identity, name). Raises EngineFailure."""
        wanted = dict(identities)
        for vault in self._vaults:
            now = vault.read()
            merged = {**now.identities, **wanted}
            if len(merged) > PAUSES:
                raise EngineFailure(
                    f"{PAUSES} assistants are already paused.", hint="Resume some, or pause all at once."
                )
            vault.write(PauseList(now.everyone, merged))

    def resume(self, identities: Iterable[str]) -> None:
        """Resume assistants. This also ends a pause of everyone: to keep the others paused, pause them by
        name first."""
        gone = set(identities)
        for vault in self._vaults:
            kept = {key: name for key, name in vault.read().identities.items() if key not in gone}
            vault.write(PauseList(everyone=False, identities=kept))

    def pause_everyone(self) -> None:
        for vault in self._vaults:
            vault.write(PauseList(everyone=True, identities=vault.read().identities))

    def resume_everyone(self) -> None:
        for vault in self._vaults:
            vault.write(NOBODY)
