"""`vaultbridge connect`: adds a vault to an assistant's own list of MCP servers, or removes it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import textwrap
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaultbridge.cli.common import FAILED, OK, emit, find_default_vault, report, run, say
from vaultbridge.cli.parser import OPTION_HELP, VAULT_HELP, Parser
from vaultbridge.errors import EditRefused, InvalidArgument, VaultbridgeError, VaultNotFound
from vaultbridge.system import read_file_uri

if TYPE_CHECKING:
    from vaultbridge.assistants.catalog import Assistant

EPILOG = """\
examples:
  vaultbridge connect                          list assistants and their vaults
  vaultbridge connect claude-desktop ~/Notes   every tool on this vault
  vaultbridge connect all                      every assistant, this vault
  vaultbridge connect cursor ~/Notes --read-only --deny Private
  vaultbridge connect cursor ~/Notes --shared  over HTTP, to one bridge
  vaultbridge connect cursor --remove --name notes"""

ALL = "all"

ROW_CHARS = 1000
"""The longest line of a diff that is shown whole: room for an entry with two long paths."""


def main(argv: list[str]) -> int:
    parser = Parser(
        "connect",
        "Add a vault to an assistant's list of MCP servers, and change nothing else.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "assistant", metavar="ASSISTANT", nargs="?", help="its name, or `all`; without it, list them"
    )
    parser.add_argument(
        "vault",
        metavar="VAULT",
        nargs="?",
        help=f"{VAULT_HELP}; by default the one you are in, or the only one",
    )
    parser.add_argument(
        "options", metavar="OPTION", nargs="*", help="options of `vaultbridge stdio`, after --"
    )
    parser.add_argument("-v", "--vault", dest="named", metavar="VAULT", help=OPTION_HELP)
    parser.add_argument("--name", help="the server's name there (default: the vault's name)")
    parser.add_argument("--file", type=Path, help="the assistant's file, if it is elsewhere")
    parser.add_argument(
        "--shared",
        action="store_true",
        help="share the bridge of `vaultbridge service`, instead of starting a process for each session",
    )
    parser.add_argument("--read-only", action="store_true", help="allow no changes")
    parser.add_argument("--allow", action="append", default=[], metavar="GLOB", help="show only these notes")
    parser.add_argument("--deny", action="append", default=[], metavar="GLOB", help="hide these notes")
    parser.add_argument(
        "--review", choices=("off", "destructive", "all"), help="which of its changes need your review"
    )
    parser.add_argument("--remove", action="store_true", help="remove the server from the list")
    parser.add_argument("--replace", action="store_true", help="replace another server of the same name")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    end = argv.index("--") if "--" in argv else len(argv)
    options = argv[end + 1 :]
    # Without this, argparse would take the first of them for VAULT, which may be left out.
    return run(parser, argv[:end] if options else argv, lambda args: _connect(args, options))


def _connect(args: argparse.Namespace, options: list[str]) -> int:
    from vaultbridge.assistants.catalog import find_config_file

    if not args.assistant:
        return _list(args)
    if args.named is not None:
        args.options = [*([args.vault] if args.vault else []), *args.options]
        args.vault = args.named
    if args.options:
        raise InvalidArgument(
            f"Without an assistant, connect takes no {shlex.join(args.options)}.", argument="usage"
        )
    args.options = [*_list_limits(args), *options]
    chosen = choose_assistants(args.assistant)
    if args.assistant == ALL:
        return _connect_all(args, chosen)
    (assistant,) = chosen
    file: Path = args.file or find_config_file(assistant, os.environ, here=Path.cwd())
    return _remove(args, assistant, file) if args.remove else _add(args, assistant, file)


def advise_on_path() -> str:
    """What to do if a shell does not find this program, as in an environment of its own; else nothing."""
    from shutil import which

    from vaultbridge.assistants.entry import find_own_command

    program = Path(find_own_command()[0])
    if program.stem != "vaultbridge" or which("vaultbridge") is not None:
        return ""
    return f"Your shell does not find `vaultbridge`: type {program}, or add its folder to PATH."


def choose_assistants(name: str) -> list[Assistant]:
    """Find one assistant, or with `all` those that were used on this machine. Raises InvalidArgument with a
    suggestion."""
    from vaultbridge.assistants.catalog import (
        ASSISTANTS,
        find_assistant,
        find_config_file,
        is_installed,
    )

    if name == ALL:
        here = Path.cwd()
        return [
            assistant
            for assistant in ASSISTANTS
            if is_installed(assistant, find_config_file(assistant, os.environ, here=here))
        ]
    found = find_assistant(name)
    if found is not None:
        return [found]
    from difflib import get_close_matches

    names = [assistant.name for assistant in ASSISTANTS]
    titles = {assistant.title.lower(): assistant.name for assistant in ASSISTANTS}
    closest = get_close_matches(name.lower(), [*names, *titles], n=1)
    if closest:
        hint = f"Did you mean {titles.get(closest[0], closest[0])}? `vaultbridge connect` lists them."
    else:
        hint = f"Choose one of: {', '.join(names)}, {ALL}."
    raise InvalidArgument(f"There is no assistant {name!r}.", argument="usage", hint=hint)


def _list_limits(args: argparse.Namespace) -> list[str]:
    """The limits given to `connect`, as options of `stdio`."""
    words = ["--read-only"] * args.read_only
    words += [word for pattern in args.allow for word in ("--allow", pattern)]
    words += [word for pattern in args.deny for word in ("--deny", pattern)]
    return words + (["--review", args.review] if args.review is not None else [])


def _connect_all(args: argparse.Namespace, chosen: list[Assistant]) -> int:
    """Connect each assistant, and go on if one fails."""
    from vaultbridge.assistants.catalog import find_config_file

    if args.file is not None:
        raise InvalidArgument("--file works for one assistant only.", argument="usage")
    if not chosen:
        raise EditRefused("No assistant was found on this machine.", hint="`vaultbridge connect` lists them.")
    failures: dict[str, tuple[VaultbridgeError, list[str]]] = {}
    for assistant in chosen:
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        try:
            _remove(args, assistant, file) if args.remove else _add(args, assistant, file)
        except VaultbridgeError as error:
            if isinstance(error, InvalidArgument | VaultNotFound):
                raise  # It is about the command, whichever assistant comes first.
            # What is wrong with all of them is said once.
            failures.setdefault(str(error), (error, []))[1].append(assistant.title)
    for failure, titles in failures.values():
        failure.message = f"{', '.join(titles)}: {failure.message}"
        report(failure, as_json=args.json)
    return FAILED if failures else OK


def _list(args: argparse.Namespace) -> int:
    from vaultbridge.assistants.catalog import ASSISTANTS, find_config_file, is_installed
    from vaultbridge.assistants.config_file import list_servers, read_text
    from vaultbridge.assistants.entry import starts_vaultbridge
    from vaultbridge.assistants.shared import read_shared_entry

    missing: list[str] = []
    for assistant in ASSISTANTS:
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        known: dict[str, Any] = {}
        state = "no file yet" if file.parent.is_dir() else "not installed"
        try:
            if (text := read_text(file)) is not None:
                known, state = list_servers(text, assistant), ""
        except VaultbridgeError as error:
            state = error.message
        shared = [name for name, entry in known.items() if read_shared_entry(entry) is not None]
        ours = [name for name, entry in known.items() if name in shared or starts_vaultbridge(entry)]
        if args.json:
            emit(
                {
                    "assistant": assistant.name,
                    "file": str(file),
                    "servers": list(known),
                    "vaultbridge": ours,
                    "shared": shared,
                    "problem": state,
                }
            )
        elif state == "not installed":
            missing.append(assistant.name)
        else:
            names = ", ".join(f"{name} (shared)" if name in shared else name for name in ours)
            what = state or (f"connected to {names}" if ours else "not connected")
            style = "good" if ours else "dim" if not is_installed(assistant, file) else "heading"
            say(f"{args.terminal.style(f'{assistant.name:<17}', style)} {what}")
            say(f"{'':<17} {args.terminal.style(str(file), 'dim')}")
    rows = textwrap.wrap(", ".join(missing), max(20, args.terminal.width - 19), break_on_hyphens=False)
    for number, row in enumerate(rows):
        say(args.terminal.style(f"{'' if number else 'not found here':<17} {row}", "dim"))
    return OK


def _add(args: argparse.Namespace, assistant: Assistant, file: Path) -> int:
    from vaultbridge.cli.setup.share import revoke_entry
    from vaultbridge.cli.stdio import WrongUsage, parse_arguments
    from vaultbridge.vault.obsidian import find_vault

    try:
        if parse_arguments(args.options).get("vaults"):
            raise WrongUsage(
                f"Only options of `vaultbridge stdio` may follow --, not {' '.join(args.options)}."
            )
    except WrongUsage as error:
        raise InvalidArgument(str(error), argument="usage") from None
    vault = find_vault(args.vault or find_default_vault()).resolve()
    name = args.name or choose_server_name(assistant, file, vault)
    if args.shared:
        return _share(args, assistant, file, vault, name)
    former = _find_shared(assistant, file, name)
    if former is not None and not args.replace:
        if not args.options:
            text = f"{assistant.title} is already connected to {name}, shared."
            return _report(args, assistant, file, text, changed=False)
        raise EditRefused(
            f"{assistant.title} shares a bridge for {name}.",
            hint="Add --shared to change its limits, or --replace to start a process of its own instead.",
        )
    plan = plan_addition(assistant, file, vault, name, tuple(args.options), replace=args.replace)
    if plan is None:
        state = "is already"
    else:
        state = "would be" if args.dry_run else "is"
        _write(args, assistant, file, *plan)
        if former is not None and not args.dry_run:
            revoke_entry(former)
    report = f"{assistant.title} {state} connected to {name}"
    fresh = args.options or args.replace
    if options := [] if fresh else _list_options(assistant, file, name, vault):
        report += f", still with {shlex.join(options)} (--replace writes a new entry)"
    then = "" if plan is None or args.dry_run else f" {assistant.then}"
    return _report(args, assistant, file, f"{report}.{then}", changed=plan is not None)


def _find_shared(assistant: Assistant, file: Path, name: str) -> Any:
    """The server's entry if it shares a bridge, else None."""
    from vaultbridge.assistants.config_file import list_servers, read_text
    from vaultbridge.assistants.shared import read_shared_entry

    try:
        entry = list_servers(read_text(file) or "", assistant).get(name)
    except VaultbridgeError:
        return None  # the step that changes the file reports what is wrong with it
    return entry if read_shared_entry(entry) is not None else None


