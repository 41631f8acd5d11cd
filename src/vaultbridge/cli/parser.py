"""Parses the arguments of a command: options may be anywhere, the vault may be named in several ways, and
wrong usage is answered in two lines with a suggestion."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

from vaultbridge.cli.terminal import to_one_line
from vaultbridge.errors import InvalidArgument, VaultbridgeError, VaultNotFound
from vaultbridge.system import expand_home

USAGE = 2
"""The exit code of wrong usage."""

VAULT_HELP = "a vault's folder, or its name in Obsidian"
OPTION_HELP = "another way to name the vault"

LARGEST_NUMBER = 2**63 - 1
"""SQLite's largest integer: nobody has more notes, lines or changes."""

PLAIN_COLUMNS = 80
"""The width of a help text that goes to no terminal."""

_PLAIN_WORD = "\0"
"""Put before the words that follow `--`: no real argument contains it, and argparse then takes none of them
for an option. argparse's own handling of `--` is lost if options may be anywhere."""


class UsageExit(SystemExit):
    """Wrong usage. The person has been informed; the error is for programs."""

    def __init__(self, error: InvalidArgument) -> None:
        super().__init__(USAGE)
        self.error = error


class HelpFormatter(argparse.HelpFormatter):
    """Wraps sentences at the terminal's width, and leaves indented lines, such as examples, as they are."""

    def __init__(self, prog: str, **settings: Any) -> None:
        # argparse itself would load `shutil` for this, and with it three libraries for archives.
        super().__init__(prog, **{"width": _find_width(), **settings})

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from itertools import groupby
        from textwrap import fill

        parts: list[str] = []
        for raw, group in groupby(text.splitlines(), lambda line: not line or line[0] == " "):
            lines = list(group)
            parts += lines if raw else [fill(" ".join(lines), width)]
        return "\n".join(parts)


def _find_width() -> int:
    """The width of a help text, found as `shutil.get_terminal_size` does it."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(1).columns or PLAIN_COLUMNS
        except OSError:
            columns = PLAIN_COLUMNS
    return columns - 2


class SuggestingParser(argparse.ArgumentParser):
    """argparse that answers wrong usage in two lines, suggests the right option for a mistyped one, and
    accepts options and other arguments in any order. Options must be written in full: a new option in a later
    version could give an abbreviation another meaning, or make it ambiguous."""

    _given: Sequence[str] = ()

    takes_dashes = False
    """Whether a word with one dash that is no option, such as the `-n` of a command that is asked about, is
    an argument like others."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **settings, "allow_abbrev": False})
        self._positionals.title = "arguments"

    def error(self, message: str) -> NoReturn:
        options = self._options()
        suggestion = _suggest_choice(message)
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
        """Whether a word looks like a short option that does not exist."""
        return word[:1] == "-" != word and word[:2] not in {"--", *self._option_string_actions}

    def brief_usage(self) -> str:
        """How the command is written, in one line: its arguments, without the list of options."""
        words = []
        for action in self._actions:
            if not action.option_strings and action.help != argparse.SUPPRESS:
                name = str(action.metavar or action.dest)
                forms = {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}
                # While argparse parses the options, it keeps `nargs` of the other arguments elsewhere.
                words.append(forms.get(str(getattr(action, "save_nargs", action.nargs)), name))
        return f"usage: {' '.join([self.prog, *words])} [options]; `{self.prog} --help` explains them"

    def format_help(self) -> str:
        """The help begins with the same line as an error: the options are listed below it."""
        self.usage = self.brief_usage().removeprefix("usage: ").partition(";")[0].replace("%", "%%")
        return super().format_help()

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """Parse arguments with options anywhere between the others, as people write them."""
        end = argv.index("--") if "--" in argv else len(argv)
        self._given = argv[:end]
        if self.takes_dashes:
            plain = (_PLAIN_WORD + word if self._is_unknown(word) else word for word in argv[:end])
            argv = [*plain, *argv[end:]]
        argv = [*argv[:end], *(_PLAIN_WORD + word for word in argv[end + 1 :])]
        if any(action.nargs == argparse.PARSER for action in self._actions):
            return self.parse_args(argv)  # `token make …`: the inner parser takes the rest
        return self.parse_intermixed_args(argv)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings and arg_strings == ["--"]:
            # `--vault=--`: argparse would drop the value, and give the command an empty list.
            arg_strings = [f"{_PLAIN_WORD}--"]
        return super()._get_values(action, arg_strings)

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


def add_color(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: on terminals, unless NO_COLOR is set",
    )


class Parser(SuggestingParser):
    """A command's parser: exit code 2 for wrong usage, `--json` and `--color` on every command, a pager where
    output may be long."""

    def __init__(self, command: str, description: str, *, epilog: str = "", paged: bool = False) -> None:
        super().__init__(prog=f"vaultbridge {command}", description=description, epilog=epilog)
        self.add_argument("--json", action="store_true", help="answer as JSON, for programs")
        add_color(self)
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
            help=f"{VAULT_HELP}; by default the one you are in, or the only one",
        )
        self.add_argument("-v", "--vault", dest="vault_option", metavar="VAULT", help=OPTION_HELP)

    @property
    def takes_note(self) -> bool:
        """Whether a note is named after the vault."""
        words = [str(action.metavar) for action in self._actions if not action.option_strings]
        return any(word.startswith(("NOTE", "PLACE")) for word in words)

    def parse(self, argv: list[str]) -> argparse.Namespace:
        args = super().parse(argv)
        if "vault_option" in args:
            self._place_vault(args)
        return args

    def _place_vault(self, args: argparse.Namespace) -> None:
        """argparse gives the first word to VAULT, unless others need it. If that word is not a vault, or `-v`
        names the vault, it belongs to the argument after VAULT, and the others move on by one."""
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
        """Assign all the words again, including the one that VAULT has; returns whether all fit."""
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


_WRONG_CHOICE = re.compile(r"invalid choice: '(.+)' \(choose from (.+)\)")


def _suggest_choice(message: str) -> str:
    """Ask whether another of an argument's few words was meant, if argparse says that one is wrong."""
    found = _WRONG_CHOICE.search(message)
    if found is None:
        return ""
    from difflib import get_close_matches

    closest = get_close_matches(found[1], re.findall(r"[\w-]+", found[2]), n=1)
    return f"Did you mean {closest[0]}?" if closest else ""


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
    """Whether the word is a folder that Obsidian has opened before, or the path of one that is not part of
    such a vault: in a vault, `tasks Projects/` names a folder of that vault. A name without a slash may also
    be a word to search for, unless there is no other vault to search."""
    from vaultbridge.server.vault_choice import find_vault_around

    place = expand_home(word)
    try:
        if not place.is_dir():
            return False
        around = find_vault_around(str(place))
    except (OSError, ValueError):
        return False
    if around:
        return (place / ".obsidian").is_dir()
    return "/" in word or os.sep in word or not _has_default_vault()


def _has_default_vault() -> bool:
    from vaultbridge.server.vault_choice import choose_vault, find_here

    try:
        return bool(choose_vault(os.environ, find_here()))
    except VaultNotFound:
        return False
    except VaultbridgeError:
        return True  # The configuration is wrong: the command itself will say so.


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
