"""The catalog of tools: which tools a connection sees, and how a call reaches one.

Tools may be added, removed and switched off while the server runs, and listeners are notified. `standard.py`
lists our own tools; `plugins.registry` adds those of others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from vaultbridge.activity.records import TOOL_PREFIX
from vaultbridge.errors import InvalidArgument, InvalidPath, NotFound, PermissionDenied
from vaultbridge.review.policy import ChangePending
from vaultbridge.tools.base.answer import Answer, answer_data
from vaultbridge.tools.base.arguments import (
    convert,
    find_vault_of_paths,
    has_absolute_path,
    make_relative,
    merge_path_alias,
    name_path_argument,
)
from vaultbridge.tools.base.schema import add_vault_argument, load_schema
from vaultbridge.tools.base.tool import (
    AnyTool,
    ForeignTool,
    ListedTool,
    Profile,
    Tool,
    ToolContext,
    build_annotations,
)
from vaultbridge.tools.suggestions import CHANGED_BY, find_tool

MAX_TOOLS: Final = 500
"""The most tools at once: a plugin that keeps adding is a bug, and no client shows more."""

MAX_LISTINGS: Final = 32
"""How many lists are cached, one for each kind of connection; there are few kinds."""


class Catalog:
    """Thread-safe. `call` blocks as long as the tool does."""

    def __init__(self, tools: Iterable[AnyTool] = ()) -> None:
        self._guard = threading.Lock()
        self._tools: dict[str, AnyTool] = {}
        self._off: frozenset[str] = frozenset()
        self._listings: dict[tuple[Any, ...], tuple[ListedTool, ...]] = {}
        self._listeners: list[Callable[[], None]] = []
        for tool in tools:
            self.add(tool)

    # Contents

    def add(self, tool: AnyTool) -> None:
        """Raises InvalidArgument when the name is taken."""
        with self._guard:
            if tool.name in self._tools:
                raise InvalidArgument(f"There is already a tool named {tool.name!r}.", argument="name")
            if len(self._tools) >= MAX_TOOLS:
                raise InvalidArgument(f"There are already {MAX_TOOLS} tools.", argument="name")
            self._tools = {**self._tools, tool.name: tool}
        self._announce_change()

    def remove(self, name: str) -> None:
        """Remove a tool, or all tools of a group. Removing what does not exist is not an error."""
        with self._guard:
            kept = {key: tool for key, tool in self._tools.items() if name not in (key, tool.group)}
            if len(kept) == len(self._tools):
                return
            self._tools = kept
        self._announce_change()

    def replace_tools(self, names: Iterable[str], tools: Iterable[AnyTool]) -> None:
        """Replace the named tools with `tools` in one step: a list or a call sees either the old ones or the
        new ones. Raises InvalidArgument if a name is taken, and then changes nothing."""
        old, new = set(names), {tool.name: tool for tool in tools}
        with self._guard:
            kept = {key: tool for key, tool in self._tools.items() if key not in old}
            if taken := next((name for name in new if name in kept), ""):
                raise InvalidArgument(f"There is already a tool named {taken!r}.", argument="name")
            if len(kept) + len(new) > MAX_TOOLS:
                raise InvalidArgument(f"There may be at most {MAX_TOOLS} tools.", argument="name")
            # At the place of the first old one, so that the others keep their order.
            before = next((place for place, key in enumerate(self._tools) if key in old), len(kept))
            order = list(kept.items())
            self._tools = dict([*order[:before], *new.items(), *order[before:]])
        self._announce_change()

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a tool or a group on or off. This also applies to tools that are added later."""
        with self._guard:
            off = self._off - {name} if on else self._off | {name}
            if off == self._off:
                return
            self._off = off
        self._announce_change()

    def is_off(self, name: str) -> bool:
        """Whether this name was switched off, even if the catalog has no such tool."""
        return name in self._off

    def get(self, name: str) -> AnyTool | None:
        """Find a tool by its name, with or without the prefix, even if it is switched off."""
        tool = self._tools.get(name)
        return tool if tool is not None else self._tools.get(name.removeprefix(TOOL_PREFIX))

    def changes(self, name: str) -> bool:
        """Whether the tool exists, is switched on, and does more than read."""
        tool = self.get(name)
        return tool is not None and self._is_on(tool) and tool.effect != "reads"

    def may_change(self, name: str) -> bool:
        """Whether a call of the tool could change a vault. Tools from outside get the engine itself."""
        tool = self.get(name)
        return tool is not None and (tool.effect != "reads" or isinstance(tool, ForeignTool))

    def may_take_long(self, name: str) -> bool:
        """Whether a call of the tool may compute for more than some milliseconds."""
        tool = self.get(name)
        return isinstance(tool, Tool) and tool.long

    def names(self, prefix: str = TOOL_PREFIX) -> tuple[str, ...]:
        """The names of all tools that are switched on."""
        return tuple(self._full_name(tool, prefix) for tool in self._list_on())

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, from any thread, whenever the list of tools may have changed. Returns a function
        that stops it."""
        with self._guard:
            self._listeners = [*self._listeners, listener]

        def stop() -> None:
            with self._guard:
                self._listeners = [other for other in self._listeners if other is not listener]

        return stop

    # Lists

    def list_tools(
        self,
        *,
        profile: Profile = "full",
        read_only: bool = False,
        vaults: tuple[str, ...] = (),
        prefix: str = TOOL_PREFIX,
    ) -> tuple[ListedTool, ...]:
        """The tools in order; cached. `vaults` are the names of the open vaults: if there are several, every
        tool gets an argument to choose one."""
        key = (profile, read_only, vaults, prefix)
        kept = self._listings
        if key not in kept:
            listed = tuple(
                self._describe(tool, vaults, prefix)
                for tool in self._list_on()
                if _is_offered(tool, profile, read_only=read_only)
            )
            with self._guard:
                if kept is self._listings:
                    if len(kept) >= MAX_LISTINGS:
                        kept.clear()
                    kept[key] = listed
            return listed
        return kept[key]

    def _describe(self, tool: AnyTool, vaults: tuple[str, ...], prefix: str) -> ListedTool:
        if isinstance(tool, ForeignTool):
            schema = tool.input_schema
        else:
            schema = load_schema(tool.arguments)
            if len(vaults) > 1:
                schema = add_vault_argument(schema, vaults)
        return ListedTool(
            name=self._full_name(tool, prefix),
            title=tool.title,
            description=tool.description,
            input_schema=schema,
            annotations=build_annotations(tool.effect, idempotent=tool.idempotent),
        )

    # Calls

    def call(self, name: str, arguments: dict[str, Any], context: ToolContext) -> Answer:
        """Run a tool, named with or without the prefix. Raises NotFound for an unknown tool,
        InvalidArgument for a wrong argument, PermissionDenied for a change where the vault is read-only, and
        whatever the tool raises. A change that waits for a person is not a failure: the answer reports it as
        pending."""
        try:
            return self._call(name, arguments, context)
        except InvalidPath as error:
            name_path_argument(error, arguments)
            raise
        except ChangePending as pending:
            return answer_data(pending.facts, changed=False)

    def _call(self, name: str, arguments: dict[str, Any], context: ToolContext) -> Answer:
        tool = self._find_callable(name, context)
        if tool is None:
            raise NotFound(name, closest=self._find_closest(name), what="tool")
        if tool.effect != "reads" and (context.read_only or context.profile == "read-only"):
            raise _read_only_error(tool)
        if isinstance(tool, ForeignTool):
            # Even if it says that it only reads, it is the plugin that says so.
            return tool.run(context.for_changing(), arguments)
        try:
            vault, filled = _convert_arguments(tool, arguments, context)
        except InvalidArgument as error:
            if error.argument == "action" and tool.effect == "reads" and tool.name in CHANGED_BY:
                changer = CHANGED_BY[tool.name]
                error.hint = f"{tool.name} only reads; use {changer} to change something. {error.hint}"
            raise
        limited = context.for_reading() if tool.effect == "reads" else context.for_changing()
        return tool.run(limited.for_vault(vault), filled)

    def _find_callable(self, name: str, context: ToolContext) -> AnyTool | None:
        tool = self.get(name)
        if tool is None or not self._is_on(tool) or (context.profile == "core" and not tool.core):
            return None
        return tool

    def _find_closest(self, name: str) -> tuple[str, ...]:
        prefix = TOOL_PREFIX if name.startswith(TOOL_PREFIX) else ""
        found, _ = find_tool(
            name, {self._full_name(tool, prefix): tool.effect != "changes" for tool in self._list_on()}
        )
        return (found,) if found else ()

    def _full_name(self, tool: AnyTool, prefix: str) -> str:
        return tool.name if isinstance(tool, ForeignTool) else prefix + tool.name

    def _is_on(self, tool: AnyTool) -> bool:
        return tool.name not in self._off and tool.group not in self._off

    def _list_on(self) -> list[AnyTool]:
        return [tool for tool in self._tools.values() if self._is_on(tool)]

    def _announce_change(self) -> None:
        with self._guard:
            self._listings = {}
            listeners = self._listeners
        for listener in listeners:
            listener()


def _convert_arguments(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> tuple[str, Struct]:
    """The vault to use and the tool's own arguments. Raises InvalidArgument."""
    vault = arguments.get("vault") or ""
    if not isinstance(vault, str):
        raise InvalidArgument(
            f"vault is {vault!r}.", argument="vault", hint=f"Give one of: {', '.join(context.vaults)}."
        )
    rest = {key: value for key, value in arguments.items() if key != "vault"}
    if has_absolute_path(rest):
        vault = find_vault_of_paths(rest, vault, context)
        rest = make_relative(rest, context.for_vault(vault).engine.make_vault_relative)
    rest = merge_path_alias(rest, tool.note)
    return vault, convert(rest, tool.arguments, also=("path",) if tool.note else ())


def _is_offered(tool: AnyTool, profile: Profile, *, read_only: bool) -> bool:
    if profile == "core" and not tool.core:
        return False
    return tool.effect == "reads" or not (read_only or profile == "read-only")


def _read_only_error(tool: AnyTool) -> PermissionDenied:
    return PermissionDenied(
        f"{tool.name} would change the vault, which is open read-only.",
        hint="You can read and search.",
    )
