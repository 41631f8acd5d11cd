"""The `tool` decorator: turns a plugin's function into a tool.

Parameters become arguments by their type hints and defaults; the docstring becomes the description. A
parameter hinted as `Engine` receives the open vault, one hinted as `ToolContext` receives the context of the
call; callers see neither. What the function returns becomes an `Answer`, and whatever it raises becomes an
error that reveals nothing about the machine. `loading` finds the decorated functions; docs/plugins.md is the
guide for authors.

The JSON Schema of a plugin's arguments says everything that the hints say. Our own tools' schemas are cut
short, because every conversation pays for them (`tools.base.schema`), but an author who writes something for
an assistant wants it read. Types are written out where they are used, because not every client follows
references; only a recursive type is a reference.
"""

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

from vaultbridge.activity.records import TOOL_PREFIX
from vaultbridge.engine import Engine
from vaultbridge.errors import EngineFailure, InvalidArgument, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.tools.base.answer import Answer, TextPart, answer_text
from vaultbridge.tools.base.arguments import convert
from vaultbridge.tools.base.schema import add_types
from vaultbridge.tools.base.tool import Effect, ForeignTool, ToolContext

_REFERENCE: Final = "#/$defs/"


def build_schema(arguments: type[msgspec.Struct], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The schema, with those of `defaults` that JSON can express. Raises TypeError for a type that it
    cannot."""
    whole = msgspec.json.schema(arguments)
    writer = _SchemaWriter(whole["$defs"])
    schema: dict[str, Any] = writer.write(whole)
    # An unknown argument is refused with an error that lists the known ones.
    schema.pop("additionalProperties", None)
    required = schema.pop("required", [])
    properties = schema.pop("properties", {})
    for name, default in defaults.items():
        properties[name] |= _default_entry(default)
    # Required arguments come first, because that is the order in which they are read.
    schema["properties"] = {name: properties[name] for name in [*required, *properties]}
    if required:
        schema["required"] = required
    return add_types({**schema, "$defs": writer.recursive} if writer.recursive else schema)


class _SchemaWriter:
    """`recursive` collects the types that contain themselves."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._within: list[str] = []
        self.recursive: dict[str, Any] = {}

    def write(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.write(member) for member in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            own = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
            return self._resolve(node["$ref"].removeprefix(_REFERENCE)) | own
        kept = {key: value for key, value in node.items() if key != "title"}
        if not kept.get("required", True):
            del kept["required"]
        # Property names are not keywords: a property may be called "title".
        properties = kept.pop("properties", None)
        # A default is a value, even if it looks like a schema.
        default = {"default": kept.pop("default")} if "default" in kept else {}
        written = {key: self.write(value) for key, value in kept.items()} | default
        if properties is not None:
            written["properties"] = {name: self.write(inner) for name, inner in properties.items()}
        return written

    def _resolve(self, name: str) -> dict[str, Any]:
        if name in self._within:
            if name not in self.recursive:
                self.recursive[name] = {}  # Ends the recursion.
                self.recursive[name] = self._write_object(name)
            return {"$ref": _REFERENCE + name}
        self._within.append(name)
        try:
            return self._write_object(name)
        finally:
            self._within.pop()

    def _write_object(self, name: str) -> dict[str, Any]:
        # A class docstring is written for readers of the source.
        inner = {key: value for key, value in self._definitions[name].items() if key != "description"}
        written: dict[str, Any] = self.write(inner)
        return written


def _default_entry(default: Any) -> dict[str, Any]:
    """The `default` keyword, or nothing: None only means that the argument is optional."""
    if default is None:
        return {}
    try:
        # A round trip: what JSON cannot express fails, and what turns into null is not the same value.
        value = msgspec.json.decode(msgspec.json.encode(default))
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}


NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
"""The tool names that model APIs accept."""

ANSWER_BYTES: Final = 16 * MIB
"""The longest text a plugin may return: no client accepts a larger message, and a plugin that builds its
answer without end should get an error."""

MARK: Final = "__vaultbridge_tool__"

log = logging.getLogger("vaultbridge.plugins")

F = TypeVar("F", bound=Callable[..., Any])


class ToolDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What the decorator stores on a function. The loader builds the tool from it, because only the loader
    knows the default group."""

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
    """Offer a function as a tool; usable as `@tool` or `@tool(...)`. `effect` is the most the tool may do:
    "reads", "adds" or "changes". Only tools that read are offered when a vault is open read-only. `name`
    defaults to the function's name and `group` to the file's name."""

    def declare(function: F) -> F:
        declaration = ToolDeclaration(
            function=function,
            name=name or function.__name__,
            title=title,
            group=group,
            effect=effect,
            idempotent=idempotent,
        )
        setattr(function, MARK, declaration)
        return function

    return declare if function is None else declare(function)


def build_tool(declaration: ToolDeclaration, *, group: str) -> ForeignTool:
    """Build the tool from a declaration. Raises InvalidArgument, which says what is wrong with the
    function."""
    description = _check_declaration(declaration)
    arguments, injected, defaults = _read_signature(declaration)
    try:
        schema = build_schema(arguments, defaults)
    except (TypeError, ValueError) as error:
        # The last line names the type; the lines before it address callers of the library.
        why = str(error).strip().rpartition("\n")[2].rstrip(".")
        raise InvalidArgument(
            f"{declaration.name}: its arguments cannot be expressed in JSON: {why}."
        ) from error
    if Engine in injected.values():
        vault = {"type": "string", "description": "required when several vaults are open"}
        schema = {**schema, "properties": {**schema["properties"], "vault": vault}}

    def run(context: ToolContext, raw: dict[str, Any]) -> Answer:
        raw = dict(raw)
        values: dict[str, Any] = {}
        if Engine in injected.values():
            chosen = raw.pop("vault", None) or ""
            engine = context.for_vault(chosen if isinstance(chosen, str) else "?").engine
            values = {key: engine for key, kind in injected.items() if kind is Engine}
        values |= {key: context for key, kind in injected.items() if kind is ToolContext}
        filled = convert(raw, arguments)
        values |= {field: getattr(filled, field) for field in arguments.__struct_fields__}
        return _run(declaration, values)

    return ForeignTool(
        name=declaration.name,
        title=declaration.title,
        description=description,
        input_schema=schema,
        run=run,
        group=declaration.group or group,
        effect=declaration.effect,
        idempotent=declaration.idempotent,
    )


def _check_declaration(declaration: ToolDeclaration) -> str:
    """Check a tool's name, effect and description, and return the description. Raises InvalidArgument."""
    if not NAME.fullmatch(declaration.name):
        raise InvalidArgument(
            f"{declaration.name!r} is not a valid tool name.",
            hint="Use at most 64 letters, digits, _ and -, starting with a letter.",
        )
    if declaration.name.startswith(TOOL_PREFIX):
        raise InvalidArgument(
            f"The name {declaration.name!r} begins with {TOOL_PREFIX}, which is reserved for built-in tools.",
            hint="Choose another name.",
        )
    if declaration.effect not in get_args(Effect):
        raise InvalidArgument(
            f"{declaration.name}: effect is {declaration.effect!r}.",
            hint=f"It must be one of: {', '.join(get_args(Effect))}.",
        )
    description = inspect.getdoc(declaration.function) or ""
    if not description:
        raise InvalidArgument(
            f"{declaration.name} has no docstring.",
            hint="Assistants read it to decide when to call the tool.",
        )
    return description


def _read_signature(
    declaration: ToolDeclaration,
) -> tuple[type[msgspec.Struct], dict[str, type], dict[str, Any]]:
    """The arguments as a Struct, the parameters that the tool fills in itself, and the others' defaults."""
    try:
        hints = get_type_hints(declaration.function, include_extras=True)
    except Exception as error:
        raise InvalidArgument(f"{declaration.name}: its type hints cannot be read: {error}.") from error
    fields: list[Any] = []
    injected: dict[str, type] = {}
    defaults: dict[str, Any] = {}
    for parameter in inspect.signature(declaration.function).parameters.values():
        kind = hints.get(parameter.name)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InvalidArgument(f"{declaration.name}: {parameter} cannot be an argument.")
        if kind is None:
            raise InvalidArgument(f"{declaration.name}: {parameter.name} has no type hint.")
        if kind is Engine or kind is ToolContext:
            injected[parameter.name] = kind
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            defaults[parameter.name] = parameter.default
            # Copied for each call, so that a call that modifies a list does not affect the next one.
            default = msgspec.field(default_factory=partial(copy.deepcopy, parameter.default))
            fields.append((parameter.name, kind, default))
    if Engine in injected.values() and any(name == "vault" for name, *_ in fields):
        raise InvalidArgument(
            f"{declaration.name}: the argument name vault is reserved: callers choose the vault with it.",
            hint="Rename the parameter.",
        )
    arguments = msgspec.defstruct(
        declaration.name.replace("-", "_"), fields, frozen=True, kw_only=True, forbid_unknown_fields=True
    )
    return arguments, injected, defaults


def _run(declaration: ToolDeclaration, values: dict[str, Any]) -> Answer:
    """Run the plugin's function. Any failure that is not one of our errors reaches the caller as the name of
    the exception only; the log has the rest."""
    try:
        result = declaration.function(**values)
        answer = _build_answer(asyncio.run(result) if inspect.iscoroutine(result) else result)
        size = sum(len(part.text.encode()) for part in answer.content if isinstance(part, TextPart))
    except VaultbridgeError:
        raise
    except (Exception, SystemExit) as error:
        log.exception("The plugin tool %s failed", declaration.name)
        raise EngineFailure(
            f"{declaration.name} failed with {type(error).__name__}; see the log for details."
        ) from error
    if size > ANSWER_BYTES:
        raise EngineFailure(f"{declaration.name} returned {size} bytes; the limit is {ANSWER_BYTES}.")
    return answer


def _build_answer(result: Any) -> Answer:
    """Raises TypeError, or whatever the encoder raises, for a result that JSON cannot express."""
    match result:
        case Answer():
            return result
        case None:
            return answer_text("Done.")
        case str():
            return answer_text(result)
        case dict():
            text = msgspec.json.encode(result)
            # Decoded again, so that every protocol sends the same values, whatever they were in Python.
            return Answer((TextPart(text.decode()),), msgspec.json.decode(text))
        case _:
            return answer_text(msgspec.json.encode(result).decode())
