"""The checks of `vaultbridge doctor`, in their order."""

from __future__ import annotations

import argparse
import os
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge import __version__
from vaultbridge.assistants.catalog import ASSISTANTS, find_config_file, is_installed
from vaultbridge.assistants.config_file import list_servers, read_text, write_text
from vaultbridge.assistants.entry import (
    find_entry_vault,
    find_own_command,
    parse_entry,
    starts_own_program,
    starts_vaultbridge,
)
from vaultbridge.assistants.handshake import check_handshake
from vaultbridge.assistants.shared import read_shared_entry
from vaultbridge.cli.common import FAILED, OK, emit, find_cache, find_root, name_command, say
from vaultbridge.cli.setup.access_checks import Finding, check_code, check_patterns, list_some
from vaultbridge.cli.setup.companion import read_state
from vaultbridge.cli.setup.connect import advise_on_path, plan_addition
from vaultbridge.cli.setup.index_checks import check_index
from vaultbridge.cli.setup.sharing_checks import (
    check_service,
    check_sessions,
    check_shared_entry,
    check_waiting,
)
from vaultbridge.cli.terminal import wrap_remark
from vaultbridge.errors import PermissionDenied, VaultbridgeError
from vaultbridge.protocols.claude_ide.doctor import check_dead_locks, diagnose
from vaultbridge.protocols.claude_ide.lock_files import LockFiles, list_scanned_folders
from vaultbridge.protocols.editor.endpoint_file import find_running, load_endpoint
from vaultbridge.server.config.model import choose_config
from vaultbridge.system import is_process_alive
from vaultbridge.tokens import FILE_NAME, TokenStore
from vaultbridge.vault.obsidian import find_vault
from vaultbridge.vault.spelling import find_twins
from vaultbridge.vault.walk import LEFT_OUT, FileEntry, Skipped, Unreadable, walk

if TYPE_CHECKING:
    from vaultbridge.assistants.catalog import Assistant

MARKS: Final = {"good": "ok  ", "warning": "warn", "bad": "BAD ", "unknown": "-   "}
STYLES: Final = {"good": "good", "warning": "warning", "bad": "bad", "unknown": "dim"}

MARK_CELLS: Final = 5
ARROW: Final = "       -> "

OLDEST_PYTHON: Final = (3, 11)

HANDSHAKE_SECONDS: Final = 20.0
"""How long a configured server may take to answer here: a person waits for the whole list."""


def run_checks(args: argparse.Namespace) -> int:
    areas: list[tuple[str, Callable[[], Iterator[Finding]]]] = [("System", lambda: _check_system(args))]
    try:
        if args.vault_problem is not None:
            raise args.vault_problem
        vault = find_vault(args.vault).resolve()
        if not os.access(vault, os.R_OK | os.X_OK):
            raise PermissionDenied(
                f"{vault} cannot be read.",
                hint="Give yourself access to the folder; on macOS, allow it for your terminal in System"
                " Settings, Privacy & Security, Files and Folders.",
            )
    except VaultbridgeError as error:
        # What does not depend on the vault is checked all the same.
        missing = Finding("Vault", "folder", "bad", error.message, error.hint)
        areas += [("Vault", lambda: iter([missing])), ("Assistants", lambda: _check_assistants(args))]
    else:
        areas += [
            ("Vault", lambda: _check_vault(args, vault)),
            ("Index", lambda: check_index(args)),
            ("Bridge", lambda: chain(_check_bridge(args, vault), check_service())),
            ("Assistants", lambda: _check_assistants(args)),
            ("Companion", lambda: _check_companion(args, vault)),
        ]
    worst = OK
    for title, check in areas:
        if not args.json:
            say(args.terminal.style(title, "heading"))
        for finding in check():
            _show(args, finding)
            worst = FAILED if finding.status == "bad" and not finding.fixed else worst
    return worst


def _show(args: argparse.Namespace, finding: Finding) -> None:
    if args.json:
        emit(finding)
        return
    mark = args.terminal.style(MARKS[finding.status], STYLES[finding.status])
    found = f"{finding.name}: {args.terminal.clean(finding.found)}"
    say(f"{mark} {wrap_remark(found, sys.stdout, indent=MARK_CELLS)}")
    if what_to_do := f"repaired: {finding.fixed}" if finding.fixed else finding.advice:
        say(f"{ARROW}{wrap_remark(what_to_do, sys.stdout, indent=len(ARROW))}")


