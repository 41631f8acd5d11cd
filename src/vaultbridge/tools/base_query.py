"""`base_query`: runs a view of a base from a `.base` file, from a block in a note, or from the call
itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from vaultbridge.bases.parse import extract_base_blocks, parse_base
from vaultbridge.bases.result import render_view
from vaultbridge.engine.base_query import load_base, run_base_query
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.tools.base.answer import PAGE_CHARS, Answer, answer_text, wait_for_index
from vaultbridge.tools.base.arguments import parse_reference
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.bases.result import ViewResult
    from vaultbridge.engine import Engine


class BaseQueryArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"block", "limit", "max_chars"})

    name: Annotated[str, Meta(description=".base file, or note with a base block")] = ""
    block: Annotated[int, Meta(ge=1, le=LARGEST_INTEGER, description="Which block of the note")] = 1
    base: Annotated[str, Meta(description="Or the YAML itself")] = ""
    view: Annotated[str, Meta(description="Default: the first")] = ""
    this: Annotated[str, Meta(description="Note that `this` means")] = ""
    limit: Limit = 50
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: BaseQueryArguments) -> Answer:
    if bool(arguments.name) == bool(arguments.base):
        raise InvalidArgument("Give either name or base.", argument="name")
    named = parse_reference(arguments.name)
    view = arguments.view or named.heading
    if arguments.base:
        base, text, where = parse_base(arguments.base), arguments.base, None
    else:
        base, text, where = load_base(
            context.engine, find_base(context.engine, named.name), block=arguments.block
        )
    this = context.engine.find(arguments.this) if arguments.this else where
    progress = context.tool_context.progress
    unfinished = wait_for_index(context)
    result = run_base_query(
        context.engine,
        base,
        text,
        view or None,
        this,
        lambda done, total: progress(done, total, "Reading notes"),
    )
    lines = [
        f"(problem, line {problem.line}: {problem.message})" for problem in base.problems_of(result.view)
    ]
    lines += [f"(problem: {problem})" for problem in result.problems]
    if len(base.views) > 1:
        lines.append(f"(views: {', '.join(shown.name for shown in base.views)})")
    return answer_text("\n".join([*unfinished, _render_table(result, arguments), *lines]))


def find_base(engine: Engine, name: str) -> str:
    """Find a base by its name with or without the suffix. A note of that name comes first, as in a link, if
    it contains a base."""
    path, problem = "", None
    try:
        path = engine.find(name)
    except NoteNotFound as missing:
        problem = missing
    if path and (not path.lower().endswith(".md") or extract_base_blocks(engine.view(path).text)):
        return path
    try:
        return engine.find(f"{name}.base")
    except NoteNotFound:
        if problem is not None:
            raise problem from None
        return path


def _render_table(result: ViewResult, arguments: BaseQueryArguments) -> str:
    """As many rows as were asked for and fit."""
    count = min(arguments.limit, max(0, len(result.rows) - arguments.offset))
    text = render_view(_slice(result, arguments.offset, count))
    while len(text) > arguments.max_chars and count > 1:
        count //= 2
        text = render_view(_slice(result, arguments.offset, count))
    text = text if len(text) <= arguments.max_chars else text[: arguments.max_chars] + "…\n"
    shown, last = len(result.rows), arguments.offset + count
    of = f"{shown}" if shown == result.total else f"{shown} (limited by the view, of {result.total})"
    if not shown:
        return f"[{result.view}]\n{text}(no rows)"
    if not count:
        return f"[{result.view}]\n(no rows from offset {arguments.offset}; there are {of})"
    rest = f"; continue with offset={last}" if last < shown else ""
    if not arguments.offset and last == result.total:
        return f"[{result.view}]\n{text}(rows: {last})"
    return f"[{result.view}]\n{text}(rows {arguments.offset + 1}-{last} of {of}{rest})"


def _slice(result: ViewResult, offset: int, count: int) -> ViewResult:
    """Rows are in the order of their groups, so a slice of them is a slice of the groups."""
    groups = []
    at = 0
    for group in result.groups:
        first, last = max(0, offset - at), max(0, offset + count - at)
        at += len(group.rows)
        if kept := group.rows[first:last]:
            groups.append(replace(group, rows=kept))
    return replace(result, rows=result.rows[offset : offset + count], groups=tuple(groups))


BASE_QUERY = Tool(
    name="base_query",
    description="Run a view of a base (like Dataview): filtered, sorted notes as a table",
    arguments=BaseQueryArguments,
    run=run,
    group="find",
    long=True,
    note="name",
)
