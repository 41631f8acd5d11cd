"""Finds the module of a command and runs it, importing nothing else.

A client that starts `vaultbridge stdio` waits for every module that is imported here, so this one imports
almost none: argparse and the rest are imported by the commands that use them.
"""

from __future__ import annotations

import os
import sys

from vaultbridge.cli.commands import COMMANDS, GROUPS, find_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


_INVALID_ARGUMENT = 22
"""EINVAL, on every system."""


def usage() -> str:
    width = max(map(len, COMMANDS))
    groups = []
    for title, commands in GROUPS.items():
        rows = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in commands.items())
        groups.append(f"{title}:\n{rows}")
    return "\n\n".join(
        (
            "usage: vaultbridge COMMAND …",
            "Connects an Obsidian vault to AI assistants.",
            *groups,
            # Last, because this is longer than most screens.
            "`vaultbridge help COMMAND` explains one. New here? Run `vaultbridge init`.",
        )
    )


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for an error, 2 for wrong usage.

    What all commands need is done here: an output that is closed, full or no longer read, an argument that is
    not text, and a bug in vaultbridge each end with one line and an exit code, never with a traceback.
    """
    args = sys.argv[1:] if argv is None else argv
    if None in (sys.stdin, sys.stdout, sys.stderr) and _open_missing_streams() and args[:1] != ["serve"]:
        return _complain("standard output is closed. Give it a file or a terminal to write to.")
    _prepare_output()
    for number, word in enumerate(args, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            _complain(f"argument {number} is not UTF-8 text: {ascii(word)[:200]}. Write it in UTF-8.")
            return 2
    try:
        code = _run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 0  # `vaultbridge search … | head` is not a failure
    except OSError as error:
        if os.name == "nt" and error.errno == _INVALID_ARGUMENT and error.filename is None:
            code = 0  # Windows's way to say that the reader has gone
        else:
            code = _complain(f"the system refused: {error.strerror or error}.")
    except Exception as error:
        if os.environ.get("VAULTBRIDGE_TRACEBACK"):
            raise
        code = _complain(
            f"an internal error of vaultbridge ({type(error).__name__}). Please report it;"
            " with VAULTBRIDGE_TRACEBACK=1 in the environment it says where."
        )
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    return code


def _open_missing_streams() -> bool:
    """Replace closed standard streams; returns whether the output was among them.

    Their descriptors must not stay free: the next opened file, perhaps an index, would get one, and whatever
    writes to that descriptor would write into the file.
    """
    closed_output = sys.stdout is None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
            setattr(sys, name, stream)
    return closed_output


def _prepare_output() -> None:
    """Files and pipes get UTF-8 in every locale; a terminal with an old encoding shows what it can."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
    if sys.stdout.encoding.lower().replace("-", "") != "utf8" and not sys.stdout.isatty():
        reconfigure(encoding="utf-8", errors="backslashreplace")
    else:
        reconfigure(errors="backslashreplace")


def _complain(text: str) -> int:
    try:
        sys.stderr.write(f"vaultbridge: {text}\n")
        return 1
    except (OSError, ValueError):
        return 1


def _flush(stream: TextIO) -> None:
    """Flush now: if the interpreter had to flush at exit, it would print an error and set its own exit
    code."""
    try:
        stream.flush()
    except (OSError, ValueError):
        _discard(stream)


def _discard(stream: TextIO) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


_SHARED = {"-v": 2, "--vault": 2, "--color": 2, "--json": 1}
"""Options that nearly all commands have, and how many words each takes."""


def _put_command_first(args: list[str]) -> list[str]:
    """Moves shared options behind the command: people also write `vaultbridge -v Notes search roof`."""
    count = 0
    while count < len(args):
        name, _, value = args[count].partition("=")
        if name not in _SHARED:
            return [args[count], *args[:count], *args[count + 1 :]]
        count += 1 if value else _SHARED[name]
    return args


def _run(args: list[str]) -> int:
    args = _put_command_first(args)
    if args[:1] == ["help"] and len(args) > 1:
        args = [*args[1:], "--help"]
    command = args[0] if args else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(usage() + "\n")
        return 0 if args else 2
    if command in ("-V", "--version", "version"):
        from vaultbridge import __version__

        sys.stdout.write(f"vaultbridge {__version__}\n")
        return 0
    if command not in COMMANDS:
        from difflib import get_close_matches

        closest = get_close_matches(command, COMMANDS, n=1)
        hint = f" Did you mean {closest[0]!r}?" if closest else ""
        wrong = "the command is missing" if command in _SHARED else f"no command {command[:60]!r}"
        sys.stderr.write(
            f"vaultbridge: {wrong}.{hint}\nusage: vaultbridge COMMAND …; `vaultbridge --help` lists them\n"
        )
        return 2
    from importlib import import_module

    module, function = find_command(command)
    code: int = getattr(import_module(module), function)(args[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
