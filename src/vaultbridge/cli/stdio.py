"""`vaultbridge stdio [VAULT…]`: an MCP server on standard input and output, started by an assistant.

The arguments are parsed by hand: a client waits for the first answer, and importing argparse takes half as
long as everything else.
"""

from __future__ import annotations

import sys
from typing import Any, Final

HELP: Final = """\
usage: vaultbridge stdio [VAULT…] [options]

An MCP server on standard input and output, started by an assistant.

VAULT is a vault's folder, or its name in Obsidian. By default it is the vault
this is started in, else those in VAULTBRIDGE_VAULT (separated as in PATH),
else those in the configuration file, else the only one that Obsidian knows.

options:
  -v, --vault VAULT      another way to name a vault (may be repeated)
  --read-only            allow no changes
  --allow GLOB           show only these folders or notes (may be repeated)
  --deny GLOB            hide these (may be repeated)
  --profile NAME         which tools: full (default), core, read-only
  --review WHICH         which changes wait: off (default), destructive, all
  --tool-errors HOW      how tools fail: auto (default), protocol, result
  --prompts FOLDER       the vault's folder of prompt notes (default: Prompts)
  --name NAME            the server's name (default: obsidian-mcp)
  --timeout SECONDS      the longest a call may take (default: 30)
  --log-level LEVEL      on stderr: debug, info (default), warning, error
  -h, --help             this text
"""

_FLAGS: Final = {"--read-only": "read_only"}
_TEXTS: Final = {"--prompts": "prompts", "--name": "name"}
_LISTS: Final = {"--allow": "allow", "--deny": "deny"}
_CHOICES: Final = {
    "--profile": ("profile", ("full", "core", "read-only")),
    "--review": ("review", ("off", "destructive", "all")),
    "--tool-errors": ("tool_errors", ("auto", "protocol", "result")),
    "--log-level": ("log_level", ("debug", "info", "warning", "error")),
}
_VAULT: Final = ("-v", "--vault")
OPTIONS: Final = (*_FLAGS, *_TEXTS, *_LISTS, *_CHOICES, *_VAULT, "--timeout", "--help")

LONGEST_SECONDS: Final = 600.0
"""The longest time limit of a call: no client waits longer."""


class WrongUsage(Exception):
    pass


def main(argv: list[str]) -> int:
    if "-h" in argv or "--help" in argv:
        sys.stdout.write(HELP)
        return 0
    from vaultbridge.errors import InvalidArgument
    from vaultbridge.server.stdio.serve import StdioOptions, serve

    try:
        explain_to_person("stdio", "`vaultbridge connect` adds it to an assistant's list.")
        return serve(StdioOptions(**parse_arguments(argv)))
    except (WrongUsage, InvalidArgument) as error:
        from vaultbridge.cli.terminal import to_one_line

        usage = "usage: vaultbridge stdio [VAULT …] [options]; `vaultbridge stdio --help` explains them"
        sys.stderr.write(f"vaultbridge stdio: {to_one_line(str(error))}\n{usage}\n")
        return 2


def explain_to_person(command: str, advice: str) -> None:
    """Tell somebody who typed the command what it is waiting for. An assistant never reads this: its end of
    standard input is no terminal."""
    try:
        typed = sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        return
    if typed and sys.stderr is not None:
        sys.stderr.write(
            f"vaultbridge {command}: This is an MCP server.\nAssistants start it, and send it messages on"
            f" standard input.\n{advice}\nTo use your notes here: `vaultbridge --help`. In a browser:"
            " `vaultbridge page`.\nWaiting for messages. Press Ctrl+C to stop.\n"
        )
        sys.stderr.flush()


def parse_arguments(argv: list[str]) -> dict[str, Any]:
    """Parse the options, by their names in `StdioOptions`. Raises WrongUsage."""
    found: dict[str, Any] = {}
    vaults: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            vaults.extend(rest)
        elif not word.startswith("-"):
            vaults.append(word)
        elif word in _FLAGS:
            found[_FLAGS[word]] = True
        else:
            option, equals, value = word.partition("=")
            if option not in OPTIONS or option in _FLAGS:
                raise WrongUsage(_explain_unknown(option, word))
            if not equals and (value := next(rest, "")) == "":
                raise WrongUsage(f"{option} needs a value.")
            if option in _VAULT:
                vaults.append(value)
            else:
                _set(found, option, value)
    if vaults:
        found["vaults"] = tuple(vaults)
    return found


def _set(found: dict[str, Any], option: str, value: str) -> None:
    if not value:
        raise WrongUsage(f"{option} needs a value.")
    if option in _TEXTS:
        found[_TEXTS[option]] = value
    elif option in _LISTS:
        found[_LISTS[option]] = (*found.get(_LISTS[option], ()), value)
    elif option in _CHOICES:
        name, choices = _CHOICES[option]
        if value not in choices:
            raise WrongUsage(f"{option} is {value!r}; choose one of {', '.join(choices)}.")
        found[name] = value
    else:
        found["call_seconds"] = _parse_seconds(value)


def _parse_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise WrongUsage(f"--timeout is {value!r}; give a number of seconds up to {LONGEST_SECONDS:g}.")
    return seconds


def _explain_unknown(option: str, word: str) -> str:
    if option in _FLAGS:
        return f"{option} takes no value, but {word!r} gives one."
    from vaultbridge.cli.parser import suggest_option

    return f"There is no option {option[:60]!r}. {suggest_option(option, OPTIONS)}".rstrip()
