"""`vaultbridge init` connects assistants to a vault; `vaultbridge vaults` lists the vaults that Obsidian has
opened on this machine.

`init` finds vaults and assistants, asks which to use, shows the change to each file, writes it and keeps a
copy of the old file, and then starts what it wrote to check that it works.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.cli.common import (
    FAILED,
    OK,
    emit,
    open_vault,
    own_command,
    refresh,
    remark,
    report,
    run,
    say,
)
from vaultbridge.cli.parser import OPTION_HELP, Parser
from vaultbridge.cli.setup.connect import (
    advise_on_path,
    choose_assistants,
    choose_server_name,
    make_server_name,
    plan_addition,
    render_diff,
)
from vaultbridge.cli.terminal import escape_controls
from vaultbridge.errors import EditRefused, InvalidArgument, VaultbridgeError, VaultNotFound
from vaultbridge.system import expand_home

if TYPE_CHECKING:
    from vaultbridge.assistants.catalog import Assistant
    from vaultbridge.assistants.config_file import Removal
    from vaultbridge.cli.terminal import Terminal


EPILOG = """\
It changes only the assistants' lists of servers, and keeps a copy of each file next to it.
`vaultbridge connect` does the same for one assistant, with options."""

LISTED_VAULTS: Final = 20
"""How many vaults are offered; a person who has more can name one with -v."""


def main_init(argv: list[str]) -> int:
    parser = Parser(
        "init", "Set everything up: choose a vault and connect your assistants to it.", epilog=EPILOG
    )
    parser.add_argument("vault", metavar="VAULT", nargs="?", help="the vault to connect (default: init asks)")
    parser.add_argument("-v", "--vault", dest="vault_by_option", metavar="VAULT", help=OPTION_HELP)
    parser.add_argument(
        "--assistant",
        action="append",
        default=[],
        metavar="NAME",
        help="only this assistant (may be repeated)",
    )
    parser.add_argument(
        "-y", "--yes", action="store_true", help="skip the questions: use the first vault and every assistant"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    parser.add_argument(
        "--remove", action="store_true", help="remove the vault from the assistants' lists again"
    )
    return run(parser, argv, _set_up)


class _Plan(Struct, frozen=True):
    """A change of one assistant's file, or none if it is as it should be."""

    assistant: Assistant
    file: Path
    name: str
    addition: tuple[str | None, str] | None = None
    removal: Removal | None = None

    @property
    def changes(self) -> bool:
        return self.addition is not None or self.removal is not None


def _set_up(args: argparse.Namespace) -> int:
    asks = not (args.yes or args.json)
    if asks and not args.dry_run and not sys.stdin.isatty():
        raise InvalidArgument(
            "Can't prompt outside a terminal.",
            argument="usage",
            hint="Add --yes to use the first vault and every assistant found, or --dry-run to look first.",
        )
    vault = _choose_vault(args, asks=asks)
    name = make_server_name(vault)
    plans, problems = _make_plans(args, vault)
    if not args.json:
        _show_plans(args.terminal, plans)
    if asks and not args.dry_run:
        plans = _ask_plans(plans)
    outcomes = [] if args.dry_run else [_carry_out(plan, check=not args.remove) for plan in plans]
    _report(args, vault, name, plans, problems, outcomes)
    return FAILED if problems or any(outcome.problem for outcome in outcomes) else OK


def list_vaults() -> list[Path]:
    """The vaults that a person may mean, the most likely first."""
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.server.vault_choice import VAULT_VARIABLE, expand_variables, find_here, find_vault_around
    from vaultbridge.vault.obsidian import find_vault, list_known_vaults

    found: dict[Path, None] = {}
    if around := find_vault_around(find_here()):
        found[Path(around).resolve()] = None
    named = [
        expand_variables(text, os.environ) for text in os.environ.get(VAULT_VARIABLE, "").split(os.pathsep)
    ]
    named += [vault.path for vault in choose_config(os.environ).load().vaults]
    for text in filter(None, named):
        try:
            found[find_vault(text).resolve()] = None
        except VaultbridgeError:
            continue
    known = [vault for vault in list_known_vaults(os.environ) if vault.is_there]
    # Those that are open now come first.
    for vault in sorted(known, key=attrgetter("open"), reverse=True):
        found[vault.folder.resolve()] = None
    return list(found)[:LISTED_VAULTS]


