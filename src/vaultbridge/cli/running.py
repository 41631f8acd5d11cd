"""Commands for a running bridge: `status`, `pause`, `resume`, `select`, `mention`.

`pause` and `resume` ask the bridge, because it knows the assistants by name. If none is running, there are
only processes of `vaultbridge stdio`, which obey the vault's own list (`activity.pauses`), so that list is
changed.
"""

from __future__ import annotations

import argparse
import os
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.cli.common import (
    OK,
    ask_bridge,
    describe_waiting,
    emit,
    find_default_vault,
    find_state,
    open_vault,
    remark,
    run,
    say,
)
from vaultbridge.cli.parser import Parser
from vaultbridge.cli.places import FORMS, find_place_lines, make_mention, make_selection
from vaultbridge.cli.terminal import escape_controls
from vaultbridge.errors import InvalidArgument
from vaultbridge.system import MemoryUse, describe_process, measure_memory

if TYPE_CHECKING:
    from vaultbridge.activity.pauses import Pauses
    from vaultbridge.server.used_vaults import KnownVault


def main_status(argv: list[str]) -> int:
    parser = Parser("status", "Show the bridges running on this machine, their assistants and what they did.")
    return run(parser, argv, _show_status)


def _show_status(args: argparse.Namespace) -> int:
    from vaultbridge import event_loop
    from vaultbridge.protocols.editor.client import list_statuses
    from vaultbridge.server.used_vaults import count_waiting, list_known_vaults
    from vaultbridge.vault.folders import find_bases

    bridges = event_loop.run(list_statuses(find_bases(os.environ).cache))
    vaults = list_known_vaults(os.environ)
    states = {str(known.folder): known.state for known in vaults}
    for bridge in bridges:
        bridge["memory"] = measure_memory(bridge["pid"])
        state = states.get(bridge["folder"])
        bridge["waiting"] = 0 if state is None else count_waiting(state)
        if args.json:
            emit(bridge)
        else:
            _show_bridge(bridge)
    served = {bridge["folder"] for bridge in bridges}
    for known in vaults:
        _show_vault(known, is_served=str(known.folder) in served, as_json=args.json)
    if not bridges and not args.json:
        remark("No bridge is running. `vaultbridge page` opens the page, and starts one for it.")
    return OK


ACTORS_FROM: Final = 200
"""How many of the newest changes and proposals are searched for names of assistants, without a bridge."""

PAUSED_ALL: Final = (
    "All assistants are paused, including those that connect later. To resume them: vaultbridge resume"
)


def _show_bridge(bridge: dict[str, Any]) -> None:
    vault = escape_controls(bridge["vault"])
    memory = f"  {_show_memory(bridge['memory'])}" if bridge["memory"] is not None else ""
    say(f"{vault}  port {bridge['port']}  pid {bridge['pid']}  version {bridge['version']}{memory}")
    if bridge.get("problem"):
        say(f"  {escape_controls(bridge['problem'])}")
    for notice in bridge.get("notices", ()):
        say(f"  {escape_controls(notice)}")
    if bridge["focus"]:
        say(f"  open in an editor: {escape_controls(bridge['focus'])}")
    if bridge["waiting"]:
        say(f"  {describe_waiting(bridge['waiting'])}: {_open_page(bridge['folder'])}")
    for editor in bridge["editors"]:
        say(f"  editor {editor['name']} ({editor['app']})")
    if bridge["pausedAll"]:
        remark(PAUSED_ALL, indent=2)
    connected = [assistant for assistant in bridge["assistants"] if assistant["connected"]]
    for assistant in connected:
        for line in _describe_assistant(assistant):
            say(f"  {line}")
    if not connected:
        say("  no assistant is connected")
    for assistant in bridge["assistants"]:
        if not assistant["connected"] and assistant["summary"]:
            left = _show_time(assistant["ended"] or assistant["last"])
            say(f"  {assistant['name']}, disconnected since {left}: {assistant['summary']}")


def _open_page(folder: str) -> str:
    """The command names the vault: `status` is about all of them, whatever folder it is typed in."""
    return escape_controls(f"vaultbridge page {shlex.quote(folder)}")