def _check_system(args: argparse.Namespace) -> Iterator[Finding]:
    running = ".".join(map(str, sys.version_info[:3]))
    oldest = ".".join(map(str, OLDEST_PYTHON))
    old = sys.version_info < OLDEST_PYTHON
    yield Finding(
        "System",
        "Python",
        "bad" if old else "good",
        f"{running}, SQLite {sqlite3.sqlite_version}",
        f"Install vaultbridge with Python {oldest} or newer." if old else "",
    )
    own = find_own_command()
    yield Finding("System", "vaultbridge", "good", f"{__version__}, started by {' '.join(own)}")
    yield from _check_other_program(own)
    file = (chosen := choose_config(os.environ)).path
    try:
        config = chosen.load()
    except VaultbridgeError as error:
        there = (str(error), f"Correct {file}.")
        found, advice = there if os.path.lexists(file) else (error.message, error.hint)
        yield Finding("System", "configuration", "bad", found, advice)
    else:
        found = f"{file}" if file.is_file() else f"none (it would be {file})"
        yield Finding("System", "configuration", "good" if file.is_file() else "unknown", found)
        for vault in config.vaults:
            try:
                find_vault(vault.path)
            except VaultbridgeError as error:
                advice = f"Correct its path in {file}, or connect its disk."
                yield Finding("System", f"configured vault {vault.path}", "bad", error.message, advice)
        yield check_code(file.parent, config.tools)
    yield _check_tokens(file.parent)
    yield from _check_privacy(file.parent, fix=args.fix)


def _check_other_program(own: list[str]) -> Iterator[Finding]:
    """Look for a second installation: a shell would start that one, and assistants this one."""
    import shutil

    first = shutil.which("vaultbridge")
    script = Path(own[0])  # under `uvx` it is that program, and another vaultbridge does not matter
    if first is not None and script.stem == "vaultbridge" and Path(first).resolve() != script.resolve():
        found = f"your shell starts {first}, which is not this one"
        advice = "Uninstall one of the two, or put the one you want first in PATH."
        yield Finding("System", "another vaultbridge", "warning", found, advice)
    elif advice := advise_on_path():
        yield Finding("System", "shell", "unknown", "`vaultbridge` is not on PATH", advice)


def _check_tokens(folder: Path) -> Finding:
    try:
        tokens = TokenStore(folder).list_tokens()
    except VaultbridgeError as error:
        advice = error.hint or f"Make it yours: chmod 600 {folder / FILE_NAME}"
        return Finding("System", "tokens", "bad", error.message, advice)
    now = time.time()
    expired = [token.name for token in tokens if token.expires and token.expires < now]
    if expired:
        advice = "Remove them: vaultbridge token revoke NAME"
        return Finding("System", "tokens", "warning", f"expired: {', '.join(expired)}", advice)
    made = f"{len(tokens) or 'none'}"
    return Finding("System", "tokens", "good" if tokens else "unknown", made)


def _check_privacy(folder: Path, *, fix: bool) -> Iterator[Finding]:
    """Look whether other users of this machine can read or replace the tokens; Windows has no such modes."""
    file = folder / FILE_NAME
    try:
        mode = file.stat().st_mode & 0o777
    except OSError:
        return
    if os.name != "posix" or not mode & 0o077:
        return
    fixed = ""
    if fix:
        with suppress(OSError):  # another user's file: the advice stands
            file.chmod(0o600)
            fixed = "only you can use it now"
    found = f"other users of this machine may use {file} (mode {mode:o})"
    yield Finding("System", "token file", "warning", found, f"chmod 600 {shlex.quote(str(file))}", fixed)


