"""What a tool works with: the vaults that are open, who asks, and the few things outside of a vault.

A `Workshop` stands for one connection, a `Bench` for one call on one vault. Both are cheap: a dialect makes
one with another `actor` or `progress` for each call (`msgspec.structs.replace`). Nothing here opens a vault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, VaultNotFound

if TYPE_CHECKING:
    from pathlib import Path

    from vaultbridge.engine import Engine

Profile = Literal["core", "full", "read-only"]

Progress = Callable[[float, float | None, str], None]
"""How much is done, of how much (None: not known), and what is being done. Must not block."""


def no_progress(done: float, total: float | None, message: str) -> None:
    """For callers that nobody watches."""


def always() -> bool:
    return True


class Selected(Struct, frozen=True):
    """What is selected in the active note; lines are counted from 1. Empty text is only a cursor."""

    text: str
    first_line: int
    last_line: int


class Opened(Struct, frozen=True):
    """One open file. `dirty`: its editor holds text that is not saved."""

    path: str
    dirty: bool = False


class Focused(Struct, frozen=True):
    """The note a person is in. `selected` is None when the source knows no selection."""

    path: str
    selected: Selected | None = None


class EditorPort(Protocol):
    """What a connected editor tells of one vault, which is named by its folder: two may be called alike. It
    already leaves out what assistants may not see."""

    def focus(self, folder: Path) -> Focused | None: ...

    def open_files(self, folder: Path) -> Sequence[Opened]: ...


class AppPort(Protocol):
    """The running Obsidian app."""

    def show(self, vault: str, path: str, subpath: str) -> None:
        """Bring a file to the front. `subpath` is empty, `#Heading` or `#^block`. Raises
        ObsidianNotRunning."""
        ...


class Workshop(Struct, frozen=True, kw_only=True):
    """`engines` by the vault's name, in the order they are listed; a mapping that opens an engine when it is
    asked for one will do. `editor` None: what is open comes from the app's workspace file, as long as
    `shares_open` says so; an editor decides for itself. `app` None: the app of this machine. `read_only`
    refuses every change whatever the engines' scopes allow. `patience` is how many seconds a question may
    wait for a first build of the index before it is answered in part."""

    engines: Mapping[str, Engine]
    actor: str = "tools"
    editor: EditorPort | None = None
    shares_open: Callable[[], bool] = always
    app: AppPort | None = None
    progress: Progress = no_progress
    profile: Profile = "full"
    read_only: bool = False
    patience: float = 0.0

    @property
    def vaults(self) -> tuple[str, ...]:
        return tuple(self.engines)

    def bench(self, vault: str = "") -> Bench:
        """The place to work on one vault, which need not be named when there is only one. Raises
        VaultNotFound, or InvalidArgument when none is named and several are open."""
        names = self.vaults
        if not names:
            raise VaultNotFound("No vault is open.", hint="Name the vault's folder when starting the server.")
        if not vault:
            if len(names) > 1:
                raise InvalidArgument(
                    "vault is missing: several vaults are open.",
                    argument="vault",
                    hint=f"Give one of: {', '.join(names)}.",
                )
            vault = names[0]
        if vault not in self.engines:
            raise VaultNotFound(f"No vault named {vault!r} is open.", hint=f"Open are: {', '.join(names)}.")
        return Bench(self.engines[vault], self)


class Bench(Struct, frozen=True):
    engine: Engine
    shop: Workshop
