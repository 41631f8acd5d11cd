"""What the commands share: how one runs, the vault it uses, output for people and programs, exit codes, and
requests to a running bridge. `cli.parser` parses their arguments."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vaultbridge.cli.parser import USAGE, Parser, ParserRequest, UsageExit
from vaultbridge.cli.terminal import Terminal, disarm, page_output, read_width, to_one_line, wrap_remark
from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound, VaultbridgeError, VaultNotFound

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine, Engine
    from vaultbridge.engine.outcome import Outcome
    from vaultbridge.index.sync import SyncReport
    from vaultbridge.server.config.model import EmbeddingsConfig
    from vaultbridge.vault.paths import VaultFolder

OK = 0
FAILED = 1

BAR_CHARS = 30
SHORTEST_BAR = 5
"""A progress bar's length, and the least that still shows progress."""


def run(parser: Parser, argv: list[str], command: Callable[[argparse.Namespace], int]) -> int:
    """Parse and run, turning our own errors into one clear line on stderr."""
    if isinstance(argv, ParserRequest):
        argv.parser = parser
        return OK
    try:
        args = parser.parse(argv)
    except UsageExit as stop:
        if "--json" in argv[: argv.index("--") if "--" in argv else None]:
            emit(_describe(stop.error))
        return USAGE
    except SystemExit as stop:
        return int(stop.code or 0)
    args.terminal = Terminal.detect("never" if args.json else args.color)
    try:
        if "vault_option" in args:
            _set_default_vault(args, needed=parser.needs_vault)
        with page_output(wanted=parser.paged and not (args.json or args.no_pager)):
            try:
                code = command(args)
            except VaultbridgeError as error:
                if not error.details.get("index_rebuilt"):
                    raise
                # Nothing has been changed or printed yet, because a command that needs the index reads it
                # first.
                code = command(args)
            sys.stdout.flush()
        return code
    except VaultbridgeError as raised:
        failure = _find_missing_vault(args) or raised
        if isinstance(failure, NoteNotFound) and not failure.hint:
            failure.hint = "`vaultbridge search` finds notes by their words."
        if isinstance(failure, VaultNotFound):
            _explain_missing_vault(parser, argv, failure)
        if getattr(args, "vault_given", False):
            _name_vault_in_hint(args, failure)
        if not (isinstance(failure, InvalidArgument) and _is_wrong_usage(parser, args, failure)):
            report(failure, as_json=args.json)
            return FAILED
        usage = parser.brief_usage()
        sys.stderr.write(f"{_render_error(failure)}\n{usage}\n")
        if args.json:
            emit({**_describe(failure), "hint": failure.hint or usage})
        return USAGE
    except BrokenPipeError:
        raise  # `__main__` handles a reader that has gone
    except OSError as error:
        if error.filename is None:
            raise  # about our own output: `__main__` reports it
        report(
            EngineFailure(
                f"The system denied access to {os.fsdecode(error.filename)!r}: {error.strerror or error}.",
                hint="Correct its permissions, or move the file away.",
            ),
            as_json=args.json,
        )
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130


def _find_missing_vault(args: argparse.Namespace) -> VaultNotFound | None:
    """The error about the vault that was named, if there is none. It comes before all others: a word taken
    for the vault is missing where it was meant, and `append ../Note text` has no text then."""
    from vaultbridge.vault.obsidian import find_vault

    if getattr(args, "vault_given", False):
        try:
            find_vault(args.vault)
        except VaultNotFound as error:
            return error
        except VaultbridgeError:
            pass
    return None


def _name_vault_in_hint(args: argparse.Namespace, error: VaultbridgeError) -> None:
    """The engine's errors do not say where the vault is, because others may read them; here the command can
    be pasted in any folder."""
    for command in ("index --accept", "serve"):
        error.hint = error.hint.replace(f"`vaultbridge {command}`", f"`{name_command(args, command)}`")


def _explain_missing_vault(parser: Parser, argv: list[str], error: VaultNotFound) -> None:
    """Say what only its owner may see: where the folder should be. In a folder of notes that Obsidian has
    never opened, give the command that uses it all the same."""
    from shlex import join

    from vaultbridge.server.vault_choice import UnnamedVault, contains_notes, find_here, find_vault_around

    if error.place:
        error.message = f"There is no folder {os.path.normpath(error.place)}."
        if not any(word.startswith(("-v", "--vault")) for word in argv):
            here = find_vault_around(find_here())
            error.hint += (
                " If you meant a note: give its path from the top of the vault that you are in, without ../."
                if here and parser.takes_note
                else " If that word is not the vault, name the vault with -v."
            )
    if isinstance(error, UnnamedVault) and contains_notes(find_here()):
        command = f"{own_command()} {parser.prog.partition(' ')[2]} -v . {join(argv)}".rstrip()
        error.hint = f"{error.hint} To use the notes in this folder: {command}"


