"""`vaultbridge completion bash|zsh|fish`: completes commands, options, notes, headings and tags in a shell.

The scripts are a few lines that call this command with the words typed so far. It reads the index as it is
and never builds one, because the person who pressed Tab is waiting.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Final

from vaultbridge.cli.commands import COMMANDS, find_command
from vaultbridge.cli.common import OK, find_default_vault, open_vault, run, say
from vaultbridge.cli.parser import Parser, ParserRequest, SuggestingParser, names_vault, parse_integer
from vaultbridge.errors import InvalidArgument, VaultbridgeError

if TYPE_CHECKING:
    from vaultbridge.engine import Engine

CANDIDATES: Final = 500
"""The most that is offered: nobody reads more, and each shell sorts them."""

LISTED: Final = 20_000
"""How many files are listed where there is no index: a tenth of a second."""

SCRIPTS: Final = {
    # bash gives words as they were typed, cut at every colon, so it passes the line instead.
    "bash": r"""_vaultbridge() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(vaultbridge completion --bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o default -F _vaultbridge vaultbridge
""",
    # Within quotes PREFIX is what follows the open one. compadd quotes what it inserts.
    "zsh": r"""#compdef vaultbridge
_vaultbridge() {
    local -a found
    local quote=$compstate[quote]
    local current=$quote$PREFIX$quote
    found=("${(@f)$(vaultbridge completion --at $((CURRENT - 1)) -- \
        "${(@Q)words[1,CURRENT-1]}" "${(Q)current}" 2>/dev/null)}")
    if (( ${#found} == 0 )) || [[ -z ${found[1]} ]]; then
        _files
    else
        compadd -U -- "${(@)found}"
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _vaultbridge "$@"
else
    compdef _vaultbridge vaultbridge
fi
""",
    "fish": r"""function __vaultbridge_complete
    set -l before (commandline -opc)
    vaultbridge completion --at (count $before) -- $before (commandline -ct | string unescape) 2>/dev/null
end
complete -c vaultbridge -f -a '(__vaultbridge_complete)'
""",
}

HINTS: Final = """\
to enable it, run one of these and open a new terminal:
  # bash
  echo 'eval "$(vaultbridge completion bash)"' >> ~/.bashrc
  # zsh, whose ~/.zshrc must run compinit before this line
  echo 'eval "$(vaultbridge completion zsh)"' >> ~/.zshrc
  # fish
  vaultbridge completion fish > ~/.config/fish/completions/vaultbridge.fish"""

_SPECIAL: Final = re.compile(r"""[\s\\'"`$&|;()<>*?\[\]{}!]|^[#~]""")
_SPECIAL_IN_QUOTES: Final = re.compile(r'[\\"`$]')
"""What bash reads as more than itself, outside of quotes and within double ones."""

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def main(argv: list[str]) -> int:
    parser = Parser(
        "completion",
        "Print a script that completes commands, notes, headings and tags in your shell.",
        epilog=HINTS,
    )
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS), help="the shell to print a script for")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--at", type=parse_integer, help=argparse.SUPPRESS)
    if "--" in argv[1:3]:
        # The words of an unfinished line are not ours to parse.
        cut = argv.index("--")
        if argv[0] == "--bash":
            return _offer(complete_bash(*argv[cut + 1 : cut + 3]))
        if argv[0] == "--at":
            return _complete(argv[cut + 1 :], argv[:cut])
    return run(parser, argv, _print_script)


def _print_script(args: argparse.Namespace) -> int:
    if not args.shell:
        raise InvalidArgument("Which shell?", argument="usage", hint=f"Give {', '.join(SCRIPTS)}.")
    sys.stdout.write(SCRIPTS[args.shell])
    return OK


def _complete(words: list[str], options: list[str]) -> int:
    try:
        at = int(options[options.index("--at") + 1])
    except (ValueError, IndexError):
        at = len(words) - 1
    return _offer(complete_line(words, at))


def _offer(candidates: list[str]) -> int:
    for candidate in candidates[:CANDIDATES]:
        if "\n" not in candidate:  # shells read them by lines
            say(candidate)
    return OK


def complete_bash(line: str = "", breaks: str = "") -> list[str]:
    """Complete a line of bash that ends at the cursor. A candidate replaces the text after the open quote, or
    else after the last of `breaks` in the word, and is quoted as that place requires."""
    words, quote, kept = _split_bash(line, breaks)
    found = complete_line(words, len(words) - 1)
    if quote == "'":
        return [candidate.replace("'", "'\\''") for candidate in found]
    special = _SPECIAL_IN_QUOTES if quote else _SPECIAL
    return [special.sub(r"\\\g<0>", candidate[kept:]) for candidate in found]


def _split_bash(line: str, breaks: str) -> tuple[list[str], str, int]:
    """Split a line into words without their quotes. The last one ends at the cursor: it comes with the quote
    that is open there, and how many of its characters bash keeps."""
    words = [""]
    quote = ""
    kept = 0
    rest = iter(line)
    for char in rest:
        if char == "\\" and quote != "'":
            after = next(rest, "")
            words[-1] += after if not quote or after in '$`"\\' else char + after
        elif char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        elif not quote and char.isspace():
            words += [""] if words[-1] else []
            kept = 0
        else:
            words[-1] += char
            if not quote and char in breaks:
                kept = len(words[-1])
    return words, quote, 0 if quote else kept


def complete_line(words: list[str], at: int) -> list[str]:
    """Return the candidates for word `at`, where word 0 is `vaultbridge` itself. If anything fails it returns
    none: a shell has no place to show an error."""
    at = min(at, len(words))
    current = words[at] if at < len(words) else ""
    if at <= 1:
        return choose(current, [*COMMANDS, "help", "version"])
    command = words[1]
    if command == "help":
        return choose(current, COMMANDS)
    if command not in COMMANDS:
        return []
    try:
        return _complete_command(command, words[2:at], current)
    except (VaultbridgeError, OSError, ValueError):
        return []


def find_parser(command: str) -> SuggestingParser:
    """Return a command's parser. Commands that parse by hand, to start quickly, have none."""
    name, function = find_command(command)
    module = import_module(name)
    if command == "call":
        found: SuggestingParser = module.make_parser()
        return found
    request = ParserRequest()
    getattr(module, function)(request)
    return request.parser


def choose(current: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that begin with what was typed; if none does, those that do if case is ignored."""
    every = list(dict.fromkeys(candidates))
    exact = [candidate for candidate in every if candidate.startswith(current)]
    return exact or [candidate for candidate in every if candidate.lower().startswith(current.lower())]


def _complete_command(command: str, before: list[str], current: str) -> list[str]:
    if command in ("stdio", "bridge"):
        module = import_module(find_command(command)[0])
        text: str = module.HELP if command == "stdio" else module.USAGE
        return choose(current, _OPTION.findall(text)) if current.startswith("-") else _list_vaults(current)
    parser = find_parser(command)
    options, positional, chosen = _split(parser, before)
    if isinstance(chosen, argparse._SubParsersAction):
        return []
    if chosen is not None:
        return _complete_value(chosen, current, options.get("vault_option"))
    if current.startswith("-"):
        shown = {
            name for name, action in parser._option_string_actions.items() if action.help != argparse.SUPPRESS
        }
        return choose(current, sorted(name for name in shown if name.startswith("--")))
    actions = [action for action in parser._actions if not action.option_strings]
    vault = options.get("vault_option")
    if "vault_option" in parser.destinations() and actions and actions[0].dest == "vault":
        if vault is None and positional and names_vault(positional[0]):
            vault, positional = positional[0], positional[1:]
        actions = actions[1:]
    if not actions:
        return _list_vaults(current)
    repeats = actions[-1].nargs in ("+", "*")
    if len(positional) >= len(actions) and not repeats:
        return []
    return _complete_value(actions[min(len(positional), len(actions) - 1)], current, vault)


def _split(
    parser: SuggestingParser, before: list[str]
) -> tuple[dict[str, str], list[str], argparse.Action | None]:
    """Separate options from other words; the last item is the option that still needs its value, if any."""
    options: dict[str, str] = {}
    positional: list[str] = []
    waiting: argparse.Action | None = None
    for word in before:
        name, equals, value = word.partition("=")
        action = parser._option_string_actions.get(name)
        if waiting is not None:
            options[waiting.dest], waiting = word, None
        elif action is None:
            positional += [word] if not word.startswith("-") else []
        elif equals:
            options[action.dest] = value
        elif action.nargs != 0:
            waiting = action
    return options, positional, waiting


def _complete_value(action: argparse.Action, current: str, vault: str | None) -> list[str]:
    if action.choices is not None:
        return choose(current, map(str, action.choices))
    kinds: dict[str, Callable[[str, str | None], list[str]]] = {
        "NOTE": _complete_place,
        "PLACE": _complete_place,
        "OLD": _complete_place,
        "OTHER": _complete_place,
        "TAG": _list_tags,
        "BASE": _list_bases,
    }
    name = str(action.metavar or action.dest)
    if name == "VAULT":
        return _list_vaults(current)
    if action.dest == "assistant":
        from vaultbridge.assistants.catalog import ASSISTANTS

        return choose(current, [*(assistant.name for assistant in ASSISTANTS), "all"])
    return kinds[name](current, vault) if name in kinds else []


def _list_vaults(current: str) -> list[str]:
    import os

    from vaultbridge.vault.obsidian import list_known_vaults

    return choose(current, [vault.name for vault in list_known_vaults(os.environ)])


def _complete_place(current: str, vault: str | None) -> list[str]:
    note, mark, below = current.partition("#")
    with open_vault(vault or find_default_vault()) as engine:
        if mark and note:
            view = engine.view(note)
            headings = [heading.text for heading in view.note.headings]
            blocks = [f"^{block.id}" for block in view.note.blocks]
            return [f"{note}#{part}" for part in choose(below, [*headings, *blocks])]
        paths = [path.removesuffix(".md") for path in _list_paths(engine, "note")]
    if "/" in current:
        return choose(current, paths)
    return choose(current, sorted(path.rpartition("/")[2] for path in paths))


def _list_tags(current: str, vault: str | None) -> list[str]:
    with open_vault(vault or find_default_vault()) as engine:
        return choose(current.lstrip("#"), sorted(tag.name for tag in engine.queries.tags()))


def _list_bases(current: str, vault: str | None) -> list[str]:
    with open_vault(vault or find_default_vault()) as engine:
        return choose(current, [path.rpartition("/")[2] for path in _list_paths(engine, "base")])


def _list_paths(engine: Engine, kind: str) -> list[str]:
    """From the index if it is complete, otherwise from as much of the disk as can be listed quickly."""
    if engine.queries.status.complete:
        from vaultbridge.index.graph import list_paths_of_kind

        return list(list_paths_of_kind(engine.index_sync.index, kind))
    from vaultbridge.vault.walk import FileEntry, walk

    listed = islice(walk(engine.root), LISTED)
    return [entry.path for entry in listed if isinstance(entry, FileEntry) and entry.kind == kind]
