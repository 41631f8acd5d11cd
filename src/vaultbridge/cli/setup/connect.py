"""`vaultbridge connect`: adds a vault to an assistant's own list of MCP servers, or removes it."""

from __future__ import annotations

import argparse
import json
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaultbridge.cli.common import OK, Parser, emit, run, say
from vaultbridge.errors import EditRefused, InvalidArgument, VaultbridgeError

if TYPE_CHECKING:
    from vaultbridge.server.assistants import Assistant

EPILOG = """\
examples:
  vaultbridge connect                                  the assistants, and the vaults they have
  vaultbridge connect claude-desktop ~/Notes           every tool on this vault
  vaultbridge connect cursor ~/Notes -- --read-only --deny Private
  vaultbridge connect cursor --remove --name notes

Claude Code has a command of its own:   claude mcp add notes -- vaultbridge stdio ~/Notes
So has Codex:                           codex mcp add notes -- vaultbridge stdio ~/Notes
"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "connect",
        "Add a vault to an assistant's list of MCP servers, and change nothing else.",
        epilog=EPILOG,
    )
    parser.add_argument("assistant", nargs="?", help="without it, all assistants are listed")
    parser.add_argument("vault", metavar="VAULT", nargs="?", help="a vault's folder, or its name in Obsidian")
    parser.add_argument(
        "options", metavar="OPTION", nargs="*", help="options of `vaultbridge stdio`, after --"
    )
    parser.add_argument("--name", help="the server's name there (default: the vault's name)")
    parser.add_argument("--file", type=Path, help="the assistant's file, if it is elsewhere")
    parser.add_argument("--remove", action="store_true", help="remove the server from the list")
    parser.add_argument("--replace", action="store_true", help="replace another server of the same name")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    return run(parser, argv, _connect)


def _connect(args: argparse.Namespace) -> int:
    from vaultbridge.server.assistants import ASSISTANTS, find_config_file

    if not args.assistant:
        return _list(as_json=args.json)
    assistant = next((one for one in ASSISTANTS if one.name == args.assistant), None)
    if assistant is None:
        names = ", ".join(one.name for one in ASSISTANTS)
        raise InvalidArgument(
            f"There is no assistant {args.assistant!r}.", argument="usage", hint=f"There are: {names}."
        )
    file: Path = args.file or find_config_file(assistant, os.environ, here=Path.cwd())
    if args.remove:
        return _remove(args, assistant, file)
    return _add(args, assistant, file)


def _list(*, as_json: bool) -> int:
    from vaultbridge.server.assistants import ASSISTANTS, find_config_file, list_servers, read_text

    for assistant in ASSISTANTS:
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        known: dict[str, Any] = {}
        state = "no file yet" if file.parent.is_dir() else "not installed"
        try:
            if (text := read_text(file)) is not None:
                known, state = list_servers(text, assistant.key), ""
        except VaultbridgeError as error:
            state = error.message
        ours = [name for name, entry in known.items() if _starts_us(entry)]
        if as_json:
            emit(
                {
                    "assistant": assistant.name,
                    "file": str(file),
                    "servers": list(known),
                    "vaultbridge": ours,
                    "problem": state,
                }
            )
            continue
        what = state or (f"knows {', '.join(ours)}" if ours else "knows no vault")
        say(f"{assistant.name:<15} {what}\n{'':<15} {file}")
    return OK


def _add(args: argparse.Namespace, assistant: Assistant, file: Path) -> int:
    from vaultbridge.cli.stdio import WrongUsage, parse_arguments
    from vaultbridge.server.assistants import make_entry, read_text, set_server
    from vaultbridge.vault.obsidian import find_vault

    if not args.vault:
        raise InvalidArgument("Which vault? Give its folder or its name.", argument="usage")
    try:
        if parse_arguments(args.options).get("vaults"):
            raise WrongUsage(f"Only options of stdio may follow, not {' '.join(args.options)}.")
    except WrongUsage as error:
        raise InvalidArgument(str(error), argument="usage") from None
    vault = find_vault(args.vault).resolve()
    name = args.name or _make_name(vault)
    entry = make_entry(assistant, vault, tuple(args.options))
    before = read_text(file)
    known = _list_known(before, assistant, file, name, entry)
    if known.get(name) == entry:
        return _report(args, assistant, file, f"{assistant.title} knows {name} already.", changed=False)
    if name in known and not args.replace:
        raise EditRefused(
            f"{assistant.title} has another server named {name!r}.",
            hint="Give a --name of your own, or --replace.",
        )
    after = set_server(before if before and before.strip() else "{}\n", assistant.key, name, entry)
    _write(args, assistant, file, before, after)
    if args.dry_run:
        return _report(args, assistant, file, f"{assistant.title} would know {name}.", changed=True)
    return _report(args, assistant, file, f"{assistant.title} knows {name}. {assistant.then}", changed=True)


def _remove(args: argparse.Namespace, assistant: Assistant, file: Path) -> int:
    from vaultbridge.server.assistants import list_servers, read_text, remove_server
    from vaultbridge.vault.obsidian import find_vault

    if not args.name and not args.vault:
        raise InvalidArgument("Which server? Give its --name, or the vault.", argument="usage")
    name = args.name or _make_name(find_vault(args.vault).resolve())
    before = read_text(file)
    if before is None or name not in list_servers(before, assistant.key):
        return _report(args, assistant, file, f"{assistant.title} knows no {name}.", changed=False)
    _write(args, assistant, file, before, remove_server(before, assistant.key, name))
    verb = "would forget" if args.dry_run else "has forgotten"
    return _report(args, assistant, file, f"{assistant.title} {verb} {name}.", changed=True)


def _list_known(
    text: str | None, assistant: Assistant, file: Path, name: str, entry: dict[str, Any]
) -> dict[str, Any]:
    """List the servers in the file. If it cannot be edited, the error says what to write by hand."""
    from vaultbridge.server.assistants import list_servers

    try:
        return list_servers(text, assistant.key) if text and text.strip() else {}
    except EditRefused as refusal:
        by_hand = json.dumps({assistant.key: {name: entry}}, ensure_ascii=False)
        raise EditRefused(refusal.message, hint=f"Write this into {file} by hand: {by_hand}") from None


def _write(
    args: argparse.Namespace, assistant: Assistant, file: Path, before: str | None, after: str
) -> None:
    from vaultbridge.server.assistants import write_text

    if not file.parent.is_dir():
        raise EditRefused(
            f"{assistant.title} seems not to be installed: {file.parent} does not exist.",
            hint="Start it once, or name its file with --file.",
        )
    if args.dry_run:
        if not args.json:
            say(_render_diff(before or "", after, file))
        return
    write_text(file, after, before=before)


def _render_diff(before: str, after: str, file: Path) -> str:
    from difflib import unified_diff

    rows = unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
    return "\n".join(rows)


def _report(args: argparse.Namespace, assistant: Assistant, file: Path, text: str, *, changed: bool) -> int:
    if args.json:
        emit(
            {
                "assistant": assistant.name,
                "file": str(file),
                "changed": changed and not args.dry_run,
                "message": text,
            }
        )
    else:
        say(text)
    return OK


def _make_name(vault: Path) -> str:
    """Make a name that all assistants accept: letters, digits, - and _."""
    plain = unicodedata.normalize("NFKD", vault.name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_-]+", "-", plain).strip("-") or "vault"


def _starts_us(entry: Any) -> bool:
    """Whether a server's entry starts vaultbridge."""
    if not isinstance(entry, dict):
        return False
    args = entry.get("args")
    words = [entry.get("command"), *(args if isinstance(args, list) else [])]
    return any(isinstance(word, str) and Path(word).stem == "vaultbridge" for word in words)
