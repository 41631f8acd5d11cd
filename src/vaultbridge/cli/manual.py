"""Writes the manual page from the commands' own parsers.

    python -m vaultbridge.cli.manual man/vaultbridge.1

`make generate` runs it, and a test fails until the page is current.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from vaultbridge import __version__
from vaultbridge.cli.commands import COMMANDS, find_command
from vaultbridge.cli.parser import SuggestingParser
from vaultbridge.cli.setup.completion import find_parser

BY_HAND = {"stdio": "HELP", "bridge": "USAGE"}
"""Commands that parse their arguments themselves, and where their help is."""

COMMON = ("json", "color", "no_pager", "vault_option")
"""Options of every command, explained once."""

HEAD = f"""\
.TH VAULTBRIDGE 1 "2026" "vaultbridge {__version__}" "User Commands"
.SH NAME
vaultbridge \\- connects an Obsidian vault to AI assistants
.SH SYNOPSIS
.B vaultbridge
.I COMMAND
[\\fIVAULT\\fR] ...
.SH DESCRIPTION
Searches, reads and edits the notes of an Obsidian vault by the app's own rules, and serves them to AI
assistants over MCP, Claude Code's /ide socket and HTTP. \\fBvaultbridge init\\fR sets it up.
.PP
VAULT is a vault's folder or its name in Obsidian. It comes first or after \\fB\\-v\\fR, and may be left out:
then it is the vault that you are in, the one that VAULTBRIDGE_VAULT or the configuration names, or the only
one there is.
.PP
A place in a note is written Note#Heading, Note#^block, Note:3 or Note:3-5.
.SH OPTIONS
.TP
.B \\-v VAULT, \\-\\-vault VAULT
the vault, for commands that work on one
.TP
.B \\-\\-json
answer as JSON, for programs
.TP
.B \\-\\-color WHEN
auto, always or never
.TP
.B \\-\\-no\\-pager
print long output without a pager
.TP
.B \\-h, \\-\\-help
explain a command
.SH COMMANDS
"""

TAIL = """\
.SH EXIT STATUS
0 for success, 1 for an error, 2 for wrong usage, 130 after Ctrl-C.
.SH ENVIRONMENT
.TP
.B VAULTBRIDGE_VAULT
The vaults to use, separated as in PATH.
.TP
.B VAULTBRIDGE_CONFIG, VAULTBRIDGE_CACHE, VAULTBRIDGE_STATE
The configuration file, which has to be there, the folder of indexes, and that of journals and proposals.
.TP
.B VAULTBRIDGE_DICTIONARIES
A folder with dictionaries for English questions about notes in other languages.
.TP
.B NO_COLOR, PAGER
No colour on terminals; the program that shows long output.
"""


def render_manual() -> str:
    parts = [HEAD]
    for name, summary in COMMANDS.items():
        parts.append(f".SS {name}\n{_escape(summary[:1].upper() + summary[1:])}.\n")
        if name in BY_HAND:
            parts.append(f".PP\n.nf\n{_escape(_load_help(name))}\n.fi\n")
        else:
            parts.append(_render_parser(find_parser(name)))
    return "".join([*parts, TAIL])


def _load_help(name: str) -> str:
    from importlib import import_module

    text: str = getattr(import_module(find_command(name)[0]), BY_HAND[name])
    return text.strip()


def _render_parser(parser: SuggestingParser) -> str:
    usage = parser.brief_usage().removeprefix("usage: ").partition(";")[0]
    rows = [f".PP\n.B {_escape(usage)}\n"]
    for action in parser._actions:
        if action.help in (None, argparse.SUPPRESS) and not action.option_strings:
            continue
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        if action.dest in COMMON or action.dest == "vault":
            continue
        rows.append(f".TP\n.B {_escape(_render_name(action))}\n{_escape(_explain(action))}\n")
    return "".join(rows)


def _render_name(action: argparse.Action) -> str:
    shown = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return shown
    value = "" if action.nargs == 0 else f" {shown}"
    return ", ".join(f"{option}{value}" for option in action.option_strings)


def _explain(action: argparse.Action) -> str:
    choices = ", ".join(map(str, action.choices)) if action.choices else ""
    text = (action.help or "").replace("%%", "%")
    return (
        " ".join(part for part in (text, f"({choices})" if choices and choices not in text else "") if part)
        or "-"
    )


def _escape(text: str) -> str:
    """Escape what roff reads as its own: backslashes, hyphens, and a dot or quote at the start of a line."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", shown, flags=re.MULTILINE)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_manual(), "utf-8")
