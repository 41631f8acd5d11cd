"""The definition of a tool, and the context in which one runs.

A `Tool` has a name, a Struct of arguments and a function. The function receives a `VaultContext`, which is
one vault within a `ToolContext`: the open vaults, who is calling, and the few things outside a vault that a
tool may use. A `ToolContext` belongs to a connection and is cheap to copy: a protocol makes one with another
`actor` or `progress` for each call (`msgspec.structs.replace`). Nothing here opens a vault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import InvalidArgument, VaultNotFound
from vaultbridge.tools.base.answer import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from vaultbridge.engine import Engine
    from vaultbridge.engine.gates import ChangeGate
    from vaultbridge.review.gate import Progress

Profile = Literal["core", "full", "read-only"]


def no_progress(done: float, total: float | None, message: str) -> None:
    """For calls whose progress nobody follows."""


def always() -> bool:
    return True


class SelectedText(Struct, frozen=True):
    """The selection in the active note; lines count from 1. Empty text means that there is only a cursor."""

    text: str
    first_line: int
    last_line: int


class OpenFile(Struct, frozen=True):
    """An open file. `dirty`: its editor has unsaved text."""

    path: str
    dirty: bool = False


class ActiveNote(Struct, frozen=True):
    """The note a person is working in. `selected` is None if the source does not know selections."""

    path: str
    selected: SelectedText | None = None


class EditorAccess(Protocol):
    """What a connected editor knows about a vault. The vault is given by its folder, because two vaults may
    have the same name. The editor leaves out what assistants may not see."""

    def focus(self, folder: Path) -> ActiveNote | None: ...

    def open_files(self, folder: Path) -> Sequence[OpenFile]: ...


class AppAccess(Protocol):
    """The running Obsidian app."""

    def show(self, vault: str, path: str, subpath: str) -> None:
        """Bring a file to the front. `subpath` is empty, `#Heading` or `#^block`. Raises
        ObsidianNotRunning."""
        ...


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a tool may use. `engines` are the open vaults by name, in the order they are listed; the mapping
    may open an engine on first access. Without an `editor`, the open files are those in the app's workspace
    file, if `shares_open_files` returns True; an editor decides for itself. Without an `app`, the app on this
    machine is used. `read_only` refuses every change whatever the engines' scopes allow. `gate` decides on
    every change that a tool makes; None lets all through. `index_wait` is how many seconds a question may
    wait for a first build of the index before it is answered in part."""

    engines: Mapping[str, Engine]
    actor: str = "tools"
    editor: EditorAccess | None = None
    shares_open_files: Callable[[], bool] = always
    app: AppAccess | None = None
    progress: Progress = no_progress
    profile: Profile = "full"
    read_only: bool = False
    index_wait: float = 0.0
    gate: ChangeGate | None = None

    @property
    def vaults(self) -> tuple[str, ...]:
        return tuple(self.engines)

    def for_vault(self, vault: str = "") -> VaultContext:
        """The context for one vault, which need not be named if it is the only one. Raises VaultNotFound,
        also while the vault's disk is missing, when settings and files that are not there would make an
        answer wrong; or InvalidArgument if no vault is named and several are open."""
        names = self.vaults
        if not names:
            raise VaultNotFound(
                "No vault is open.", hint="Give the vault's folder when you start the server."
            )
        if not vault:
            if len(names) > 1:
                raise InvalidArgument(
                    "vault is missing: several vaults are open.",
                    argument="vault",
                    hint=f"Give one of: {', '.join(names)}.",
                )
            vault = names[0]
        if vault not in self.engines:
            raise VaultNotFound(
                f"No vault named {vault!r} is open.", hint=f"Open vaults: {', '.join(names)}."
            )
        context = VaultContext(self.engines[vault], self)
        context.engine.root.check()
        return context

    def for_changing(self) -> ToolContext:
        """The context for a tool that changes something: its `engines` pass every change to the gate. The
        tool cannot reach any other engine."""
        gate = self.gate
        if gate is None:
            return self
        return replace(self, engines=_Engines(self.engines, lambda engine: engine.with_gate(gate)), gate=None)

    def for_reading(self) -> ToolContext:
        """The context for a tool that only reads: its `engines` change nothing, whatever the tool tries."""
        return replace(self, engines=_Engines(self.engines, lambda engine: engine.for_reading), gate=None)


class _Engines(Mapping[str, "Engine"]):
    """The same vaults, each as `limit` leaves it."""

    def __init__(self, engines: Mapping[str, Engine], limit: Callable[[Engine], Engine]) -> None:
        self._engines = engines
        self._limit = limit

    def __getitem__(self, name: str) -> Engine:
        return self._limit(self._engines[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._engines)

    def __len__(self) -> int:
        return len(self._engines)


class VaultContext(Struct, frozen=True):
    """One vault of a `ToolContext`: what the function of a tool receives."""

    engine: Engine
    tool_context: ToolContext


Effect: TypeAlias = Literal["reads", "adds", "changes"]
"""The most a tool may do: `reads` changes nothing, `adds` never removes or replaces anything, `changes` may.
Clients ask a person before they call a tool that does more than read, so no tool both reads and changes:
listing tags must not need approval."""


class Tool(Struct, frozen=True, kw_only=True):
    """A built-in tool. `name` has no prefix; the catalog adds one. `arguments` is a frozen Struct whose
    fields are the arguments, and `run` receives an instance. `title` is for people, where it says more than
    the name.

    `note` is the argument that names a note or file; `path` is accepted as another name for it. `long`:
    a call may compute for more than some milliseconds in a large vault, so a server lets reads pass it."""

    name: str
    description: str
    arguments: type[Struct]
    run: Callable[[VaultContext, Any], Answer]
    group: str
    title: str = ""
    effect: Effect = "reads"
    idempotent: bool = False
    core: bool = False
    long: bool = False
    note: str = ""


class ForeignTool(Struct, frozen=True, kw_only=True):
    """A tool from outside, such as a plugin's. It has its own schema, and its function receives the arguments
    unchecked."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[ToolContext, dict[str, Any]], Answer]
    group: str
    title: str = ""
    effect: Effect = "changes"
    idempotent: bool = False
    core: bool = False


AnyTool: TypeAlias = Tool | ForeignTool


class ListedTool(Struct, frozen=True, kw_only=True):
    """A tool as clients see it in a list."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, bool]

    def wire(self) -> dict[str, Any]:
        """The tool in the form of the newest MCP version."""
        form: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.title:
            form["title"] = self.title
        if self.annotations:
            form["annotations"] = self.annotations
        return form


def build_annotations(effect: Effect, *, idempotent: bool) -> dict[str, bool]:
    """The hints by which a client decides whether to ask a person. MCP's default is that a tool is
    destructive; this is stated all the same, because not every client knows the defaults."""
    if effect == "reads":
        return {"readOnlyHint": True}
    hints = {"destructiveHint": effect == "changes"}
    return {**hints, "idempotentHint": True} if idempotent else hints
