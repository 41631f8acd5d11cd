"""One question to the running bridge of a vault, for the commands that need one.

What the commands share: arguments, the vault they name, output for people and machines, exit codes.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from vaultbridge.errors import EngineFailure, InvalidArgument, VaultbridgeError

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.outcome import Outcome
    from vaultbridge.index.sync.sync import SyncReport

OK = 0
FAILED = 1
USAGE = 2

BAR_CHARS = 30

ERROR_CHARS = 1000
"""The longest error that is shown: a person reads no more, and an argument may be as long as a book."""

LARGEST_NUMBER = 2**63 - 1
"""SQLite's largest integer: more notes, lines or changes than that are nowhere."""

_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class SuggestingParser(argparse.ArgumentParser):
    """argparse that tells a mistyped option with the one that was meant, in one line, and takes options and
    other arguments in any order."""

    def error(self, message: str) -> NoReturn:
        from difflib import get_close_matches

        options = self._options()
        meant = ""
        for word in message.split():
            name = word.partition("=")[0].rstrip(":,")
            if name.startswith("--") and name not in options:
                closest = get_close_matches(name, options, n=1)
                meant = f" Did you mean {closest[0]}?" if closest else ""
                break
        if not meant and "arguments: -" in message:
            meant = " What begins with - and is no option goes after --."
        said = one_line(message).rstrip(".")
        self.exit(USAGE, f"{self.prog}: {said}.{meant} `{self.prog} --help` lists what it takes.\n")

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """Options may stand anywhere between the other arguments, as people write them."""
        if any(action.nargs == argparse.PARSER for action in self._actions):
            return self.parse_args(argv)  # `token make …`: what follows is the inner parser's
        return self.parse_intermixed_args(argv)

    def _options(self) -> set[str]:
        """Of the words that may follow (`token make`) too: argparse leaves what they do not know to us."""
        options = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    options.update(parser._option_string_actions)
        return options


class Parser(SuggestingParser):
    """argparse with our habits: exit code 2 for wrong usage, `--json` on every command."""

    def __init__(self, command: str, description: str, *, epilog: str = "") -> None:
        super().__init__(
            prog=f"vaultbridge {command}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--json", action="store_true", help="answer as JSON, for programs")

    def add_vault(self) -> None:
        self.add_argument(
            "vault", metavar="VAULT", help="a vault's folder, or the name of one that Obsidian knows"
        )


def whole_number(text: str) -> int:
    """For argparse: any number that a database can count to."""
    number = int(text)
    if abs(number) > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:40]} is too large a number")
    return number


def port_number(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is 0 to 65535")
    return port


whole_number.__name__ = port_number.__name__ = "number"  # argparse says it: "invalid number value"


def run(parser: Parser, argv: list[str], command: Callable[[argparse.Namespace], int]) -> int:
    """Parse and run, turning our own errors into one clear line on stderr."""
    try:
        args = parser.parse(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        try:
            code = command(args)
        except VaultbridgeError as error:
            if not error.details.get("index_rebuilt"):
                raise
            # Nothing was changed or said yet: a command that needs the index asks it first.
            code = command(args)
        sys.stdout.flush()
        return code
    except VaultbridgeError as error:
        report(error, as_json=args.json)
        return USAGE if isinstance(error, InvalidArgument) and error.argument == "usage" else FAILED
    except BrokenPipeError:
        raise  # the front door knows what to do without a reader
    except OSError as error:
        if error.filename is None:
            raise  # of our own output: the front door tells it
        report(
            EngineFailure(
                f"The system refused {os.fsdecode(error.filename)!r}: {error.strerror or error}.",
                hint="Set its permissions right, or move it out of the way.",
            ),
            as_json=args.json,
        )
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130


def report(error: VaultbridgeError, *, as_json: bool) -> None:
    sys.stderr.write(f"vaultbridge: {one_line(str(error))}\n")
    if as_json:
        emit(
            {
                "error": error.message,
                "errorCode": error.code,
                "reason": error.reason,
                "hint": error.hint,
                **error.details,
            }
        )


def one_line(text: str) -> str:
    """An error as it is shown: a name in it may hold anything, also what ends a line or steers a terminal."""
    shown = _STEERING.sub(lambda found: " " if found[0].isspace() else ascii(found[0])[1:-1], text)
    return shown if len(shown) <= ERROR_CHARS else f"{shown[: ERROR_CHARS - 1]}…"


def emit(value: Any) -> None:
    """One JSON value on a line of its own."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def open_vault(name: str, **options: Any) -> Engine:
    """The engine on the vault that a person named; to be closed by the caller (`with`)."""
    from vaultbridge.server.wiring import open_engine

    return open_engine(name, **options)


def refresh(engine: Engine) -> SyncReport:
    """Bring the index up to date, with a progress bar for a person who waits at a terminal."""
    if not sys.stderr.isatty():
        return engine.index_sync.refresh()
    shown = False

    def progress(done: int, total: int) -> None:
        nonlocal shown
        shown = True
        filled = BAR_CHARS * done // max(total, 1)
        sys.stderr.write(
            f"\rindexing [{'#' * filled}{'.' * (BAR_CHARS - filled)}] {done:,} of {total:,} notes"
        )
        sys.stderr.flush()

    report = engine.index_sync.refresh(progress)
    if shown:
        sys.stderr.write("\r\x1b[K")
    return report


def show_outcome(outcome: Outcome, vault: str, *, as_json: bool) -> None:
    """What a change did: a row a file, the diff of a dry run, and what the person should know."""
    if as_json:
        emit(outcome)
        return
    from shlex import quote

    marks = {"created": "+", "changed": "~", "moved": ">", "deleted": "-"}
    if outcome.dry_run and outcome.diff:
        say(outcome.diff.rstrip("\n"))
    for file in outcome.files:
        moved = f"{file.was} -> " if file.was else ""
        links = f"  ({file.links} link{'s' if file.links != 1 else ''})" if file.links else ""
        say(f"{marks[file.change]} {moved}{file.path}{links}")
    for notice in outcome.notices:
        sys.stderr.write(f"note: {notice}\n")
    if not outcome.files:
        say("Nothing to change.")
    elif outcome.dry_run:
        say("Nothing was written (--dry-run).")
    elif outcome.change_id:
        # By its number: without one `undo` takes back the newest change, which an undo itself never is.
        number = outcome.change_id
        say(f"Change {number}. `vaultbridge undo {quote(vault)} {number}` takes it back.")


def cache_of(vault: str) -> Path:
    """The cache folder of the vault that a person named. Raises VaultNotFound."""
    from vaultbridge.vault.cache_folder import cache_base, vault_cache
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import Root

    return vault_cache(Root(find_vault(vault)).folder, cache_base(os.environ))


def ask_bridge(vault: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Raises NotRunning when no bridge serves this vault."""
    import asyncio

    from vaultbridge.protocols.editor.client import call

    return asyncio.run(call(cache_of(vault), method, **params))