def _share(args: argparse.Namespace, assistant: Assistant, file: Path, vault: Path, name: str) -> int:
    from vaultbridge.cli.setup.share import give_up, plan_shared, warn_if_readable

    _check_installed(assistant, file)
    plan = plan_shared(
        assistant, file, vault, name, tuple(args.options), replace=args.replace, dry_run=args.dry_run
    )
    limits = f", with {plan.limits}" if str(plan.limits) else ""
    if plan.after is None:
        text = f"{assistant.title} is already connected to {name}, shared{limits}."
        return _report(args, assistant, file, text, changed=False)
    try:
        _write(args, assistant, file, plan.before, plan.after, private=True)
    except VaultbridgeError:
        give_up(plan.token)
        raise
    if args.dry_run:
        text = f"{assistant.title} would be connected to {name}, shared{limits}."
        return _report(args, assistant, file, text, changed=True)
    give_up(plan.former)
    warn_if_readable(file)
    text = f"{assistant.title} is connected to {name}, shared{limits}. {assistant.then}"
    return _report(args, assistant, file, text, changed=True)


def _list_options(assistant: Assistant, file: Path, name: str, vault: Path) -> list[str]:
    from vaultbridge.assistants.config_file import list_servers, read_text

    return keep_options(list_servers(read_text(file) or "", assistant).get(name), vault)


