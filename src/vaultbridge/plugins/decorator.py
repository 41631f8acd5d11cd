'''A person's own function as a tool: the decorator, and what becomes of its type hints.

    from vaultbridge.plugins.decorator import tool
    from vaultbridge.engine import Engine

    @tool(effect="reads")
    def word_count(vault: Engine, note: str, minimum: int = 0) -> str:
        """Count the words of a note."""
        ...

Parameters become arguments by their hints and defaults; the docstring is the description. A parameter hinted
as `Engine` gets the open vault, one hinted as `ToolContext` everything a tool may use; callers see neither.
Text is answered as text, a dict as data, an `Answer` as it is. docs/plugins.md tells it at length.

The JSON Schema of a plugin's arguments: all that its hints say.

Our own tools' schemas are cut short, because everybody pays for them in every conversation
(`tools.base.schema`); a person who writes something for an assistant means it to be read. Kinds are written
out where they are used, because not every client follows references; one that contains itself is referred to.
'''

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, get_args, get_type_hints, overload

import msgspec

from vaultbridge.engine import Engine
from vaultbridge.errors import EngineFailure, InvalidArgument, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.tools.base.answer import Answer, TextPart, answer_text
from vaultbridge.tools.base.arguments import convert
from vaultbridge.tools.base.catalog import PREFIX
from vaultbridge.tools.base.schema import add_types
from vaultbridge.tools.base.tool import Effect, ForeignTool, ToolContext

_REFERENCE: Final = "#/$defs/"


