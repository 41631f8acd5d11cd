"""One thing an assistant may do: its name, what it takes, and the function that does it.

What a tool works with: the vaults that are open, who asks, and the few things outside of a vault.

A `ToolContext` stands for one connection, a `VaultContext` for one call on one vault. Both are cheap: a
dialect makes one with another `actor` or `progress` for each call (`msgspec.structs.replace`). Nothing here
opens a vault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, VaultNotFound
from vaultbridge.tools.base.answer import Answer

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


class SelectedText(Struct, frozen=True):
    """What is selected in the active note; lines are counted from 1. Empty text is only a cursor."""

    text: str
    first_line: int
    last_line: int


class OpenFile(Struct, frozen=True):
    """One open file. `dirty`: its editor holds text that is not saved."""

    path: str
    dirty: bool = False


class ActiveNote(Struct, frozen=True):
    """The note a person is in. `selected` is None when the source knows no selection."""

    path: str
    selected: SelectedText | None = None


class EditorAccess(Protocol):
    """What a connected editor tells of one vault, which is named by its folder: two may be called alike. It
    already leaves out what assistants may not see."""

    def focus(self, folder: Path) -> ActiveNote | None: ...

    def open_files(self, folder: Path) -> Sequence[OpenFile]: ...


class AppAccess(Protocol):
    """The running Obsidian app."""

    def show(self, vault: str, path: str, subpath: str) -> None:
        """Bring a file to the front. `subpath` is empty, `#Heading` or `#^block`. Raises
        ObsidianNotRunning."""
        ...


class ToolContext(Struct, frozen=True, kw_only=True):
    """`engines` by the vault's name, in the order they are listed; a mapping that opens an engine when it is
    asked for one will do. `editor` None: what is open comes from the app's workspace file, as long as
    `shares_open_files` says so; an editor decides for itself. `app` None: the app of this machine.
    `read_only` refuses every change whatever the engines' scopes allow. `index_wait` is how many seconds a
    question may wait for a first build of the index before it is answered in part."""

    engines: Mapping[str, Engine]
    actor: str = "tools"
    editor: EditorAccess | None = None
    shares_open_files: Callable[[], bool] = always
    app: AppAccess | None = None
    progress: Progress = no_progress
    profile: Profile = "full"
    read_only: bool = False
    index_wait: float = 0.0

    @property
    def vaults(self) -> tuple[str, ...]:
        return tuple(self.engines)

    def for_vault(self, vault: str = "") -> VaultContext:
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
        return VaultContext(self.engines[vault], self)


class VaultContext(Struct, frozen=True):
    engine: Engine
    tool_context: ToolContext


Effect: TypeAlias = Literal["reads", "adds", "changes"]
"""What a tool may do at most: `reads` leaves everything as it is, `adds` never takes anything away, `changes`
may replace or delete. Clients ask a person before they call a tool that does not only read, so no tool does
both: listing tags must need no approval."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of ours. `name` is bare; a dialect may prefix it. `arguments` is a frozen Struct: its fields are
    the arguments, and `run` gets it filled in. `title` is for people, where it says more than the name.

    `note` is the argument that names a note or file: `path` is taken as another word for it. `run_at_once`
    gives what `run` would, if it can do so without ever waiting for anything, and else None: a server calls
    it in its event loop."""

    name: str
    description: str
    arguments: type[Struct]
    run: Callable[[VaultContext, Any], Answer]
    group: str
    title: str = ""
    run_at_once: Callable[[VaultContext, Any], Answer | None] | None = None
    effect: Effect = "reads"
    idempotent: bool = False
    core: bool = False
    output_schema: dict[str, Any] | None = None
    note: str = ""


class ForeignTool(Struct, frozen=True, kw_only=True):
    """A tool that somebody else brings, such as a plugin: its schema as it stands, and a function that takes
    the arguments as they came. It is answerable for its own checks."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[ToolContext, dict[str, Any]], Answer]
    group: str
    title: str = ""
    effect: Effect = "changes"
    idempotent: bool = False
    core: bool = False
    output_schema: dict[str, Any] | None = None


AnyTool: TypeAlias = Tool | ForeignTool


class ListedTool(Struct, frozen=True, kw_only=True):
    """A tool as a client is told of it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, bool]

    def wire(self) -> dict[str, Any]:
        """As the newest MCP version writes it."""
        form: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.title:
            form["title"] = self.title
        if self.output_schema is not None:
            form["outputSchema"] = self.output_schema
        if self.annotations:
            form["annotations"] = self.annotations
        return form


def build_annotations(effect: Effect, *, idempotent: bool) -> dict[str, bool]:
    """What a client decides by when it asks a person. That a tool is destructive is the protocol's default
    and is stated all the same: not every client knows the defaults."""
    if effect == "reads":
        return {"readOnlyHint": True}
    hints = {"destructiveHint": effect == "changes"}
    return {**hints, "idempotentHint": True} if idempotent else hints
