"""What the commands share: arguments, the vault, output for people and programs, exit codes, the running
bridge."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from vaultbridge.cli.terminal import Terminal, paged, read_width
from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.system import expand_home

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.outcome import Outcome
    from vaultbridge.index.sync import SyncReport
    from vaultbridge.server.config.model import EmbeddingsConfig

OK = 0
FAILED = 1
USAGE = 2

BAR_CHARS = 30
SHORTEST_BAR = 5
"""A progress bar's length, and the least that still shows progress."""

ERROR_CHARS = 1000
"""The longest error that is shown: nobody reads more, and an argument may be as long as a book."""

LARGEST_NUMBER = 2**63 - 1
"""SQLite's largest integer: nobody has more notes, lines or changes."""

_PLAIN_WORD = "\0"
"""Put before the words that follow `--`: no real argument contains it, and argparse then takes none of them
for an option. argparse's own handling of `--` is lost if options may be anywhere."""

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class UsageExit(SystemExit):
    """Wrong usage. The person has been informed; the error is for programs."""

    def __init__(self, error: InvalidArgument) -> None:
        super().__init__(USAGE)
        self.error = error


class SuggestingParser(argparse.ArgumentParser):
    """argparse that answers wrong usage in two lines, suggests the right option for a mistyped one, and
    accepts options and other arguments in any order. Options are written in full: an abbreviation would
    become another option, or a mistake, with the next version that has one more."""

    _given: Sequence[str] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        options = self._options()
        suggestion = ""
        # A missing argument is reported first, and a mistyped option is often the reason for it.
        for word in (*message.split(), *self._given):
            name = word.partition("=")[0].rstrip(":,")
            if name.startswith("--") and name not in options:
                suggestion = suggest_option(name, options)
                break
        if not suggestion and any(self._is_unknown(word) for word in self._given):
            suggestion = "Put an argument that begins with - after --."
        text = f"{to_one_line(message.replace(_PLAIN_WORD, '')).rstrip('.')}."
        usage = self.brief_usage()
        self._print_message(f"{self.prog}: {f'{text} {suggestion}'.rstrip()}\n{usage}\n", sys.stderr)
        raise UsageExit(InvalidArgument(text, argument="usage", hint=suggestion or usage))

    def _is_unknown(self, word: str) -> bool:
        """Whether a word looks like a short option that there is not."""
        return word[:1] == "-" != word and word[:2] not in {"--", *self._option_string_actions}

    def brief_usage(self) -> str:
        """How the command is written, in one line: its arguments, without the list of options."""
        words = []
        for action in self._actions:
            if not action.option_strings and action.help != argparse.SUPPRESS:
                name = str(action.metavar or action.dest)
                forms = {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}
                words.append(forms.get(str(action.nargs), name))
        return f"usage: {' '.join([self.prog, *words])} [options]; `{self.prog} --help` explains them"

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """Parse arguments with options anywhere between the others, as people write them."""
        end = argv.index("--") if "--" in argv else len(argv)
        self._given = argv[:end]
        argv = [*argv[:end], *(_PLAIN_WORD + word for word in argv[end + 1 :])]
        if any(action.nargs == argparse.PARSER for action in self._actions):
            return self.parse_args(argv)  # `token make …`: the inner parser takes the rest
        return self.parse_intermixed_args(argv)

    def _get_value(self, action: argparse.Action, arg_string: Any) -> Any:
        if isinstance(arg_string, str) and action.nargs != argparse.PARSER:
            arg_string = arg_string.removeprefix(_PLAIN_WORD)
        return super()._get_value(action, arg_string)

    def destinations(self) -> set[str]:
        return {action.dest for action in self._actions}

    def _options(self) -> set[str]:
        """List the options, including those of subcommands (`token make`): argparse reports theirs here."""
        options = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    options.update(parser._option_string_actions)
        return options