def _check_vault(args: argparse.Namespace, vault: Path) -> Iterator[Finding]:
    root = find_root(args.vault)
    if why := root.absence():
        accept = name_command(args, "index --accept")
        advice = f"Connect its disk. If the folder is right as it is: {accept}"
        yield Finding("Vault", "folder", "bad", f"{vault}: {why}", advice)
        return
    opened = (vault / ".obsidian").is_dir()
    yield Finding(
        "Vault",
        "folder",
        "good" if opened else "unknown",
        f"{vault}{'' if opened else ', not opened in Obsidian yet'}",
    )
    if os.access(vault, os.W_OK | os.X_OK):
        yield Finding("Vault", "permissions", "good", "can be read and written")
    else:
        yield Finding(
            "Vault", "permissions", "warning", "can only be read", "Assistants cannot change notes there."
        )
    counts: dict[str, int] = {}
    files: list[str] = []
    skipped: list[str] = []
    renaming = ""
    unreadable: list[str] = []
    for entry in walk(root):
        if isinstance(entry, FileEntry):
            counts[entry.kind] = counts.get(entry.kind, 0) + 1
            files.append(entry.path)
            if not os.access(vault / entry.path, os.R_OK):
                unreadable.append(entry.path)
        elif isinstance(entry, Skipped) and entry.why in LEFT_OUT:
            skipped.append(f"{entry.path} ({LEFT_OUT[entry.why]})")
            if entry.why == "same-name" and not renaming and (twins := find_twins(entry.path, root)):
                renaming = f" Of {twins.describe()}: {twins.advise()}."
        elif isinstance(entry, Unreadable):
            unreadable.append(f"{entry.path or vault.name} ({entry.why})")
    notes = counts.get("note", 0)
    yield Finding(
        "Vault", "notes", "good" if notes else "unknown", f"{notes:,} in {sum(counts.values()):,} files"
    )
    yield from check_patterns(root, files)
    if unreadable:
        advice = "Give yourself read access to them; until then they are missing everywhere."
        yield Finding("Vault", "unreadable", "bad", list_some(unreadable), advice)
    if skipped:
        advice = f"Rename them to see them here and on phones.{renaming}"
        yield Finding("Vault", "left out", "warning", list_some(skipped), advice)


def _check_bridge(args: argparse.Namespace, vault: Path) -> Iterator[Finding]:
    """Check the running bridge, and what Claude Code needs to find it."""
    try:
        cache = find_cache(args.vault)
    except VaultbridgeError:
        return
    known = find_running(cache) or load_endpoint(cache)
    port = args.port or (known.port if known is not None else 0)
    running = known is not None and is_process_alive(known.pid)
    if not port or (not args.port and known is not None and known.pid == 0):
        page, serve = name_command(args, "page"), name_command(args, "serve")
        advice = f"For the page: `{page}`. For /ide and HTTP: `{serve}`."
        yield Finding("Bridge", "bridge", "unknown", "no bridge is running for this vault", advice)
        yield from _check_port()
        yield from _check_dead_locks(args)
        return
    if known is not None and running and not known.announced:
        # Its owner chose this, or `vaultbridge page` started it: a missing lock file is no fault.
        found = f"running at {known.link}, for the page and programs, not for Claude Code's /ide"
        yield Finding("Bridge", "bridge", "good", found, f"For /ide: `{name_command(args, 'serve')}`.")
        yield from _check_dead_locks(args)
        return
    if known is not None and running and (known.host != "127.0.0.1" or known.certificate):
        # Its owner chose this, and it has no lock file: the checks below would only report that as a fault.
        yield Finding(
            "Bridge",
            "address",
            "warning",
            f"the bridge listens at {known.url}, and Claude Code's /ide connects only to ws://127.0.0.1",
            "Everything else works there. For /ide, start `vaultbridge serve` without --host and TLS.",
        )
        yield from _check_dead_locks(args)
        return
    dead = list(_check_dead_locks(args)) if args.fix else []
    for check in diagnose(
        vault,
        port,
        environ=os.environ,
        home=Path.home(),
        working_folder=args.cwd or Path.cwd(),
        lock_folder=Path(known.locks) if known is not None and running and known.locks else None,
    ):
        yield Finding("Bridge", check.name, check.status, check.found, check.advice)
    yield from dead


def _check_port() -> Iterator[Finding]:
    """Check that the port that the configuration names is free for the next bridge."""
    import socket

    try:
        server = choose_config(os.environ).load().server
    except VaultbridgeError:
        return  # already reported above
    if not server.port:
        return
    with socket.socket() as probe:
        # As the server does: a port that was used a moment ago is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name != "nt"))
        try:
            probe.bind(("127.0.0.1", server.port))
        except OSError as error:
            found = f"{server.port} of the configuration cannot be used: {os.strerror(error.errno or 0)}"
            advice = "End the program that uses it, or choose another server.port (0: any that is free)."
            yield Finding("Bridge", "port", "bad", found, advice)
        else:
            yield Finding("Bridge", "port", "good", f"{server.port} is free")