def _show_vault(known: KnownVault, *, is_served: bool, as_json: bool) -> None:
    """What is to be said of a vault apart from its bridge: the processes of `vaultbridge stdio` that use it,
    and without a bridge, what waits and who is paused."""
    from vaultbridge.activity.pauses import Pauses
    from vaultbridge.server.used_vaults import count_waiting

    waiting = count_waiting(known.state)
    pauses = Pauses([known.state])
    paused = sorted(pauses.identities.values())
    if not known.pids and (is_served or not (waiting or pauses.everyone or paused)):
        return
    rows = []
    for pid in known.pids:
        facts = describe_process(pid)
        rows.append((pid, facts.parent, describe_process(facts.parent).name, measure_memory(pid)))
    if as_json:
        sessions = [
            {"pid": pid, "parent": {"pid": parent, "name": name}, "memory": memory}
            for pid, parent, name, memory in rows
        ]
        waits = {"waiting": waiting, "paused": paused, "pausedAll": pauses.everyone}
        emit({"vault": str(known.folder), "sessions": sessions, **waits})
        return
    name = escape_controls(known.folder.name)
    if rows:
        _show_sessions(name, rows)
    else:
        say(f"{name}  no bridge is running for it")
    if is_served:
        return  # said of its bridge
    if waiting:
        say(f"  {describe_waiting(waiting)}: {_open_page(str(known.folder))}")
    if pauses.everyone:
        remark(PAUSED_ALL, indent=2)
    elif paused:
        say(f"  Paused: {escape_controls(', '.join(paused))}")


def _show_sessions(vault: str, rows: list[tuple[int, int, str, MemoryUse | None]]) -> None:
    """The processes of `vaultbridge stdio` that use a vault, and what each costs."""
    measured = [memory for *_, memory in rows if memory is not None]
    total = ""
    if measured:
        total = f", {_show_memory(MemoryUse(sum(memory.bytes for memory in measured), measured[0].kind))}"
    what = "1 session" if len(rows) == 1 else f"{len(rows)} sessions"
    say(f"{vault}  {what} over stdio, each its own process{total}")
    for pid, parent, name, memory in rows:
        cost = f"  {_show_memory(memory)}" if memory is not None else ""
        say(f"  process {pid}{cost}, started by {escape_controls(name) or 'process'} {parent}")


def _show_memory(memory: MemoryUse) -> str:
    return f"{memory.bytes / 1e6:.0f} MB ({memory.kind})"


def _describe_assistant(assistant: dict[str, Any]) -> list[str]:
    """Who it is, and what it did, in a line each."""
    facts = [assistant["via"]]
    if assistant["token"] is not None:
        facts.append(f"token {assistant['token']['name']}")
    if (process := assistant["process"]) is not None:
        parent = process["parent"]
        of = f", started by {parent['name'] or 'process'} {parent['pid']}" if parent is not None else ""
        facts.append(f"process {process['pid']}{of}")
    facts.append(f"since {_show_time(assistant['since'])}")
    name = " ".join(filter(None, (assistant["name"], assistant["version"])))
    mark = "  PAUSED" if assistant["paused"] else ""
    lines = [f"{assistant['id']}  {name} ({', '.join(facts)}){mark}"]
    if assistant["summary"]:
        count = assistant["failed"]
        failed = f"; {'1 call' if count == 1 else f'{count} calls'} failed" if count else ""
        lines.append(f"    {_show_time(assistant['last'])}  {assistant['summary']}{failed}")
    if assistant["running"]:
        lines.append(f"    running: {', '.join(assistant['running'])}")
    return lines


def _show_time(at: float | None) -> str:
    return "?" if at is None else datetime.fromtimestamp(at).strftime("%H:%M:%S")


PAUSE_EXAMPLES = """\
examples:
  vaultbridge pause                    all, also those that connect later
  vaultbridge pause "Claude Desktop"   one; `vaultbridge status` names them
"""


def main_pause(argv: list[str]) -> int:
    parser = Parser(
        "pause",
        "Pause assistants: their calls fail, with the reason, until you resume them.",
        epilog=PAUSE_EXAMPLES,
    )
    _add_assistant(parser)
    return run(parser, argv, lambda args: _pause_or_resume(args, "pause"))


def _add_assistant(parser: Parser) -> None:
    parser.add_argument(
        "assistant",
        metavar="ASSISTANT",
        nargs="?",
        default="",
        help="its name, id or process; by default all",
    )
    parser.add_argument(
        "-v",
        "--vault",
        help="the vault, if no bridge is running; by default the one you are in, or the only one",
    )


def _pause_or_resume(args: argparse.Namespace, action: str) -> int:
    from vaultbridge.activity.pauses import Pauses
    from vaultbridge.server.used_vaults import list_known_vaults

    # Before the change: what a bridge will resume.
    resumed = _describe_resumed(Pauses([known.state for known in list_known_vaults(os.environ)]))
    answer = _ask_bridges(action, args.assistant)
    if answer is None:
        pauses = Pauses([find_state(args.vault or find_default_vault())])
        resumed = _describe_resumed(pauses)
        answer = _change_stored(pauses, action, args.assistant, args.vault)
    if args.json:
        emit(answer)
        return OK
    done = "Paused" if action == "pause" else "Resumed"
    for assistant in answer["assistants"] if args.assistant else ():
        say(f"{done} {assistant['name']}.")
    if not args.assistant:
        say(
            "All assistants are paused, including those that connect later." if action == "pause" else resumed
        )
    return OK