class Parser(SuggestingParser):
    """A command's parser: exit code 2 for wrong usage, `--json` and `--color` on every command, a pager where
    output may be long."""

    def __init__(self, command: str, description: str, *, epilog: str = "", paged: bool = False) -> None:
        super().__init__(
            prog=f"vaultbridge {command}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--json", action="store_true", help="answer as JSON, for programs")
        self.add_argument(
            "--color",
            choices=("auto", "always", "never"),
            default="auto",
            help="auto: on terminals, unless NO_COLOR is set",
        )
        self.paged = paged
        self.needs_vault = True
        if paged:
            self.add_argument("--no-pager", action="store_true", help="print long output without a pager")

    def add_vault(self, *, needed: bool = True) -> None:
        """Let the vault be named first, by `-v`, or not at all: `server.vault_choice` then finds it. If none
        is found, a command that does not need one gets None and `vault_problem`."""
        self.needs_vault = needed
        self.add_argument(
            "vault",
            metavar="VAULT",
            nargs="?",
            help="a vault's folder, or its name in Obsidian; by default the one you are in, or the only one",
        )
        self.add_argument(
            "-v", "--vault", dest="vault_option", metavar="VAULT", help="the same, as an option"
        )

    def parse(self, argv: list[str]) -> argparse.Namespace:
        args = super().parse(argv)
        if "vault_option" in args:
            self._place_vault(args)
        return args

    def _place_vault(self, args: argparse.Namespace) -> None:
        """argparse gives the first word to VAULT, unless others need it. When that word is not a vault, or
        `-v` names the vault, every word belongs to the argument before the one that has it."""
        positional = [action for action in self._actions if not action.option_strings]
        after = positional[[action.dest for action in positional].index("vault") + 1 :]
        option = args.vault_option
        if args.vault is not None and (option is not None or not names_vault(args.vault)):
            if self._give_words(args, after):
                args.vault = None
            elif option is not None:
                self.error(f"there are too many arguments, or two vaults: {args.vault}, and -v {option}")
        elif args.vault is None and option is None and after and after[0].nargs in (None, "+"):
            held = getattr(args, after[0].dest)
            only = held[0] if isinstance(held, list) else held
            if _is_vault_folder(only):  # `search ~/Notes`: the vault is there, the query is missing
                self.error(f"the following arguments are required: {after[0].metavar}")
        if option is not None:
            args.vault = option

    def _give_words(self, args: argparse.Namespace, after: list[argparse.Action]) -> bool:
        """Assign all the words again, including VAULT's; returns whether every word has a place."""
        words = [args.vault]
        for action in after:
            held = getattr(args, action.dest)
            words += held if isinstance(held, list) else [held] if held != action.default else []
        takes_rest = any(action.nargs in ("+", "*") for action in after)
        if len(words) > len(after) and not takes_rest:
            return False
        for action in after:
            if action.nargs in ("+", "*"):
                setattr(args, action.dest, [self._convert(action, word) for word in words])
                words = []
            elif words:
                setattr(args, action.dest, self._convert(action, words.pop(0)))
        return True

    def _convert(self, action: argparse.Action, word: Any) -> Any:
        try:
            return self._get_value(action, word)
        except argparse.ArgumentError as error:
            self.error(str(error))


def suggest_option(name: str, options: Collection[str]) -> str:
    """Ask whether another option was meant: those that the name abbreviates, else the closest one."""
    meant = sorted(option for option in options if len(name) > len("--") and option.startswith(name))
    if not meant:
        from difflib import get_close_matches

        meant = get_close_matches(name, options, n=1)
    return f"Did you mean {' or '.join(meant)}?" if meant else ""


def names_vault(word: str) -> bool:
    """Whether a first word is meant as the vault: it reads like a folder, is one, or Obsidian knows it.

    A pattern (`/a.*b/`) also begins with a slash; a folder that ends with one must exist to count."""
    if word in (".", "..") or word.startswith(("~", "./", "../")):
        return True
    if Path(word).is_absolute() and not word.endswith("/"):
        return True
    if _is_vault_folder(word):
        return True
    from vaultbridge.vault.obsidian import list_known_vaults

    return any(word in (vault.id, vault.name) for vault in list_known_vaults(os.environ))


def _is_vault_folder(word: str) -> bool:
    """Whether the word is a folder, written as a path or opened in Obsidian before."""
    place = expand_home(word)
    written_as_path = "/" in word or os.sep in word
    try:
        return place.is_dir() and (written_as_path or (place / ".obsidian").is_dir())
    except (OSError, ValueError):
        return False


def parse_integer(text: str) -> int:
    """Parse an integer that SQLite can store; for argparse."""
    number = int(text)
    if abs(number) > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:40]} is too large a number")
    return number


def parse_port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is 0 to 65535")
    return port


parse_integer.__name__ = parse_port.__name__ = "number"  # argparse says it: "invalid number value"