def _choose_vault(args: argparse.Namespace, *, asks: bool) -> Path:
    from vaultbridge.server.vault_choice import contains_notes, find_here
    from vaultbridge.vault.obsidian import find_vault

    if args.vault and args.vault_by_option:
        raise InvalidArgument(
            f"Two vaults are named: {args.vault}, and -v {args.vault_by_option}.",
            argument="usage",
            hint="Name one of them; init connects one vault at a time.",
        )
    if args.vault or args.vault_by_option:
        return find_vault(args.vault or args.vault_by_option).resolve()
    vaults = list_vaults()
    missing = "No vault found here or in Obsidian."
    if not asks or args.dry_run:
        if not vaults:
            raise VaultNotFound(missing, hint="Any folder of Markdown files works: vaultbridge init FOLDER")
        return vaults[0]
    if vaults:
        say("Your vaults:")
    elif contains_notes(here := find_here()):
        say(f"{missing} This folder has notes:")
        vaults = [Path(here).resolve()]
    else:
        say(f"{missing} Any folder of Markdown files works.")
    for number, vault in enumerate(vaults, 1):
        name = args.terminal.style(vault.name, "heading")
        say(f"  {number}  {name}  {args.terminal.style(str(vault), 'dim')}")
    while True:
        answer = _ask("Which one? [1] " if vaults else "Which folder? ") or "1"
        if answer.isdecimal() and 1 <= int(answer) <= len(vaults):
            return vaults[int(answer) - 1]
        named = [vault for vault in vaults if vault.name.casefold() == answer.casefold()]
        if len(named) == 1:
            return named[0]
        place = expand_home(answer)
        if place.is_dir():
            return place.resolve()
        choice = f"a number from 1 to {len(vaults)}, a name, or " if vaults else ""
        say(f"  Type {choice}a folder that exists.")


def _make_plans(args: argparse.Namespace, vault: Path) -> tuple[list[_Plan], list[dict[str, Any]]]:
    """Plan each assistant's change; one that refuses is reported and left out."""
    from vaultbridge.assistants.catalog import find_config_file

    names = args.assistant or ["all"]
    chosen = [assistant for name in names for assistant in choose_assistants(name)]
    if not chosen:
        raise EditRefused(
            "No assistant was found on this machine.",
            hint="Install one (`vaultbridge connect` lists those it knows), or name one with --assistant.",
        )
    plans: list[_Plan] = []
    problems: list[dict[str, Any]] = []
    for assistant in dict.fromkeys(chosen):
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        try:
            name = choose_server_name(assistant, file, vault)
            plans.append(
                _plan_removal(assistant, file, name) if args.remove else _plan(assistant, file, vault, name)
            )
        except VaultbridgeError as error:
            problems.append({"assistant": assistant.name, "problem": str(error)})
            error.message = f"{assistant.title}: {error.message}"
            report(error, as_json=False)
    return plans, problems


def _plan(assistant: Assistant, file: Path, vault: Path, name: str) -> _Plan:
    from vaultbridge.assistants.config_file import list_servers, read_text
    from vaultbridge.assistants.shared import read_shared_entry

    if not file.parent.is_dir():
        raise EditRefused(
            f"{assistant.title} does not seem to be installed: {file.parent} does not exist.",
            hint="Start it once, then run this again.",
        )
    with suppress(VaultbridgeError):  # the next step reports what is wrong with the file
        if read_shared_entry(list_servers(read_text(file) or "", assistant).get(name)) is not None:
            return _Plan(assistant, file, name)  # it shares a bridge, with limits of its own
    return _Plan(assistant, file, name, addition=plan_addition(assistant, file, vault, name))


def _plan_removal(assistant: Assistant, file: Path, name: str) -> _Plan:
    from vaultbridge.assistants.config_file import list_servers, plan_removal, read_text
    from vaultbridge.assistants.entry import starts_vaultbridge
    from vaultbridge.assistants.shared import read_shared_entry

    entry = list_servers(read_text(file) or "", assistant).get(name)
    if not starts_vaultbridge(entry) and read_shared_entry(entry) is None:
        return _Plan(assistant, file, name)  # another program's is not ours to remove
    return _Plan(assistant, file, name, removal=plan_removal(file, assistant, name))


def _show_plans(terminal: Terminal, plans: list[_Plan]) -> None:
    for number, plan in enumerate(plans, 1):
        state = "" if plan.changes else "  (nothing to change)"
        say(f"\n{number}  {terminal.style(plan.assistant.title, 'heading')}{state}")
        if plan.addition is not None:
            before, after = plan.addition
            say(terminal.color_diff(render_diff(before, after, plan.file)))
        elif plan.removal is not None:
            diff = render_diff(plan.removal.before, plan.removal.after or "", plan.file)
            say(terminal.color_diff(diff))


def _ask_plans(plans: list[_Plan]) -> list[_Plan]:
    if not any(plan.changes for plan in plans):
        return plans
    while True:
        answer = _ask("\nWrite these changes? [Y/n, or the numbers you want] ").lower() or "y"
        if answer in ("y", "yes", "all"):
            return plans
        if answer in ("n", "no"):
            return []
        wanted = answer.replace(",", " ").split()
        if all(word.isdecimal() and 1 <= int(word) <= len(plans) for word in wanted):
            return [plans[int(word) - 1] for word in dict.fromkeys(wanted)]
        say("  Type y, n, or numbers such as 1 3.")


