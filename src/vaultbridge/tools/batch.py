"""`batch`: several edits, all of them or none."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.answer import Answer
from vaultbridge.tools.edits import BatchItem, batch_item
from vaultbridge.tools.fields import Arguments, DryRun
from vaultbridge.tools.outcomes import CHANGED_SCHEMA, outcome_answer, place_of_deleted
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench

OPERATIONS: Final = 500
"""As many as the engine takes at once."""


class Batch(Arguments, frozen=True, kw_only=True):
    ITEMS: ClassVar = {"operations": BatchItem}

    operations: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            max_length=OPERATIONS,
            description="As edit_note takes them; also create, move (to), delete",
        ),
    ]
    dry_run: DryRun = False


def run(bench: Bench, arguments: Batch) -> Answer:
    if not arguments.operations:
        raise InvalidArgument("operations is empty.", argument="operations", hint="Give at least one.")
    wanted = [batch_item(item, number) for number, item in enumerate(arguments.operations)]
    outcome = bench.engine.apply(wanted, dry_run=arguments.dry_run, actor=bench.shop.actor)
    went = place_of_deleted(bench.engine, outcome)
    return outcome_answer(outcome, operations=len(wanted), **went)


BATCH = Tool(
    name="batch",
    description="Several edits as one change: all or none",
    arguments=Batch,
    run=run,
    group="notes",
    effect="changes",
    output_schema=CHANGED_SCHEMA,
)