class ParserRequest(list[str]):
    """Given to a command's `main` instead of arguments, it gets the command's parser, and nothing is run.
    Shell completion and the manual page are made from the parsers."""

    parser: SuggestingParser


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
            args.vault_given = args.vault is not None
            args.vault_problem = None
            if not args.vault_given:
                try:
                    args.vault = find_default_vault()
                except VaultbridgeError as error:
                    if parser.needs_vault:
                        raise
                    args.vault_problem = error
        with paged(wanted=parser.paged and not (args.json or args.no_pager)):
            try:
                code = command(args)
            except VaultbridgeError as error:
                if not error.details.get("index_rebuilt"):
                    raise
                # Nothing has been changed or printed yet: a command that needs the index asks it first.
                code = command(args)
            sys.stdout.flush()
        return code
    except VaultbridgeError as error:
        if isinstance(error, NoteNotFound) and not error.hint:
            error.hint = "`vaultbridge search` finds notes by their words."
        if not (isinstance(error, InvalidArgument) and _is_wrong_usage(parser, args, error)):
            report(error, as_json=args.json)
            return FAILED
        usage = parser.brief_usage()
        sys.stderr.write(f"vaultbridge: {to_one_line(str(error))}\n{usage}\n")
        if args.json:
            emit({**_describe(error), "hint": error.hint or usage})
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


_ARGUMENTS = {"sections_per_note": "matches", "matches_per_note": "matches"}
"""Arguments of the engine that an option calls otherwise."""


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
    sys.stderr.write(f"vaultbridge: {to_one_line(str(error))}\n")
    if as_json:
        emit(_describe(error))


def _describe(error: VaultbridgeError) -> dict[str, Any]:
    fields = {"error": error.message, "errorCode": error.code, "reason": error.reason, "hint": error.hint}
    return {**fields, **error.details}


def to_one_line(text: str) -> str:
    """Make an error printable: a name in it may contain line breaks or control sequences."""
    shown = _CONTROL_CHARACTERS.sub(lambda found: " " if found[0].isspace() else ascii(found[0])[1:-1], text)
    return shown if len(shown) <= ERROR_CHARS else f"{shown[: ERROR_CHARS - 1]}…"


def emit(value: Any) -> None:
    """Print a JSON value on its own line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def own_command() -> str:
    """How a person starts this program again from a shell: by its name, or by its path when the name leads to
    no program or to another one."""
    import shlex
    import shutil

    script = Path(sys.argv[0]).absolute()
    if script.name != "vaultbridge":
        return f"{shlex.quote(sys.executable)} -m vaultbridge"
    found = shutil.which("vaultbridge")
    same = found is not None and Path(found).resolve() == script.resolve()
    return "vaultbridge" if same else shlex.quote(str(script))


def open_browser(link: str) -> None:
    """Open a link in the user's browser, without waiting for it. Other users of the machine can see it among
    the arguments of the browser for a moment, so it should be one that works once."""
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


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def find_default_vault() -> str:
    """Find the vault of a command that names none. Raises VaultNotFound."""
    from vaultbridge.server.vault_choice import choose_vault

    return choose_vault(os.environ, str(Path.cwd()))


def repeat_vault(args: argparse.Namespace) -> str:
    """Write the vault as the next command needs it: not at all if this one did without."""
    from shlex import quote

    return f"{quote(args.vault)} " if args.vault_given else ""


def open_vault(name: str, *, with_model: bool = False, **options: Any) -> Engine:
    """Open the engine of the vault that the user named; the caller closes it (`with`). `with_model`: a
    question may be sent to the user's own model, if the configuration names one. Raises InvalidArgument for a
    bad configuration then."""
    from vaultbridge.server.wiring import open_engine

    if with_model:
        options["embeddings"] = load_embeddings()
    return open_engine(name, **options)


def load_embeddings() -> EmbeddingsConfig:
    """Load what the user's configuration says about a model. Raises InvalidArgument."""
    from vaultbridge.server.config.model import config_file, load_config

    return load_config(config_file(os.environ)).embeddings


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


def find_cache(vault: str) -> Path:
    """Find the cache folder of the vault that the user named. Raises VaultNotFound."""
    from vaultbridge.vault.cache_folder import cache_base, vault_cache
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import Root

    return vault_cache(Root(find_vault(vault)).folder, cache_base(os.environ))


def ask_bridge(vault: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Call a method of the running bridge. Raises BridgeNotRunning when no bridge serves this vault."""
    import asyncio

    from vaultbridge.protocols.editor.client import call

    return asyncio.run(call(find_cache(vault), method, **params))
