"""One thing an assistant may do: its name, what it takes, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.tools.answer import Answer
from vaultbridge.tools.workshop import Bench, Workshop

Effect: TypeAlias = Literal["reads", "adds", "changes"]
"""What a tool may do at most: `reads` leaves everything as it is, `adds` never takes anything away, `changes`
may replace or delete. Clients ask a person before they call a tool that does not only read, so no tool does
both: listing tags must need no approval."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of ours. `name` is bare; a dialect may prefix it. `arguments` is a frozen Struct: its fields are
    the arguments, and `run` gets it filled in. `title` is for people, where it says more than the name.

    `note` is the argument that names a note or file: `path` is taken as another word for it. `ready` gives
    what `run` would, if it can do so without ever waiting for anything, and else None: a server asks it in
    its event loop."""

    name: str
    description: str
    arguments: type[Struct]
    run: Callable[[Bench, Any], Answer]
    group: str
    title: str = ""
    ready: Callable[[Bench, Any], Answer | None] | None = None
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
    run: Callable[[Workshop, dict[str, Any]], Answer]
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


def hints_of(effect: Effect, *, idempotent: bool) -> dict[str, bool]:
    """What a client decides by when it asks a person. That a tool is destructive is the protocol's default
    and is stated all the same: not every client knows the defaults."""
    if effect == "reads":
        return {"readOnlyHint": True}
    hints = {"destructiveHint": effect == "changes"}
    return {**hints, "idempotentHint": True} if idempotent else hints