def build_schema(arguments: type[msgspec.Struct], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`defaults` by argument: those that can be JSON are told. Raises TypeError for a kind that cannot."""
    whole = msgspec.json.schema(arguments)
    writer = _SchemaWriter(whole["$defs"])
    schema: dict[str, Any] = writer.written(whole)
    # That no other arguments are taken is told by the error that meets them.
    schema.pop("additionalProperties", None)
    required = schema.pop("required", [])
    properties = schema.pop("properties", {})
    for name, default in defaults.items():
        properties[name] |= _default_entry(default)
    # What a call cannot do without comes first: that is how a reader meets it.
    schema["properties"] = {name: properties[name] for name in [*required, *properties]}
    if required:
        schema["required"] = required
    return add_types({**schema, "$defs": writer.circular} if writer.circular else schema)


class _SchemaWriter:
    """`circular` are the kinds that contain themselves, as far as they were met."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._within: list[str] = []
        self.circular: dict[str, Any] = {}

    def written(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.written(member) for member in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            own = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
            return self._resolved(node["$ref"].removeprefix(_REFERENCE)) | own
        kept = {key: value for key, value in node.items() if key != "title"}
        if not kept.get("required", True):
            del kept["required"]
        # Names of properties are not keywords: one may be called title.
        properties = kept.pop("properties", None)
        # A default is a value, whatever it looks like.
        default = {"default": kept.pop("default")} if "default" in kept else {}
        found = {key: self.written(value) for key, value in kept.items()} | default
        if properties is not None:
            found["properties"] = {name: self.written(inner) for name, inner in properties.items()}
        return found

    def _resolved(self, name: str) -> dict[str, Any]:
        if name in self._within:
            if name not in self.circular:
                self.circular[name] = {}  # Met again while it is written.
                self.circular[name] = self._object(name)
            return {"$ref": _REFERENCE + name}
        self._within.append(name)
        try:
            return self._object(name)
        finally:
            self._within.pop()

    def _object(self, name: str) -> dict[str, Any]:
        # The docstring of a class is for its reader in the source.
        inner = {key: value for key, value in self._definitions[name].items() if key != "description"}
        found: dict[str, Any] = self.written(inner)
        return found


def _default_entry(default: Any) -> dict[str, Any]:
    """None says no more than that the argument may be left out."""
    if default is None:
        return {}
    try:
        # Written and read again: what is no JSON fails, and what becomes null there is not itself.
        value = msgspec.json.decode(msgspec.json.encode(default))
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}


NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
"""What model APIs accept as the name of a tool."""

ANSWER_BYTES: Final = 16 * MIB
"""The longest text that a plugin may answer: no client takes a larger message, and one that builds its answer
without end should hear of it."""

MARK: Final = "__vaultbridge_tool__"

log = logging.getLogger("vaultbridge.plugins")

F = TypeVar("F", bound=Callable[..., Any])


class ToolDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What the decorator leaves on a function; a loader makes the tool of it, because only it knows the
    group."""

    function: Callable[..., Any]
    name: str
    title: str
    group: str
    effect: Effect
    idempotent: bool


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    effect: Effect = "changes",
    name: str = "",
    title: str = "",
    group: str = "",
    idempotent: bool = False,
) -> Callable[[F], F]: ...


def tool(
    function: F | None = None,
    /,
    *,
    effect: Effect = "changes",
    name: str = "",
    title: str = "",
    group: str = "",
    idempotent: bool = False,
) -> F | Callable[[F], F]:
    """Offer a function as a tool, with or without options. `effect` is the most it may do: `reads`, `adds` or
    `changes`; only the first is offered where a vault is open read-only. The group is the file's name unless
    given."""

    def mark(function: F) -> F:
        marked = ToolDeclaration(
            function=function,
            name=name or function.__name__,
            title=title,
            group=group,
            effect=effect,
            idempotent=idempotent,
        )
        setattr(function, MARK, marked)
        return function

    return mark if function is None else mark(function)


def build_tool(marked: ToolDeclaration, *, group: str) -> ForeignTool:
    """The tool of a marked function. Raises InvalidArgument saying what is wrong with it."""
    if not NAME.fullmatch(marked.name):
        raise InvalidArgument(
            f"{marked.name!r} is no name for a tool.",
            hint="Letters, digits, _ and -, a letter first, at most 64.",
        )
    if marked.name.startswith(PREFIX):
        raise InvalidArgument(
            f"The name {marked.name!r} begins with {PREFIX}, as those of our own tools do.",
            hint="Give the tool another one.",
        )
    if marked.effect not in get_args(Effect):
        raise InvalidArgument(
            f"{marked.name}: its effect is {marked.effect!r}.",
            hint=f"It may be {', '.join(get_args(Effect))}.",
        )
    description = inspect.getdoc(marked.function) or ""
    if not description:
        raise InvalidArgument(f"{marked.name} has no docstring.", hint="It is what an assistant reads.")
    arguments, given, defaults = _read_signature(marked)
    try:
        schema = build_schema(arguments, defaults)
    except (TypeError, ValueError) as error:
        # The last line names the kind, those before are for who calls the library.
        why = str(error).strip().rpartition("\n")[2].rstrip(".")
        raise InvalidArgument(f"{marked.name}: its arguments cannot be JSON: {why}.") from error
    if Engine in given.values():
        vault = {"type": "string", "description": "needed when several vaults are open"}
        schema = {**schema, "properties": {**schema["properties"], "vault": vault}}

    def run(context: ToolContext, raw: dict[str, Any]) -> Answer:
        raw = dict(raw)
        own: dict[str, Any] = {}
        if Engine in given.values():
            chosen = raw.pop("vault", None) or ""
            engine = context.for_vault(chosen if isinstance(chosen, str) else "?").engine
            own = {key: engine for key, kind in given.items() if kind is Engine}
        own |= {key: context for key, kind in given.items() if kind is ToolContext}
        filled = convert(raw, arguments)
        values = {field: getattr(filled, field) for field in arguments.__struct_fields__}
        return _run(marked, {**own, **values})

    return ForeignTool(
        name=marked.name,
        title=marked.title,
        description=description,
        input_schema=schema,
        run=run,
        group=marked.group or group,
        effect=marked.effect,
        idempotent=marked.idempotent,
    )


def _read_signature(marked: ToolDeclaration) -> tuple[type[msgspec.Struct], dict[str, type], dict[str, Any]]:
    """The arguments as a Struct, the parameters that we fill in ourselves, and the defaults of the others."""
    try:
        hints = get_type_hints(marked.function, include_extras=True)
    except Exception as error:
        raise InvalidArgument(f"{marked.name}: its type hints cannot be read: {error}.") from error
    fields: list[Any] = []
    given: dict[str, type] = {}
    defaults: dict[str, Any] = {}
    for parameter in inspect.signature(marked.function).parameters.values():
        kind = hints.get(parameter.name)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InvalidArgument(f"{marked.name}: {parameter} cannot be an argument.")
        if kind is None:
            raise InvalidArgument(f"{marked.name}: {parameter.name} has no type hint.")
        if kind is Engine or kind is ToolContext:
            given[parameter.name] = kind
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            defaults[parameter.name] = parameter.default
            # A copy for each call, as for one that gave the argument: what it does to a list stays its own.
            default = msgspec.field(default_factory=partial(copy.deepcopy, parameter.default))
            fields.append((parameter.name, kind, default))
    if Engine in given.values() and any(name == "vault" for name, *_ in fields):
        raise InvalidArgument(
            f"{marked.name}: the argument vault is the one by which a caller chooses a vault.",
            hint="Call yours otherwise.",
        )
    arguments = msgspec.defstruct(
        marked.name.replace("-", "_"), fields, frozen=True, kw_only=True, forbid_unknown_fields=True
    )
    return arguments, given, defaults


def _run(marked: ToolDeclaration, values: dict[str, Any]) -> Answer:
    """Somebody else's code: whatever goes wrong in it is told without its innards."""
    try:
        result = marked.function(**values)
        answer = _build_answer(asyncio.run(result) if inspect.iscoroutine(result) else result)
        size = sum(len(part.text.encode()) for part in answer.content if isinstance(part, TextPart))
    except VaultbridgeError:
        raise
    except (Exception, SystemExit) as error:
        log.exception("the plugin tool %s failed", marked.name)
        raise EngineFailure(
            f"{marked.name} failed with {type(error).__name__}; the log says more."
        ) from error
    if size > ANSWER_BYTES:
        raise EngineFailure(f"{marked.name} answered {size} bytes; it may be {ANSWER_BYTES}.")
    return answer


def _build_answer(result: Any) -> Answer:
    """Raises what cannot be made JSON of."""
    match result:
        case Answer():
            return result
        case None:
            return answer_text("Done.")
        case str():
            return answer_text(result)
        case dict():
            text = msgspec.json.encode(result)
            # Decoded again: every protocol then says the same, whatever the values were in Python.
            return Answer((TextPart(text.decode()),), msgspec.json.decode(text))
        case _:
            return answer_text(msgspec.json.encode(result).decode())
