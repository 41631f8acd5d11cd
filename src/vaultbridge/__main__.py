"""The command line's front door: finds the command's module and runs it, importing nothing else.

A client that spawns `vaultbridge stdio` waits for every module imported here, so this one stays bare:
argparse and the rest are imported by the commands that use them.
"""

from __future__ import annotations

import sys

COMMANDS = {
    "index": "build or refresh a vault's index",
    "search": "search a vault with Obsidian's query syntax",
    "read": "read a note, a section, a block or its outline",
    "links": "backlinks, outgoing links, unresolved links, orphans, paths",
    "edit": "change a note: append, replace, properties, tags, tasks, diffs",
    "rename": "rename or move a note, attachment or folder with every link",
    "history": "the changes made, with their diffs",
    "undo": "undo one change",
    "export": "all notes as jsonl, graphml or csv",
    "stdio": "MCP over stdin and stdout, for an assistant to spawn",
    "serve": "one port for Claude Code, MCP over HTTP and Bridge v1",
    "connect": "put a vault into an assistant's list of MCP servers",
    "bridge": "MCP over stdio for a Bridge v1 server",
    "call": "list and call the tools of any MCP server",
    "select": "tell connected assistants what is selected",
    "mention": "mention a note to connected assistants",
    "companion": "install the Obsidian plugin that joins the app to a bridge",
    "page": "the link to the page in which a person reviews changes",
    "diffs": "list, accept or reject proposed changes",
    "status": "running bridges and their clients",
    "doctor": "check that assistants can connect, and say what to do",
    "token": "make, list and revoke access tokens",
    "vaults": "the vaults Obsidian knows",
}


def usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    return (
        "usage: vaultbridge COMMAND …\n\nJoins an Obsidian vault to AI assistants.\n\n"
        f"commands:\n{rows}\n\n`vaultbridge help COMMAND` says more of each."
    )


def main(argv: list[str] | None = None) -> int:
    """Run one command and give back its exit code: 0, 1 for an error, 2 for wrong usage."""
    args = sys.argv[1:] if argv is None else argv
    if args[:1] == ["help"] and len(args) > 1:
        args = [*args[1:], "--help"]
    command = args[0] if args else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(usage() + "\n")
        return 0 if args else 2
    if command in ("-V", "--version"):
        from vaultbridge import __version__

        sys.stdout.write(f"vaultbridge {__version__}\n")
        return 0
    if command not in COMMANDS:
        from difflib import get_close_matches

        closest = get_close_matches(command, COMMANDS, n=1)
        hint = f" Did you mean {closest[0]!r}?" if closest else ""
        sys.stderr.write(f"vaultbridge: no command {command!r}.{hint} `vaultbridge --help` lists them.\n")
        return 2
    from importlib import import_module

    code: int = import_module(f"vaultbridge.cli.{command}").main(args[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