def _set_default_vault(args: argparse.Namespace, *, needed: bool) -> None:
    """Choose the vault of a command that names none. If there is none and the command does not need one, it
    gets the reason instead."""
    args.vault_given = args.vault is not None
    args.vault_problem = None
    if not args.vault_given:
        try:
            args.vault = find_default_vault()
        except VaultbridgeError as error:
            if needed:
                raise
            args.vault_problem = error


_ARGUMENTS = {"sections_per_note": "matches", "matches_per_note": "matches"}
"""Arguments of the engine for which the option has a different name."""


def _is_wrong_usage(parser: Parser, args: argparse.Namespace, error: InvalidArgument) -> bool:
    """Whether the command itself was wrong: it says so, or the engine refuses the value of an option. The
    error then calls the option what the person called it."""
    wanted = _ARGUMENTS.get(error.argument, error.argument)
    for action in parser._actions:
        given = getattr(args, action.dest, action.default) != action.default
        if action.option_strings and action.dest == wanted and given:
            # A sentence about the value itself begins with its name; one about a file that it names does not.
            named = re.match(rf"(?:The )?{re.escape(error.argument)} ", error.message)
            if named is not None:
                error.message = f"{action.option_strings[-1]} {error.message[named.end() :]}"
                return True
    return error.argument == "usage"


def report(error: VaultbridgeError, *, as_json: bool) -> None:
    sys.stderr.write(f"{_render_error(error)}\n")
    if as_json:
        emit(_describe(error))


def _render_error(error: VaultbridgeError) -> str:
    return wrap_remark(f"vaultbridge: {to_one_line(str(error))}", sys.stderr)


def _describe(error: VaultbridgeError) -> dict[str, Any]:
    fields = {"error": error.message, "errorCode": error.code, "reason": error.reason, "hint": error.hint}
    return {**fields, **error.details}


def emit(value: Any) -> None:
    """Print a JSON value on its own line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def own_command() -> str:
    """How a person starts this program again from a shell: by its name, or by its path if the name starts no
    program or a different one."""
    import shlex
    import shutil

    script = Path(sys.argv[0]).absolute()
    if script.name != "vaultbridge":
        return f"{shlex.quote(sys.executable)} -m vaultbridge"
    found = shutil.which("vaultbridge")
    same = found is not None and Path(found).resolve() == script.resolve()
    return "vaultbridge" if same else shlex.quote(str(script))


def open_browser(link: str) -> None:
    """Open a link in the user's browser, without waiting for it. Other users of the machine can see it for a
    moment among the browser's arguments, so it should be a link that works only once."""
    import threading
    import webbrowser

    def work() -> None:
        try:
            opened = webbrowser.open(link)
        except webbrowser.Error:
            opened = False
        if not opened:
            sys.stderr.write(f"note: No browser could be started. Open this link yourself: {link}\n")

    threading.Thread(target=work, name="browser", daemon=True).start()


def remark(text: str, *, indent: int = 0) -> None:
    """Print a sentence for a person, `indent` cells from the left."""
    say(f"{' ' * indent}{wrap_remark(text, sys.stdout, indent=indent)}")


def say(text: str = "") -> None:
    sys.stdout.write((disarm(text) if sys.stdout.isatty() else text) + "\n")


def find_default_vault() -> str:
    """Find the vault of a command that names none. Raises VaultNotFound."""
    from vaultbridge.server.vault_choice import choose_vault, find_here

    return choose_vault(os.environ, find_here())


def repeat_vault(args: argparse.Namespace) -> str:
    """Write the vault as the next command needs it: not at all if this one did without."""
    from shlex import quote

    return f"{quote(args.vault)} " if args.vault_given else ""


def name_command(args: argparse.Namespace, command: str) -> str:
    """Write a command about the same vault, for the user to paste in the folder where this one was typed."""
    from shlex import quote

    return f"vaultbridge {command}{f' -v {quote(args.vault)}' if args.vault_given else ''}"


