"""Starts a bridge in the background, for a person who needs the page for a while.

It is `vaultbridge serve`, in a session of its own and with its log in a file, and ends when nobody uses it.
It needs a token from every program and is not announced to Claude Code: a person who opens the page has not
asked for anything else to be opened. Whoever starts it waits until it listens, and gets its error if it does
not.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure
from vaultbridge.server.config.model import CONFIG_VARIABLE, config_file
from vaultbridge.server.vault_choice import VAULT_VARIABLE
from vaultbridge.system import make_private_folder
from vaultbridge.vault.folders import CACHE_VARIABLE, STATE_VARIABLE, find_bases

UNUSED_MINUTES: Final = 10
"""How long nobody may use it before it ends: who closes the page and thinks again still finds it."""

START_SECONDS: Final = 60.0
"""How long it may take until it listens. It takes a second; on a busy machine with many vaults, some more."""

LOG_NAME: Final = "bridge.log"

LOG_BYTES: Final = 1024 * 1024
"""A log that is longer than this is begun anew at the next start."""

SHOWN_CHARS: Final = 400
"""How much of the log is shown when it ends without saying why: its end, where the reason is."""


def start_background(
    vaults: Sequence[Path], environ: Mapping[str, str], *, minutes: float = UNUSED_MINUTES
) -> dict[str, Any]:
    """Start a bridge for these vaults, and wait until it listens. Returns what `serve --json` says. Raises
    EngineFailure, with the bridge's own reason."""
    base = find_bases(environ).cache
    make_private_folder(base)
    log = base / LOG_NAME
    begun = _begin_log(log)
    # `-P`: nothing is imported from the folder that it runs in.
    command = [sys.executable, "-P", "-m", "vaultbridge", "serve", *map(str, vaults)]
    command += ["--end-after", f"{minutes:g}", "--require-token", "--no-ide", "--json"]
    with _open_log(log) as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            # A folder that is always there: the one that the person is in may be on a disk that is removed.
            cwd=Path(sys.executable).anchor,
            env=_make_environ(environ),
            **_detach(),
        )
    said: list[bytes] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_read_line, args=(process.stdout, said), daemon=True)
    try:
        reader.start()
        reader.join(START_SECONDS)
        if (event := _parse(said)).get("event") == "listening":
            # From now on it is nobody's child; without this, Python warns that it is still running.
            process.returncode = 0
            process.stdout.close()
            return event
    except BaseException:
        process.kill()  # the person pressed Ctrl-C
        raise
    process.kill()
    process.wait()
    reader.join()
    process.stdout.close()
    if "error" in event:
        raise EngineFailure(str(event["error"]), hint=str(event.get("hint") or ""))
    raise EngineFailure(
        f"The bridge did not start. {_read_end(log, begun)}".rstrip(), hint=f"Its log is {log}."
    )


def _make_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Its vaults are named on its command line, and it runs in another folder."""
    made = {key: value for key, value in environ.items() if key != VAULT_VARIABLE}
    if environ.get(CONFIG_VARIABLE):
        made[CONFIG_VARIABLE] = str(config_file(environ))
    bases = find_bases(environ)
    if environ.get(CACHE_VARIABLE):
        made[CACHE_VARIABLE] = str(bases.cache)
    if environ.get(STATE_VARIABLE):
        made[STATE_VARIABLE] = str(bases.state)
    return made


def _detach() -> dict[str, Any]:
    """What lets it outlive the terminal that it was started from."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _begin_log(log: Path) -> int:
    """Where the log of this start begins."""
    try:
        size = log.stat().st_size
        if size <= LOG_BYTES:
            return size
        log.unlink()
    except OSError:
        pass
    return 0


def _open_log(log: Path) -> IO[bytes]:
    try:
        return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
    except OSError as error:
        raise EngineFailure(f"{log} cannot be written: {os.strerror(error.errno or 0)}.") from error


def _read_line(stream: IO[bytes], said: list[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        said.append(stream.readline())


def _parse(said: list[bytes]) -> dict[str, Any]:
    try:
        return msgspec.json.decode(said[0], type=dict[str, Any]) if said else {}
    except JSON_ERRORS:
        return {}


def _read_end(log: Path, begun: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(begun)
            text = file.read(LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return " ".join(text.split())[-SHOWN_CHARS:]
