"""What a service runs: `vaultbridge serve` for some vaults, on a port that stays the same.

The port must stay, because `vaultbridge connect --shared` writes it into assistants' files. The service
listens on 127.0.0.1, whatever the configuration says, and needs a token from every program: that is what
gives each assistant its own limits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.model import CONFIG_VARIABLE, config_file
from vaultbridge.vault.folders import (
    CACHE_VARIABLE,
    DICTIONARIES_VARIABLE,
    STATE_VARIABLE,
    find_bases,
    find_dictionary_folders,
)

HOST: Final = "127.0.0.1"

TITLE: Final = "vaultbridge: Obsidian vaults for assistants"


class Service(Struct, frozen=True):
    """`program` starts vaultbridge. `environ` is what the service needs and would not have otherwise."""

    program: tuple[str, ...]
    vaults: tuple[str, ...]
    port: int
    environ: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        options = ("--host", HOST, "--port", str(self.port), "--require-token")
        return (*self.program, "serve", *self.vaults, *options)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def make_service(
    program: Sequence[str], vaults: Sequence[Path], port: int, environ: Mapping[str, str]
) -> Service:
    """Raises InvalidArgument for a path that no such file can contain."""
    service = Service(tuple(program), tuple(map(str, vaults)), port, tuple(_keep_environ(environ)))
    for word in (*service.command, *(value for _, value in service.environ)):
        if not word.isprintable() or not _is_text(word):
            raise InvalidArgument(
                f"A service cannot be given {word!a}.",
                argument="usage",
                hint="Rename the folder: its name contains a control character, or is not UTF-8.",
            )
    return service


def read_command(words: Sequence[str], environ: Sequence[tuple[str, str]]) -> Service | None:
    """The service with this command line, if it is one of ours."""
    if "serve" not in words:
        return None
    start = words.index("serve")
    after = list(words[start + 1 :])
    vaults = after[: after.index("--host")] if "--host" in after else []
    port = after[after.index("--port") + 1] if "--port" in after[:-1] else ""
    if not port.isdigit() or not vaults:
        return None
    return Service(tuple(words[:start]), tuple(vaults), int(port), tuple(environ))


class ServiceKind(Protocol):
    """One of the system's ways to run a service. `find_file` is where its definition is, `render` and `parse`
    are inverse, and the others are the commands of the system, which need not all succeed."""

    name: str

    def find_file(self, environ: Mapping[str, str]) -> Path: ...

    def render(self, service: Service) -> bytes: ...

    def parse(self, data: bytes) -> Service | None: ...

    def list_starting(self, file: Path) -> list[list[str]]: ...

    def list_ending(self, file: Path) -> list[list[str]]: ...

    def list_forgetting(self) -> list[list[str]]: ...

    def explain_log(self, environ: Mapping[str, str]) -> str: ...


def _keep_environ(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """A shell's settings of where things are; a service is not started by a shell."""
    kept = []
    if environ.get(CONFIG_VARIABLE):
        kept.append((CONFIG_VARIABLE, str(config_file(environ))))
    elif folder := environ.get("XDG_CONFIG_HOME"):
        # Not the file in it: one that is named has to be there, now and at every start.
        kept.append(("XDG_CONFIG_HOME", folder))
    if any(map(environ.get, (CACHE_VARIABLE, STATE_VARIABLE, "XDG_CACHE_HOME", "XDG_STATE_HOME"))):
        bases = find_bases(environ)
        # Both, because the variable for the cache alone would move the state below it.
        kept += [(CACHE_VARIABLE, str(bases.cache)), (STATE_VARIABLE, str(bases.state))]
    if environ.get(DICTIONARIES_VARIABLE):
        kept.append((DICTIONARIES_VARIABLE, str(find_dictionary_folders(environ)[0])))
    return kept


def _is_text(word: str) -> bool:
    try:
        os.fsencode(word).decode()
    except UnicodeError:
        return False
    return True