def _ask(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt  # Ctrl-D means the same: leave everything as it is
    return line.strip()


class _Outcome(Struct, frozen=True):
    """What became of a plan: whether the file was written, and how the server answered, or why not."""

    plan: _Plan
    changed: bool = False
    tools: int = 0
    seconds: float = 0.0
    problem: str = ""


def _carry_out(plan: _Plan, *, check: bool) -> _Outcome:
    """Write the file, then start what it says now, as the assistant will. A problem with one assistant does
    not stop the others."""
    from vaultbridge.assistants.config_file import list_servers, read_text, remove_server, write_text
    from vaultbridge.assistants.entry import parse_entry
    from vaultbridge.assistants.handshake import check_handshake, check_shared
    from vaultbridge.assistants.shared import read_shared_entry
    from vaultbridge.cli.setup.share import revoke_entry

    changed = False
    try:
        if plan.addition is not None:
            before, after = plan.addition
            write_text(plan.file, after, before=before)
        elif plan.removal is not None:
            entry = list_servers(plan.removal.before, plan.assistant).get(plan.name)
            remove_server(plan.file, plan.removal)
            revoke_entry(entry)
        changed = plan.changes
        if not check:
            return _Outcome(plan, changed)
        entry = list_servers(read_text(plan.file) or "", plan.assistant).get(plan.name)
        shared = read_shared_entry(entry)
        found = check_handshake(parse_entry(entry)) if shared is None else check_shared(shared)
    except VaultbridgeError as error:
        return _Outcome(plan, changed, problem=str(error))
    return _Outcome(plan, changed, found.tools, found.seconds)


def _report(
    args: argparse.Namespace,
    vault: Path,
    name: str,
    plans: list[_Plan],
    problems: list[dict[str, Any]],
    outcomes: list[_Outcome],
) -> None:
    question = "" if args.remove or args.dry_run else suggest_question(vault)
    if args.json:
        written = {outcome.plan.assistant.name for outcome in outcomes if outcome.changed}
        files = [
            {
                "assistant": plan.assistant.name,
                "file": str(plan.file),
                "changed": plan.assistant.name in written,
            }
            for plan in plans
        ]
        checks = [
            *problems,
            *(_describe(outcome) for outcome in outcomes if outcome.problem or outcome.tools),
        ]
        emit({"vault": str(vault), "server": name, "files": files, "checks": checks, "ask": question})
        return
    say()
    terminal: Terminal = args.terminal
    if args.dry_run:
        say("Nothing was written (--dry-run).")
        return
    for outcome in outcomes:
        assistant = outcome.plan.assistant
        if outcome.problem:
            say(f"{terminal.style('✗', 'bad')} {assistant.title}: {outcome.problem}")
        elif not args.remove:
            started = f"started and answered with {outcome.tools} tools in {outcome.seconds:.1f} s"
            say(f"{terminal.style('✓', 'good')} {assistant.title}: {started}.")
            remark(assistant.then, indent=2)
    if args.remove:
        removed = any(outcome.changed for outcome in outcomes)
        say("Removed." if removed else "There was nothing to remove.")
    elif any(not outcome.problem for outcome in outcomes):
        say(f"\nThen ask it:\n  {terminal.style(question, 'heading')}")
        if advice := advise_on_path():
            say()
            remark(advice)
        if vault not in list_vaults():
            say("\nObsidian has not opened this folder yet, so name it in a terminal:")
            say(f"  {own_command()} search -v {shlex.quote(str(vault))} WORDS")


def _describe(outcome: _Outcome) -> dict[str, Any]:
    fields = (
        {"problem": outcome.problem}
        if outcome.problem
        else {"tools": outcome.tools, "seconds": outcome.seconds}
    )
    return {"assistant": outcome.plan.assistant.name, **fields}


LOOKED_AT: Final = 100
"""How many of the newest notes are considered for the question: more daily notes in a row are rare."""

_NOT_A_SUBJECT: Final = re.compile(r"(^|/)_?templates?/|/untitled[^/]*$|/\d{4}-[^/]*$")
"""Notes that nobody asks about: templates, notes without a name, and those named by a date."""


def suggest_question(vault: Path) -> str:
    """Something to ask that only this vault can answer. The index is built on the way, so that the first
    answer need not wait for it."""
    try:
        with open_vault(str(vault)) as engine:
            refresh(engine)
            templates = engine.settings.template_folder
            newest = [found.path for found in engine.queries.recent(limit=LOOKED_AT, kinds=("note",))]
    except VaultbridgeError:
        newest = []
    for path in newest:
        folder, _, name = path.rpartition("/")
        title = name.removesuffix(".md")
        in_templates = templates and f"{folder}/".startswith(f"{templates}/")
        if not in_templates and not _NOT_A_SUBJECT.search(f"{folder.lower()}/{title.lower()}"):
            return f"What do my notes say about “{title}”, and which other notes are related?"
    return "What can you do with my notes?"


def main_vaults(argv: list[str]) -> int:
    return run(Parser("vaults", "List the vaults that Obsidian knows on this machine."), argv, _list_vaults)


def _list_vaults(args: argparse.Namespace) -> int:
    from vaultbridge.vault.obsidian import list_known_vaults

    known = list_known_vaults(os.environ)
    for vault in known:
        if args.json:
            emit({"name": vault.name, "path": str(vault.folder), "open": vault.open})
        else:
            name, folder = escape_controls(vault.name), escape_controls(str(vault.folder))
            say(f"{name}\t{folder}{'' if vault.is_there else '  (missing)'}")
    if not known and not args.json:
        say("Obsidian has no vaults on this machine.")
    return OK
