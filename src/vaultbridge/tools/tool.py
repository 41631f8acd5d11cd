"""One thing an assistant may do: its name, what it takes, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.tools.answer import Answer
from vaultbridge.tools.workshop import Bench, Workshop

Effect: TypeAlias = Literal["reads", "adds", "changes"]
"""What a tool may do at most: `reads` leaves everything as it is, `adds` never takes anything away (undo
apart), `changes` may replace or delete."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of ours. `name` is bare; a dialect may prefix it. `arguments` is a frozen Struct: its fields are
    the arguments, and `run` gets it filled in.

    A tool that both reads and changes has `reading`, the arguments it takes where nothing may be changed, and
    `changing`, which tells for one call whether it would change something. `note` is the argument that names
    a note or file: `path` is taken as another word for it. `ready` gives what `run` would, if it can do so
    without ever waiting for anything, and else None: a server asks it in its event loop."""

    name: str
    title: str
    description: str
    arguments: type[Struct]
    run: Callable[[Bench, Any], Answer]
    group: str
    ready: Callable[[Bench, Any], Answer | None] | None = None
    effect: Effect = "reads"
    idempotent: bool = False
    core: bool = False
    output_schema: dict[str, Any] | None = None
    reading: type[Struct] | None = None
    reading_description: str = ""
    changing: Callable[[Any], bool] | None = None
    note: str = ""


class ForeignTool(Struct, frozen=True, kw_only=True):
    """A tool that somebody else brings, such as a plugin: its schema as it stands, and a function that takes
    the arguments as they came. It is answerable for its own checks."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[Workshop, dict[str, Any]], Answer]
    group: str
    title: str = ""
    effect: Effect = "changes"
    idempotent: bool = False
    core: bool = False
    output_schema: dict[str, Any] | None = None


AnyTool: TypeAlias = Tool | ForeignTool


class ListedTool(Struct, frozen=True, kw_only=True):
    """A tool as a client is told of it. Hints that are the protocol's own defaults are left out of
    `annotations`."""

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
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.output_schema is not None:
            form["outputSchema"] = self.output_schema
        if self.annotations:
            form["annotations"] = self.annotations
        return form


def hints_of(effect: Effect, *, idempotent: bool) -> dict[str, bool]:
    """Only what differs from the protocol's defaults: not read-only, destructive, not idempotent."""
    if effect == "reads":
        return {"readOnlyHint": True}
    hints = {"destructiveHint": False} if effect == "adds" else {}
    return {**hints, "idempotentHint": True} if idempotent else hints