def open_vault(name: str, *, with_model: bool = False, **options: Any) -> DirectEngine:
    """Open the engine of the vault that the user named; the caller closes it (`with`). With `with_model`, a
    question may be sent to the user's own model, if the configuration names one; then it raises
    InvalidArgument for a bad configuration."""
    from vaultbridge.server.wiring import open_engine

    if with_model:
        options["embeddings"] = load_embeddings()
    return open_engine(name, **options)


def load_embeddings() -> EmbeddingsConfig:
    """Load what the user's configuration says about a model. Raises InvalidArgument."""
    from vaultbridge.server.config.model import choose_config

    return choose_config(os.environ).load().embeddings


def refresh(engine: Engine) -> SyncReport:
    """Bring the index up to date, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        return engine.index_sync.refresh()
    shown = False

    def progress(done: int, total: int) -> None:
        nonlocal shown
        shown = True
        sys.stderr.write("\r" + render_progress(done, total, read_width(2)))
        sys.stderr.flush()

    report = engine.index_sync.refresh(progress)
    if shown:
        sys.stderr.write("\r\x1b[K")
    return report


def render_progress(done: int, total: int, width: int) -> str:
    """A line of progress that is shorter than the terminal is wide: a longer one would scroll."""
    counts = f"{done:,} of {total:,}"
    room = min(BAR_CHARS, width - len(f"indexing [] {counts} notes") - 1)
    if room < SHORTEST_BAR:
        short = f"indexing {counts}"
        return short if len(short) < width else f"{100 * done // max(total, 1)} %"
    filled = room * done // max(total, 1)
    return f"indexing [{'#' * filled}{'.' * (room - filled)}] {counts} notes"


def show_outcome(outcome: Outcome, args: argparse.Namespace) -> None:
    """Print what a change did: a line per file, the diff of a dry run, and notices."""
    if args.json:
        emit(outcome)
        return
    terminal: Terminal = args.terminal
    marks = {"created": "+", "changed": "~", "moved": ">", "deleted": "-"}
    if outcome.dry_run and outcome.diff:
        say(terminal.color_diff(outcome.diff.rstrip("\n")))
    for file in outcome.files:
        moved = f"{file.was} -> " if file.was else ""
        links = f"  ({file.links} link{'s' if file.links != 1 else ''})" if file.links else ""
        say(f"{marks[file.change]} {terminal.style(terminal.clean(moved + file.path), 'path')}{links}")
    for notice in outcome.notices:
        sys.stderr.write(f"note: {notice}\n")
    if not outcome.files:
        say("Nothing to change.")
    elif outcome.dry_run:
        say("Nothing was written (--dry-run).")
    elif outcome.change_id:
        # With its number: `undo` without one reverts the newest change, but never an undo.
        number = outcome.change_id
        say(f"Change {number}. `vaultbridge undo {repeat_vault(args)}{number}` reverts it.")


def describe_waiting(count: int) -> str:
    return f"{'1 change is' if count == 1 else f'{count} changes are'} waiting for your review"


def find_cache(vault: str) -> Path:
    """Find the cache folder of the vault that the user named. Raises VaultNotFound."""
    from vaultbridge.vault.folders import find_bases, vault_cache
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import VaultFolder

    return vault_cache(VaultFolder(find_vault(vault)).folder, find_bases(os.environ))


def find_state(vault: str) -> Path:
    """Find the state folder of the vault that the user named. Raises VaultNotFound."""
    from vaultbridge.vault.folders import find_bases, vault_state
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import VaultFolder

    return vault_state(VaultFolder(find_vault(vault)).folder, find_bases(os.environ))


def find_root(vault: str) -> VaultFolder:
    """Find the folder of the vault that the user named, without an engine. What is there may be another
    folder, as while a disk is not mounted: `check` says so. Raises VaultNotFound."""
    from vaultbridge.vault.folders import CacheUnusable
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import VaultFolder

    root = VaultFolder(find_vault(vault))
    # Without a state folder, nothing is known about the vault.
    with suppress(CacheUnusable):
        root.identity.keep(find_state(vault))
    return root


def ask_bridge(vault: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Call a method of the running bridge. Raises BridgeNotRunning when no bridge serves this vault."""
    from vaultbridge import event_loop
    from vaultbridge.protocols.editor.client import call

    return event_loop.run(call(find_cache(vault), method, **params))
