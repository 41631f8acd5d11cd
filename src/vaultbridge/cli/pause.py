"""`vaultbridge pause [ASSISTANT]`: makes an assistant's calls fail until `vaultbridge resume`.

A bridge that runs is asked, because it knows the assistants by name. Without one there are only processes of
`vaultbridge stdio`, which obey the vault's own list (`activity.pauses`), so that is changed.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from vaultbridge.cli.common import OK, Parser, emit, find_cache, run, say
from vaultbridge.errors import InvalidArgument

if TYPE_CHECKING:
    from vaultbridge.activity.pauses import Pauses

EPILOG = """\
examples:
  vaultbridge pause                       every assistant, also those that connect later
  vaultbridge pause "Claude Desktop"      one; `vaultbridge status` shows their names and ids
"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "pause", "Pause assistants: their calls fail, and say why, until you resume them.", epilog=EPILOG
    )
    add_arguments(parser)
    return run(parser, argv, lambda args: control(args, "pause"))


def add_arguments(parser: Parser) -> None:
    parser.add_argument("assistant", nargs="?", default="", help="its name, id or process; by default all")
    parser.add_argument(
        "-v", "--vault", default="", help="the vault, where no bridge runs; by default the only one"
    )


def control(args: argparse.Namespace, action: str) -> int:
    answer = _ask_bridges(action, args.assistant)
    if answer is None:
        answer = _change_list(action, args.assistant, args.vault)
    if args.json:
        emit(answer)
        return OK
    done = "Paused" if action == "pause" else "Resumed"
    for assistant in answer["assistants"]:
        say(f"{done} {assistant['name']}.")
    if not args.assistant:
        say("All assistants are paused." if answer["pausedAll"] else "No assistant is paused.")
    return OK


def _ask_bridges(action: str, name: str) -> dict[str, Any] | None:
    """Ask every bridge on this machine; None when none runs. Raises InvalidArgument when none knows the
    name."""
    import asyncio

    from vaultbridge.protocols.editor.client import control_assistants
    from vaultbridge.vault.cache_folder import cache_base

    answers, refusal = asyncio.run(control_assistants(cache_base(os.environ), action, name))
    if not answers:
        if refusal is not None:
            raise refusal
        return None
    return {
        "assistants": [
            {key: one[key] for key in ("id", "name", "kind", "paused")}
            for answer in answers
            for one in answer["assistants"]
        ],
        "pausedAll": any(answer["pausedAll"] for answer in answers),
    }


def _change_list(action: str, name: str, vault: str) -> dict[str, Any]:
    from vaultbridge.activity.pauses import Pauses

    pauses = Pauses([find_cache(vault)])
    if not name:
        pauses.pause_everyone() if action == "pause" else pauses.resume_everyone()
        return {"assistants": [], "pausedAll": pauses.everyone}
    return _change_one(pauses, action, name)


def _change_one(pauses: Pauses, action: str, name: str) -> dict[str, Any]:
    known = pauses.identities
    if action == "pause":
        identities = [f"stdio||{name}"]
        pauses.pause([(identities[0], name)])
    else:
        identities = [
            identity for identity, given in known.items() if name in (given, identity.rpartition("|")[2])
        ]
        if not identities:
            raise InvalidArgument(
                f"No assistant called {name[:60]!r} is paused.",
                argument="assistant",
                hint=f"Paused: {', '.join(sorted(known.values()))}." if known else "None is.",
            )
        pauses.resume(identities)
    rows = [
        {
            "id": "",
            "name": known.get(identity, name),
            "kind": identity.partition("|")[0],
            "paused": action == "pause",
        }
        for identity in identities
    ]
    return {"assistants": rows, "pausedAll": pauses.everyone}
