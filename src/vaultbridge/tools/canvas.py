"""`canvas` reads a canvas as an outline; `edit_canvas` creates one and edits it card by card."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import fields, replace

from vaultbridge.canvas.edit import (
    NewFile,
    NewGroup,
    NewLink,
    NewText,
    Placement,
    add_card,
    connect,
    remove_card,
    remove_edge,
    update_card,
    update_edge,
)
from vaultbridge.canvas.outline import render_outline
from vaultbridge.canvas.parse import read_canvas
from vaultbridge.engine.files import edit_canvas, view_canvas
from vaultbridge.engine.operations import Create
from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.tools.base.answer import (
    Answer,
    answer_data,
    answer_outcome,
    answer_text,
    cut_text,
    describe_outcome,
    show_hash,
)
from vaultbridge.tools.base.arguments import is_blank, is_given, quote_value
from vaultbridge.tools.base.schema import Arguments, DryRun, ExpectedHash, MaxChars, Start
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.canvas.edit import CanvasEdit, NewCard

_COLOR: Final = re.compile(r"[1-6]|#(?:[0-9A-Fa-f]{3}){1,2}")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]")

CanvasName = Annotated[str, Meta(description="Canvas")]

Pixels = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]


class CanvasArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"max_chars"})

    name: CanvasName
    start: Start = 0
    max_chars: MaxChars = 24_000


class EditCanvasArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"around", "x", "y", "width", "height", "expected", "dry_run"})

    name: CanvasName
    action: Annotated[Literal["create", "add", "connect", "update", "remove"], Meta(description="Action")]
    id: Annotated[str, Meta(description="update, remove: card or connection")] = ""
    text: Annotated[str, Meta(description="Markdown of a card")] | UnsetType = UNSET
    file: Annotated[str, Meta(description="Note or file, or Note#Heading")] | UnsetType = UNSET
    url: Annotated[str, Meta(description="Web page")] | UnsetType = UNSET
    label: Annotated[str, Meta(description="Of a group or a connection")] | UnsetType = UNSET
    around: Annotated[tuple[str, ...], Meta(description="New group: ids of its cards")] = ()
    near: Annotated[str, Meta(description="Card id to be next to")] = ""
    group: Annotated[str, Meta(description="Group id to be in")] = ""
    x: Annotated[Pixels, Meta(description="Left")] | UnsetType = UNSET
    y: Annotated[Pixels, Meta(description="Top")] | UnsetType = UNSET
    width: Annotated[Pixels, Meta(description="Pixels")] | UnsetType = UNSET
    height: Annotated[Pixels, Meta(description="Pixels")] | UnsetType = UNSET
    color: Annotated[str, Meta(description="1-6 or #hex")] | UnsetType = UNSET
    from_id: Annotated[str, Meta(description="connect: card")] = ""
    to_id: Annotated[str, Meta(description="connect: card")] = ""
    expected: ExpectedHash = ""
    dry_run: DryRun = False


def run_edit(context: VaultContext, arguments: EditCanvasArguments) -> Answer:
    arguments = _drop_blanks(arguments)
    if arguments.action == "create":
        return _create(context, arguments)
    view, edited, outcome = edit_canvas(
        context.engine,
        arguments.name,
        lambda text: _edit(context, text, arguments),
        expected=arguments.expected,
        dry_run=arguments.dry_run,
        actor=context.tool_context.actor,
    )
    return answer_outcome(outcome, view.path, path=view.path, id=edited.id)


def run(context: VaultContext, arguments: CanvasArguments) -> Answer:
    view = view_canvas(context.engine, arguments.name)
    canvas = read_canvas(view.text)
    problems = "".join(f"(problem, line {problem.line}: {problem.message})\n" for problem in canvas.problems)
    text = cut_text(render_outline(canvas) + problems, start=arguments.start, max_chars=arguments.max_chars)
    return answer_text(f"[{view.path} | hash {show_hash(view.hash)}]\n{text}")


def _drop_blanks(arguments: EditCanvasArguments) -> EditCanvasArguments:
    """Drop the blanks of a caller that fills in every argument. An empty text or a 0 can be a real value, but
    no card is 0 pixels wide and no file or url is empty: a call that says so means none of its blanks."""
    impossible = (arguments.width, arguments.height, arguments.file, arguments.url)
    if not any(is_given(value) and is_blank(value) for value in impossible):
        return arguments
    blank = [
        field.name
        for field in fields(EditCanvasArguments)
        if field.default is UNSET and is_blank(getattr(arguments, field.name))
    ]
    return replace(arguments, **dict.fromkeys(blank, UNSET))


def _create(context: VaultContext, arguments: EditCanvasArguments) -> Answer:
    name = arguments.name if arguments.name.lower().endswith(".canvas") else f"{arguments.name}.canvas"
    outcome = context.engine.apply(
        [Create(note=name, content='{\n\t"nodes":[],\n\t"edges":[]\n}')],
        dry_run=arguments.dry_run,
        actor=context.tool_context.actor,
    )
    path = next(file.path for file in outcome.files if file.change == "created")
    described = describe_outcome(outcome, path)
    return answer_data({"path": path, "created": True, **described}, changed=not arguments.dry_run)


def _edit(context: VaultContext, text: str, arguments: EditCanvasArguments) -> CanvasEdit:
    import os

    color = _check_color(arguments)
    match arguments.action:
        case "add":
            placement = Placement(
                x=_to_number(arguments.x),
                y=_to_number(arguments.y),
                width=_to_number(arguments.width),
                height=_to_number(arguments.height),
                near=arguments.near,
                group=arguments.group,
            )
            card = _build_card(context, arguments)
            return add_card(text, card, random_bytes=os.urandom, placement=placement, color=color)
        case "connect":
            for argument in ("from_id", "to_id"):
                if not getattr(arguments, argument):
                    raise InvalidArgument(
                        f"{argument} is missing.", argument=argument, hint="Give the id of a card."
                    )
            label = arguments.label if isinstance(arguments.label, str) else ""
            return connect(
                text, arguments.from_id, arguments.to_id, random_bytes=os.urandom, label=label, color=color
            )
        case _:
            return _update(context, text, arguments)


def _update(context: VaultContext, text: str, arguments: EditCanvasArguments) -> CanvasEdit:
    if not arguments.id:
        raise InvalidArgument("id is missing.", argument="id", hint="Give the id of a card or connection.")
    is_edge = any(edge.id == arguments.id for edge in read_canvas(text).edges)
    if arguments.action == "remove":
        return remove_edge(text, arguments.id) if is_edge else remove_card(text, arguments.id)
    changes: dict[str, Any] = {
        key: getattr(arguments, key)
        for key in ("text", "url", "label", "color", "x", "y", "width", "height")
        if is_given(getattr(arguments, key))
    }
    if "color" in changes:
        changes["color"] = _check_color(arguments) or None
    if "url" in changes:
        changes["url"] = _check_url(arguments)
    if isinstance(arguments.file, str):
        path, subpath = _find_file(context, arguments.file)
        changes |= {"file": path, "subpath": subpath or None}
    if is_edge:
        ends = {"fromNode": arguments.from_id, "toNode": arguments.to_id}
        changes |= {key: value for key, value in ends.items() if value}
    if not changes:
        raise InvalidArgument("There is nothing to update.", argument="id", hint="Give text, color, x, …")
    return update_edge(text, arguments.id, changes) if is_edge else update_card(text, arguments.id, changes)


def _build_card(context: VaultContext, arguments: EditCanvasArguments) -> NewCard:
    asked = [key for key in ("text", "file", "url", "label") if is_given(getattr(arguments, key))]
    if len(asked) != 1:
        raise InvalidArgument(
            f"A new card needs exactly one content, not {' and '.join(asked) or 'none'}.",
            argument=asked[1] if asked else "text",
            hint="Give text, file, url, or label for a group.",
        )
    match asked[0]:
        case "text":
            return NewText(str(arguments.text))
        case "file":
            return NewFile(*_find_file(context, str(arguments.file)))
        case "url":
            return NewLink(_check_url(arguments))
        case _:
            return NewGroup(str(arguments.label), arguments.around)


def _find_file(context: VaultContext, written: str) -> tuple[str, str]:
    """The path and subpath of a file card."""
    name, mark, sub = written.partition("#")
    return context.engine.find(name), mark + sub


def _check_color(arguments: EditCanvasArguments) -> str:
    """The color, or empty for none, which removes a card's color."""
    color = arguments.color if isinstance(arguments.color, str) else ""
    if color and not _COLOR.fullmatch(color):
        raise InvalidArgument(
            f"color is {quote_value(color)}.",
            argument="color",
            hint="Give 1 to 6, or #rrggbb in hexadecimal.",
        )
    return color


def _check_url(arguments: EditCanvasArguments) -> str:
    url = str(arguments.url)
    if not _ADDRESS.match(url):
        raise InvalidArgument(
            f"url is {quote_value(url)}.",
            argument="url",
            hint="Give a complete address, such as https://example.org.",
        )
    return url


def _to_number(value: int | UnsetType) -> int | None:
    return value if isinstance(value, int) else None


CANVAS = Tool(
    name="canvas",
    description="Read a canvas as an outline with ids",
    arguments=CanvasArguments,
    run=run,
    group="canvases",
    note="name",
)

EDIT_CANVAS = Tool(
    name="edit_canvas",
    description=(
        "Create a canvas; add a card (text, file, url or group label), connect two, update or remove one"
    ),
    arguments=EditCanvasArguments,
    run=run_edit,
    group="canvases",
    effect="changes",
    note="name",
)
