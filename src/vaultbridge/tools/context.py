"""`context`: the passages of the vault that a question needs, in one call and within a budget."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import Answer, answer_text, wait_for_index
from vaultbridge.tools.base.schema import Arguments
from vaultbridge.tools.base.tool import Tool, VaultContext


class Context(Arguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(description="As a person would ask")]
    max_chars: Annotated[int, Meta(ge=200, le=90_000, description="Most characters")] = 4_000


def run(context: VaultContext, arguments: Context) -> Answer:
    from vaultbridge.engine.context import gather, render

    if not arguments.question.strip():
        raise InvalidArgument("question is empty.", argument="question", hint="Ask in plain words.")
    notes = wait_for_index(context)
    room = arguments.max_chars - sum(len(note) + 1 for note in notes)
    found = gather(context.engine, arguments.question, max_chars=room)
    return answer_text("\n".join([*notes, render(found)]))


CONTEXT = Tool(
    name="context",
    description=(
        "What the vault says to a question, in one call: the best passages of the best notes as "
        "[path#heading:line], without repeats, and the notes they link to. Use before search and read_note"
    ),
    arguments=Context,
    run=run,
    group="find",
    core=True,
)