def _describe_resumed(pauses: Pauses) -> str:
    """What resuming all assistants changes there."""
    if pauses.everyone:
        return "Resumed all assistants."
    names = ", ".join(sorted(set(pauses.identities.values())))
    return f"Resumed {escape_controls(names)}." if names else "No assistant was paused."


def _ask_bridges(action: str, name: str) -> dict[str, Any] | None:
    """Ask every bridge on this machine; None if none is running. Raises InvalidArgument if none knows the
    name."""
    from vaultbridge import event_loop
    from vaultbridge.protocols.editor.client import control_assistants
    from vaultbridge.vault.folders import find_bases

    answers, refusal = event_loop.run(control_assistants(find_bases(os.environ).cache, action, name))
    if not answers:
        if refusal is not None:
            raise refusal
        return None
    return {
        "assistants": [
            {key: assistant[key] for key in ("id", "name", "kind", "paused")}
            for answer in answers
            for assistant in answer["assistants"]
        ],
        "pausedAll": any(answer["pausedAll"] for answer in answers),
    }


def _change_stored(pauses: Pauses, action: str, name: str, vault: str | None) -> dict[str, Any]:
    if not name:
        pauses.pause_everyone() if action == "pause" else pauses.resume_everyone()
        return {"assistants": [], "pausedAll": pauses.everyone}
    labels = _find_known(name, vault) if action == "pause" else _find_paused(name, pauses)
    pauses.pause(labels.items()) if action == "pause" else pauses.resume(labels)
    rows = [
        {"id": "", "name": label, "kind": identity.partition("|")[0], "paused": action == "pause"}
        for identity, label in labels.items()
    ]
    return {"assistants": rows, "pausedAll": pauses.everyone}


def _find_known(name: str, vault: str | None) -> dict[str, str]:
    """The assistants of this name, by identity. Raises InvalidArgument for one that nothing here knows: what
    only seems to be paused would go on changing notes."""
    from vaultbridge.activity.words import COMMON_NAMES
    from vaultbridge.review.store import store_of

    with open_vault(vault or find_default_vault()) as engine:
        actors = {entry.actor for entry in engine.history.changes(limit=ACTORS_FROM) if entry.author}
        actors |= {proposal.actor for proposal in store_of(engine).latest(ACTORS_FROM)}
    known = COMMON_NAMES | {actor: COMMON_NAMES.get(actor, actor) for actor in actors}
    folded = name.casefold()
    labels = {
        f"stdio||{own}": label for own, label in known.items() if folded in (own.casefold(), label.casefold())
    }
    if not labels:
        raise InvalidArgument(
            f"No assistant called {name[:60]!r} is known here.",
            argument="assistant",
            hint=f"Known: {', '.join(sorted(set(known.values())))}. Without a name, all are paused.",
        )
    return labels


def _find_paused(name: str, pauses: Pauses) -> dict[str, str]:
    known, folded = pauses.identities, name.casefold()
    labels = {
        identity: label
        for identity, label in known.items()
        if folded in (label.casefold(), identity.rpartition("|")[2].casefold())
    }
    if not labels:
        raise InvalidArgument(
            f"No assistant called {name[:60]!r} is paused.",
            argument="assistant",
            hint=f"Paused: {', '.join(sorted(known.values()))}." if known else "No assistant is paused.",
        )
    return labels


def main_resume(argv: list[str]) -> int:
    parser = Parser("resume", "Resume assistants that were paused: all, or one.")
    _add_assistant(parser)
    return run(parser, argv, lambda args: _pause_or_resume(args, "resume"))


def main_select(argv: list[str]) -> int:
    parser = Parser("select", "Tell connected assistants which note is open, and what is selected in it.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help=f"{FORMS}, with columns NOTE:3:1-5:10")
    return run(parser, argv, _select)


def _select(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        params = make_selection(*find_place_lines(engine, args.place))
    answer = ask_bridge(args.vault, "select", params)
    if args.json:
        emit(answer)
    else:
        remark(f"{answer['path']} is selected; {_count_assistants(answer['assistants'])} connected.")
    return OK


def main_mention(argv: list[str]) -> int:
    parser = Parser("mention", "Mention a note, or some lines of it, to connected assistants.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help=FORMS)
    return run(parser, argv, _mention)


def _mention(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        params = make_mention(*find_place_lines(engine, args.place))
    answer = ask_bridge(args.vault, "mention", params)
    if args.json:
        emit(answer)
    elif answer["assistants"]:
        say(f"Mentioned {answer['path']} to {_count_assistants(answer['assistants'])}.")
    else:
        say(f"No assistant is connected. One that connects within 10 seconds gets {answer['path']}.")
    return OK


def _count_assistants(count: int) -> str:
    return "1 assistant" if count == 1 else f"{count or 'no'} assistants"
