"""The entry that starts vaultbridge in an assistant's list of servers: making it, writing it for a person,
and reading what others contain. `catalog` says which kind each assistant wants."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from vaultbridge.assistants.catalog import Assistant
from vaultbridge.errors import EditRefused
from vaultbridge.system import expand_home, read_file_uri
from vaultbridge.vault.no_follow import real_path

_REPLACED: Final = re.compile(r"\$[\w{(]|\{(?:env|file):|%[^%]+%")
"""What one assistant or another takes for a variable in an argument: `$NAME`, `${NAME}`, `$(command)`,
`{env:NAME}`, `{file:PATH}` and `%NAME%`. Most document no way to escape it."""


def make_entry(assistant: Assistant, name: str, vault: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Make the entry that tells the assistant what to start. It names the command by its full path, because
    an app that was started from a dock or a menu does not have a shell's PATH. A vault whose path contains
    what looks like a variable is written as a `file://` address, in which nothing does. Raises EditRefused
    for anything else that looks like a variable."""
    command, *rest = find_own_command()
    place = str(vault)
    for word in (command, *rest, *options):
        if _REPLACED.search(word):
            raise EditRefused(
                f"{assistant.title} could replace a part of {word!r}, which looks like a variable.",
                hint="Write a pattern into the configuration file instead (docs/config.md); install the"
                " program in another folder.",
            )
    arguments = [*rest, "stdio", vault.as_uri() if _REPLACED.search(place) else place, *options]
    match assistant.entry:
        case "opencode":
            return {"type": "local", "command": [command, *arguments]}
        case "copilot":
            return {"type": "local", "command": command, "args": arguments, "tools": ["*"]}
        case "goose":
            settings = {"enabled": True, "type": "stdio", "name": name, "timeout": 300}
            return {**settings, "cmd": command, "args": arguments}
        case "transport":
            return {"command": command, "args": arguments, "transport": "stdio"}
        case "typed":
            return {"type": "stdio", "command": command, "args": arguments}
        case "plain":
            return {"command": command, "args": arguments}


def write_entry(assistant: Assistant, name: str, entry: dict[str, Any]) -> str:
    """The entry as one line in the file's own language, for somebody who adds it by hand."""
    match assistant.form:
        case "json":
            return json.dumps({assistant.key: {name: entry}}, ensure_ascii=False)
        case "yaml":
            return f"{assistant.key}: {json.dumps({name: entry}, ensure_ascii=False)}"
        case "toml":
            members = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
            return f"{assistant.key}.{name} = {{{', '.join(members)}}}"


def parse_entry(entry: Any) -> list[str]:
    """The command line that an entry of any assistant starts; empty if it starts none."""
    if not isinstance(entry, dict):
        return []
    command: Any = entry.get("command") or entry.get("cmd")
    arguments: Any = entry.get("args")
    if isinstance(command, dict):  # as Zed wrote it before
        command, arguments = command.get("path"), command.get("args")
    words: list[Any] = [*command] if isinstance(command, list) else [command]
    words += arguments if isinstance(arguments, list) else []
    return words if words and words[0] and all(map(_can_be_passed, words)) else []


def _can_be_passed(word: Any) -> bool:
    """Whether a program can be started with this word: it contains neither NUL nor half a character."""
    if not isinstance(word, str) or "\0" in word:
        return False
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return False
    return True


def starts_vaultbridge(entry: Any) -> bool:
    return any(Path(word).stem == "vaultbridge" for word in parse_entry(entry))


def starts_own_program(entry: Any) -> bool:
    """Whether an entry starts `stdio` of this very program, and nothing else. The file of a folder may have
    come with the folder, and a word in it says nothing about the program that it would start."""
    words, own = parse_entry(entry), find_own_command()
    given = words[: len(own)]
    same = bool(given) and os.path.realpath(given[0]) == os.path.realpath(own[0]) and given[1:] == own[1:]
    return same and words[len(own) : len(own) + 1] == ["stdio"]


def find_entry_vault(entry: Any) -> Path | None:
    """The first vault that an entry of ours names by its absolute path; None if there is none."""
    return next(list_entry_vaults(entry), None)


def list_entry_vaults(entry: Any) -> Iterator[Path]:
    """The vaults that an entry of ours names by their absolute paths."""
    words = parse_entry(entry)
    after = words[words.index("stdio") + 1 :] if "stdio" in words else []
    places = (expand_home(read_file_uri(word)) for word in after if not word.startswith("-"))
    return (place for place in places if place.is_absolute())


def serves_another(entry: Any, vault: Path) -> bool:
    """Whether an entry of ours is for another vault, one that is still there."""
    place = find_entry_vault(entry)
    # Path.is_dir raises for a path that is too long, and Path.resolve for a link that leads to itself.
    return place is not None and os.path.isdir(place) and not is_same_place(place, vault)  # noqa: PTH112 - text


def is_same_place(first: Path, second: Path) -> bool:
    return real_path(first) == real_path(second)


def find_own_command() -> list[str]:
    """The command line that will still start this program in the future. An environment made by `uvx` or
    `pipx run` is deleted some day, so then the command of that program is used."""
    runner, *words = _find_runner(Path(sys.prefix))
    if runner and (program := _find_program(runner)):
        return [program, *words]
    script = Path(sys.executable).with_name("vaultbridge.exe" if os.name == "nt" else "vaultbridge")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "vaultbridge"]


def _find_runner(environment: Path) -> tuple[str, ...]:
    """The command that made an environment which does not last; "" if none did. uv keeps those in folders of
    these names on every system. pipx keeps them in a cache whose place depends on the system, but leaves a
    file in each environment; those that last, of `pipx install`, are in `venvs`."""
    if not {"archive-v0", "environments-v2"}.isdisjoint(environment.parts):
        return "uvx", "vaultbridge"
    if (environment / "pipx_metadata.json").is_file() and environment.parent.name != "venvs":
        return "pipx", "run", "vaultbridge"
    return ("",)


def _find_program(name: str) -> str:
    from shutil import which

    return which(name) or ""
