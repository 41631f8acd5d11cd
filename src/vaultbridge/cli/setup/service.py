"""`vaultbridge service install|status|remove`: keeps one bridge running after login, for all assistants."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.cli.common import FAILED, OK, emit, find_default_vault, own_command, run, say
from vaultbridge.cli.parser import Parser, SuggestingParser, parse_port
from vaultbridge.errors import EngineFailure, VaultNotFound

if TYPE_CHECKING:
    from vaultbridge.server.service.definition import Service

EPILOG = """\
examples:
  vaultbridge service install ~/Notes          from now on, and at every login
  vaultbridge connect cursor ~/Notes --shared  an assistant that uses it
  vaultbridge service install --dry-run        what would be written
"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "service",
        "Keep one bridge running after login. Assistants that share it need no process of their own.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="install | status | remove", parser_class=SuggestingParser
    )
    both = SuggestingParser(add_help=False, argument_default=argparse.SUPPRESS)
    both.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    both.add_argument("--color", choices=("auto", "always", "never"), help=argparse.SUPPRESS)
    install = commands.add_parser("install", parents=[both], help="install it, or add vaults to it")
    install.add_argument(
        "vaults",
        metavar="VAULT",
        nargs="*",
        help="a vault's folder or its name in Obsidian; by default all that assistants use",
    )
    install.add_argument("--port", type=parse_port, help="its port, which stays the same")
    install.add_argument("--dry-run", action="store_true", help="show what would be written")
    commands.add_parser("status", parents=[both], help="show whether it is installed and responds")
    remove = commands.add_parser(
        "remove", parents=[both], help="stop it, and remove everything that belongs to it"
    )
    remove.add_argument("--dry-run", action="store_true", help="show what would be removed")
    return run(parser, argv, _run_action)


def _run_action(args: argparse.Namespace) -> int:
    actions = {"install": _install, "status": _show_status, "remove": _remove}
    return actions[args.command](args)


def _install(args: argparse.Namespace) -> int:
    from vaultbridge.server.service.install import (
        check_system,
        end_temporary,
        find_kind,
        find_service,
        install,
    )

    kind = find_kind()
    installed = find_service(os.environ, kind)
    file = kind.find_file(os.environ)
    service = _make_service(args, installed)
    if args.dry_run:
        text = kind.render(service).decode("utf-16" if kind.name == "Task Scheduler" else "utf-8")
        if args.json:
            emit({"file": str(file), "text": text, "changed": False})
        else:
            say(f"{file}:\n\n{text}")
            for command in kind.list_starting(file):
                say(f"$ {shlex.join(command)}")
        return OK
    check_system(service, kind)
    own_port = installed.port if installed is not None else 0
    running = [where for where in end_temporary(os.environ) if where.port != own_port]
    if clash := next((where for where in running if where.port == service.port), None):
        raise EngineFailure(
            f"Process {clash.pid} is a bridge at the same port ({service.port}).",
            hint="Stop it first (Ctrl+C where it was started), or choose another port with --port.",
        )
    install(service, os.environ, kind)
    if args.json:
        emit({"file": str(file), "changed": service != installed, **_describe(service), "answers": True})
        return OK
    names = ", ".join(Path(vault).name for vault in service.vaults)
    say(f"Serving {args.terminal.clean(names)} at {service.url}, now and after every login.")
    say(f"  an assistant that shares it  {own_command()} connect ASSISTANT VAULT --shared")
    say(f"  the page                     {own_command()} page")
    say(f"  its log                      {kind.explain_log(os.environ)}")
    return OK


def _make_service(args: argparse.Namespace, installed: Service | None) -> Service:
    """The service with the vaults it has already, and those that the person names, or else all that
    assistants use. Raises VaultNotFound and InvalidArgument."""
    from vaultbridge.assistants.entry import find_own_command
    from vaultbridge.server.config.model import choose_config
    from vaultbridge.server.service.definition import make_service
    from vaultbridge.server.service.install import choose_port
    from vaultbridge.server.used_vaults import list_used_vaults
    from vaultbridge.vault.obsidian import find_vault

    config = choose_config(os.environ).load()
    kept = [Path(vault) for vault in installed.vaults if Path(vault).is_dir()] if installed else []
    wanted = [find_vault(vault).resolve() for vault in args.vaults] or list_used_vaults(os.environ)
    if not kept and not wanted:
        wanted = [find_vault(_find_here()).resolve()]
    vaults = list(dict.fromkeys([*kept, *wanted]))
    port = args.port or choose_port(os.environ, config, installed)
    return make_service(find_own_command(), vaults, port, os.environ)


def _find_here() -> str:
    try:
        return find_default_vault()
    except VaultNotFound as error:
        raise VaultNotFound(error.message, hint="Name a vault: vaultbridge service install FOLDER") from None


def _describe(service: Service) -> dict[str, object]:
    return {"url": service.url, "port": service.port, "vaults": service.vaults, "command": service.command}


def _show_status(args: argparse.Namespace) -> int:
    from vaultbridge.server.service.install import answers, find_kind, find_service

    kind = find_kind()
    file = kind.find_file(os.environ)
    service = find_service(os.environ, kind)
    running = service is not None and answers(service)
    if args.json:
        about = _describe(service) if service is not None else {}
        emit({"installed": service is not None, "file": str(file), "answers": running, **about})
    elif service is None:
        say("No service is installed." if not file.exists() else f"{file} was not written by vaultbridge.")
    else:
        say(f"Installed in {file} ({kind.name})")
        say(f"  {'running' if running else 'not responding'} at {service.url}")
        for vault in service.vaults:
            gone = "" if Path(vault).is_dir() else "  (missing)"
            say(f"  serves {args.terminal.clean(vault)}{gone}")
        if not running:
            say(f"  Its log: {kind.explain_log(os.environ)}")
    return OK if running else FAILED


def _remove(args: argparse.Namespace) -> int:
    from vaultbridge.assistants.shared import list_shared_entries
    from vaultbridge.server.service.install import find_kind, find_service, remove

    kind = find_kind()
    file = kind.find_file(os.environ)
    service = find_service(os.environ, kind)
    users = list_shared_entries(os.environ, service.url) if service is not None else []
    removed = file.exists() if args.dry_run else remove(os.environ, kind)
    if args.json:
        emit({"file": str(file), "changed": removed and not args.dry_run})
    elif not removed:
        say("No service is installed.")
    else:
        say(f"Would remove {file}." if args.dry_run else f"Removed {file}; the bridge has stopped.")
    for assistant, name in users:
        sys.stderr.write(
            f"note: {assistant.title} shares it, as {name}. Remove that too: vaultbridge connect"
            f" {assistant.name} --remove --name {name}\n"
        )
    return OK
