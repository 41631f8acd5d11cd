"""What a person sees on standard error when a vault they named is not there.

A client that spawned us shows a dead server badly, so the process goes on and its tools say what is wrong.
Whoever typed the command, or reads the client's log, needs the path: it is their own screen. Each vault is
told of once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable


class MissingVaults:
    def __init__(self) -> None:
        self._told: set[str] = set()

    def look(self, texts: Iterable[str], *, names_too: bool) -> None:
        """Tell of the folders that are not there. A name that Obsidian may know is only looked up when
        `names_too`: that reads Obsidian's list, for which no client should wait."""
        for text in texts:
            place = os.path.expanduser(text)  # noqa: PTH111 - this stands before the first answer
            if os.path.isdir(place):  # noqa: PTH112
                continue
            if os.path.basename(place) != place:  # noqa: PTH119
                self.tell(text)
            elif names_too:
                from vaultbridge.errors import VaultNotFound
                from vaultbridge.vault.known import find_vault

                try:
                    find_vault(text)
                except VaultNotFound:
                    self.tell(text)

    def tell(self, text: str) -> None:
        if text in self._told:
            return
        self._told.add(text)
        place = os.path.expanduser(text)  # noqa: PTH111
        try:
            place = os.path.abspath(place)  # noqa: PTH100
        except FileNotFoundError:
            # The folder that we were started in is gone.
            place = text
        shown = "".join(char if char.isprintable() else "�" for char in place)
        sys.stderr.write(
            f"vaultbridge stdio: there is no vault at {shown}; tools answer VAULT_NOT_FOUND until there is.\n"
        )
        sys.stderr.flush()
