"""The commands: what each does in a line, and which function runs it.

It imports nothing, because a client that starts `vaultbridge stdio` waits for it.
"""

from __future__ import annotations

GROUPS = {
    "Set up": {
        "init": "set everything up: choose a vault, connect your assistants, check",
        "connect": "add a vault to an assistant's list of MCP servers",
        "doctor": "find problems, and say what to do about them",
        "companion": "install the Obsidian plugin that connects the app to a bridge",
        "vaults": "list the vaults that Obsidian knows",
        "completion": "print the script for completion in your shell",
    },
    "Find and read": {
        "search": "find notes, ranked for plain words or by Obsidian's query syntax",
        "context": "answer a question with the relevant passages",
        "read": "read a note, a section, a block, some lines or its outline",
        "links": "show backlinks, outgoing links, unresolved links, orphans, paths",
        "related": "find missing links, and make them",
        "tasks": "list tasks, and tick them",
        "tags": "list tags, or the notes that have one",
        "properties": "list properties, their values, or those of a note",
        "base": "show a view of a base as a table",
        "open": "open a note in Obsidian",
        "export": "export all notes as jsonl, graphml or csv",
        "index": "build or refresh a vault's index",
    },
    "Change notes": {
        "new": "create a note, from text or a template",
        "append": "add text to a note, or under one of its headings",
        "daily": "read today's note, or add to it",
        "set": "set and remove a note's properties",
        "rename": "rename or move a note, attachment or folder, and update links",
        "edit": "edit notes with JSON operations, for programs",
        "history": "list the changes and their diffs",
        "undo": "undo one change",
    },
    "Watch and guide assistants": {
        "status": "show running bridges, their assistants and what they did",
        "diffs": "list, accept or reject proposed changes",
        "page": "open the page, where you review changes",
        "pause": "pause assistants: their calls fail until you resume them",
        "resume": "resume assistants that were paused",
        "select": "tell connected assistants what is selected",
        "mention": "mention a note to connected assistants",
    },
    "Serve and call": {
        "stdio": "MCP server on stdin and stdout, started by an assistant",
        "serve": "server for Claude Code, MCP over HTTP, Bridge v1 and the page",
        "service": "keep one bridge running after login, for all assistants",
        "token": "create, list and revoke access tokens",
        "bridge": "MCP server on stdio for any Bridge v1 server",
        "call": "list and call the tools of any MCP server",
    },
}
"""What each command does, as `vaultbridge --help` lists them."""

COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}

MODULES = {
    "search": ("search", "context", "index"),
    "running": ("status", "pause", "resume", "select", "mention"),
    "notes.read": ("read", "open", "base"),
    "notes.listing": ("links", "tasks", "tags", "properties"),
    "notes.related": ("related",),
    "notes.write": ("new", "append", "daily", "set"),
    "notes.changes": ("rename", "edit", "history", "undo"),
    "notes.export": ("export",),
    "setup.init": ("init", "vaults"),
    "setup.connect": ("connect",),
    "setup.companion": ("companion",),
    "setup.doctor": ("doctor",),
    "setup.service": ("service",),
    "setup.token": ("token",),
    "setup.completion": ("completion",),
}
"""Which commands a module below `cli/` contains. Any other module has the name of its only command."""


def find_command(command: str) -> tuple[str, str]:
    """Return the module of a command, and the name of its function there: `main`, or `main_COMMAND` in a
    module that several commands share."""
    for module, commands in MODULES.items():
        if command in commands:
            return f"vaultbridge.cli.{module}", "main" if len(commands) == 1 else f"main_{command}"
    return f"vaultbridge.cli.{command}", "main"