def plan_addition(
    assistant: Assistant,
    file: Path,
    vault: Path,
    name: str,
    options: tuple[str, ...] = (),
    *,
    replace: bool = False,
) -> tuple[str | None, str] | None:
    """The file's text now, and with the server; None if it is already there. An entry of ours for this vault
    is brought up to date, and keeps its options (unless others are given) and anything else that the owner
    wrote into it: `--deny` must not get lost when somebody connects twice. An entry for another vault or
    program is replaced only with `replace`. Raises EditRefused."""
    from vaultbridge.assistants.config_file import list_servers, read_text, set_server
    from vaultbridge.assistants.entry import (
        make_entry,
        serves_another,
        starts_vaultbridge,
        write_entry,
    )

    entry = make_entry(assistant, name, vault, options)
    before = read_text(file)
    try:
        known = list_servers(before or "", assistant)
        former = known.get(name)
        if former is not None and not replace:
            ours = starts_vaultbridge(former)
            if not ours or serves_another(former, vault):
                raise EditRefused(
                    f"{assistant.title} has another {'vault' if ours else 'server'} named {name!r}.",
                    hint="Choose another name with --name, or add --replace.",
                )
            kept = options or tuple(keep_options(former, vault))
            entry = {**former, **make_entry(assistant, name, vault, kept)}
        if former == entry:
            return None
        return before, set_server(before or "", assistant, name, entry)
    except EditRefused as refusal:
        if "Nothing was changed" not in refusal.hint:
            raise
        by_hand = write_entry(assistant, name, entry)
        raise EditRefused(refusal.message, hint=f"Add this to {file} by hand: {by_hand}") from None