def _check_dead_locks(args: argparse.Namespace) -> Iterator[Finding]:
    """Look for lock files of processes that have ended, which mislead Claude Code; --fix removes them."""
    folders = list_scanned_folders(os.environ, Path.home())
    check = check_dead_locks(folders)
    if check.status == "good":
        return
    fixed = f"removed {len(LockFiles((), swept=folders).sweep())}" if args.fix else ""
    yield Finding("Bridge", check.name, check.status, check.found, check.advice, fixed)


def _check_assistants(args: argparse.Namespace) -> Iterator[Finding]:
    """Check each entry of ours in each assistant's file by starting what it starts."""
    nothing = True
    for assistant in ASSISTANTS:
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        try:
            servers = list_servers(read_text(file) or "", assistant)
        except VaultbridgeError as error:
            nothing = False
            yield Finding("Assistants", assistant.name, "warning", error.message, f"Correct {file}.")
            continue
        ours = {
            name: entry
            for name, entry in servers.items()
            if starts_vaultbridge(entry)
            or (assistant.base != "here" and read_shared_entry(entry) is not None)
        }
        for name, entry in ours.items():
            nothing = False
            if (shared := read_shared_entry(entry)) is not None:
                yield check_shared_entry(assistant, name, shared, seconds=HANDSHAKE_SECONDS)
            else:
                yield _check_server(args, assistant, file, name, entry)
        if not ours and is_installed(assistant, file):
            nothing = False
            advice = f"vaultbridge connect {assistant.name}"
            yield Finding("Assistants", assistant.name, "unknown", "has no vault", advice)
    yield from check_sessions()
    yield from check_waiting()
    if nothing:
        yield Finding("Assistants", "assistants", "unknown", "none was found on this machine")


def _check_server(
    args: argparse.Namespace, assistant: Assistant, file: Path, name: str, entry: object
) -> Finding:
    title = f"{assistant.name} {name}"
    words = parse_entry(entry)
    folder = find_entry_vault(entry)
    if folder is not None and not os.path.exists(folder):  # noqa: PTH110 - text
        advice = f"vaultbridge connect {assistant.name} --remove --name {name}"
        return Finding("Assistants", title, "bad", f"its vault {folder} is missing", advice)
    if assistant.base == "here" and not starts_own_program(entry):
        found = f"{file.name} of this folder starts another program, which was not run: {shlex.join(words)}"
        advice = "If you trust the folder and the program, nothing is wrong."
        return Finding("Assistants", title, "unknown", found, advice)
    try:
        answer = check_handshake(words, seconds=HANDSHAKE_SECONDS)
    except VaultbridgeError as error:
        if (
            args.fix
            and folder is not None
            and not Path(words[0]).exists()
            and (planned := plan_addition(assistant, file, folder, name))
        ):
            write_text(file, planned[1], before=planned[0])
            return Finding("Assistants", title, "bad", error.message, fixed="wrote the current command")
        return Finding("Assistants", title, "bad", error.message, _write_again(assistant, folder, name))
    found = f"starts and answers with {answer.tools} tools in {answer.seconds:.1f} s"
    if answer.version != __version__:
        found += f", as version {answer.version}: another installation"
        return Finding("Assistants", title, "warning", found, f"{_write_again(assistant, folder, name)}")
    return Finding("Assistants", title, "good", found)


def _write_again(assistant: Assistant, folder: Path | None, name: str) -> str:
    where = f"-v {shlex.quote(str(folder))} " if folder is not None else ""
    return f"Write the entry again: vaultbridge connect {assistant.name} {where}--name {name}"


def _check_companion(args: argparse.Namespace, vault: Path) -> Iterator[Finding]:
    try:
        state = read_state(vault)
    except VaultbridgeError as error:
        yield Finding("Companion", "companion", "warning", error.message, error.hint)
        return
    install = name_command(args, "companion install")
    if state is None or not state["installed"]:
        advice = f"To review changes in Obsidian: {install}"
        if not (vault / ".obsidian").is_dir():
            advice = f"To review changes in Obsidian, open the folder there once as a vault, then: {install}"
        yield Finding("Companion", "companion", "unknown", "not installed", advice)
    elif not state["current"]:
        yield Finding("Companion", "companion", "warning", f"an older one, {state['version']}", install)
    elif not state["enabled"]:
        advice = "Enable it in Obsidian: Settings, Community plugins."
        yield Finding("Companion", "companion", "warning", f"{state['version']}, switched off", advice)
    else:
        yield Finding("Companion", "companion", "good", f"{state['version']}, switched on")