def keep_options(entry: Any, vault: Path) -> list[str]:
    """What an entry of ours passes to `stdio` in addition to this vault, or to one that is gone: options, and
    further vaults. Raises EditRefused."""
    from vaultbridge.assistants.entry import parse_entry
    from vaultbridge.cli.stdio import WrongUsage, parse_arguments
    from vaultbridge.vault.obsidian import find_vault

    words = parse_entry(entry)
    after = words[words.index("stdio") + 1 :] if "stdio" in words else []
    try:
        named = parse_arguments(after).get("vaults", ())
    except WrongUsage as error:
        raise EditRefused(
            f"Its options cannot be kept: {error}", hint="Add --replace to write it without them."
        ) from None
    for text in named:
        try:
            if find_vault(read_file_uri(text)).resolve() == vault:
                after.remove(text)
        except VaultbridgeError:
            if text == named[0]:
                after.remove(text)
    return after


def _remove(args: argparse.Namespace, assistant: Assistant, file: Path) -> int:
    from vaultbridge.assistants.config_file import list_servers, plan_removal, remove_server
    from vaultbridge.cli.setup.share import revoke_entry
    from vaultbridge.vault.obsidian import find_vault

    name = args.name
    if not name:
        name = choose_server_name(assistant, file, find_vault(args.vault or find_default_vault()).resolve())
    removal = plan_removal(file, assistant, name)
    if removal is None:
        return _report(args, assistant, file, f"{assistant.title} is not connected to {name}.", changed=False)
    if not args.dry_run:
        entry = list_servers(removal.before, assistant).get(name)
        remove_server(file, removal)
        revoke_entry(entry)
    elif not args.json:
        say(args.terminal.color_diff(render_diff(removal.before, removal.after or "", file)))
    verb = "Would remove" if args.dry_run else "Removed"
    return _report(args, assistant, file, f'{verb} "{name}" from {assistant.title}.', changed=True)


def _write(
    args: argparse.Namespace,
    assistant: Assistant,
    file: Path,
    before: str | None,
    after: str,
    *,
    private: bool = False,
) -> None:
    from vaultbridge.assistants.config_file import write_text

    _check_installed(assistant, file)
    if args.dry_run:
        if not args.json:
            say(args.terminal.color_diff(render_diff(before, after, file)))
        return
    write_text(file, after, before=before, private=private)


def _check_installed(assistant: Assistant, file: Path) -> None:
    if not file.parent.is_dir():
        raise EditRefused(
            f"{assistant.title} does not seem to be installed: {file.parent} does not exist.",
            hint="Start it once, or name its file with --file.",
        )


def render_diff(before: str | None, after: str, file: Path) -> str:
    """Show a file's change; `before` is None if there is no file yet."""
    from difflib import unified_diff

    was = "(no file yet)" if before is None else str(file)
    rows = unified_diff((before or "").splitlines(), after.splitlines(), was, str(file), lineterm="")
    return "\n".join(map(_shorten_row, rows))


def _shorten_row(row: str) -> str:
    """Shorten a line in its middle: what is added to a one-line file is at its end."""
    if len(row) <= ROW_CHARS:
        return row
    return f"{row[: ROW_CHARS // 5]} … {row[-ROW_CHARS * 4 // 5 :]}"


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


def choose_server_name(assistant: Assistant, file: Path, vault: Path) -> str:
    """The name under which the assistant has this vault, or else a name that it has for no other vault. Vault
    names in other alphabets may give the same server name, and so do two folders named Notes."""
    from vaultbridge.assistants.config_file import list_servers, read_text
    from vaultbridge.assistants.entry import (
        find_entry_vault,
        is_same_place,
        serves_another,
        starts_vaultbridge,
    )
    from vaultbridge.assistants.shared import find_shared_vault
    from vaultbridge.cli.setup.share import open_store

    first = make_server_name(vault)
    try:
        known = list_servers(read_text(file) or "", assistant)
    except EditRefused:
        return first  # the step that changes the file reports what is wrong with it
    store = open_store()
    for name, entry in known.items():
        place = find_entry_vault(entry) if starts_vaultbridge(entry) else None
        place = place or find_shared_vault(entry, store)
        named = re.fullmatch(rf"{re.escape(first)}(-\d+)?", name)
        if named and place is not None and is_same_place(place, vault):
            return name
    names = [first, *(f"{first}-{number}" for number in range(2, len(known) + 2))]
    return next(
        name
        for name in names
        if name not in known
        or not (
            serves_another(known[name], vault) or find_shared_vault(known[name], store) not in (None, vault)
        )
    )


def make_server_name(vault: Path) -> str:
    """Make a name that all assistants accept: letters, digits, - and _."""
    plain = unicodedata.normalize("NFKD", vault.name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_-]+", "-", plain).strip("-") or "vault"
