"""Finds out why Claude Code does not connect, by document 001's checklist and by what the real client does.

It reads lock files and tries the port as a client would, and changes nothing. Each check says what it found
and what to do about it. No finding contains a secret.
"""

from __future__ import annotations

import os
import socket
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.protocols.claude_ide.lock_files import (
    TOKEN_HEADER,
    LockFile,
    list_lock_files,
    list_lock_folders,
    list_scanned_folders,
    read_lock,
)
from vaultbridge.system import is_process_alive

CheckStatus = Literal["good", "warning", "bad", "unknown"]


class Check(Struct, frozen=True):
    """The result of one check. `advice` is empty if there is nothing to do."""

    name: str
    status: CheckStatus
    found: str
    advice: str = ""


CONNECT_SECONDS: Final = 2.0
"""How long a listening port on this machine may take to answer."""

_KEY: Final = "dmF1bHRicmlkZ2UtZG9jdA=="
"""Any sixteen bytes in base64 will do."""


def diagnose(
    vault: Path,
    port: int,
    *,
    environ: Mapping[str, str],
    home: Path,
    working_folder: Path | None = None,
    lock_folder: Path | None = None,
) -> list[Check]:
    """All checks for the bridge of `vault` on `port`, in the order a person should read them.
    `working_folder` is where Claude Code is started, `lock_folder` where the bridge writes its lock, when
    they are known."""
    folders = list_scanned_folders(environ, home)
    files = [folder / f"{port}.lock" for folder in folders]
    locks = {file: read_lock(file) for file in files if file.exists()}
    readable = {file: lock for file, lock in locks.items() if lock is not None}
    checks = [
        _check_lock_exists(
            files[0], locks, list_scanned_folders(environ, home, older=False), _locate_lock(lock_folder, port)
        ),
        *(_check_lock_content(file, lock, port, vault) for file, lock in readable.items()),
        *(_check_privacy(file) for file in readable),
        _check_listening(port),
        _check_loopback_only(port),
        _check_handshake(port, next((lock.auth_token for lock in readable.values()), "")),
        check_dead_locks(folders),
        _check_only_match(folders, vault, port),
        _check_environment(environ, home, lock_folder),
    ]
    if working_folder is not None:
        checks.append(_check_working_folder(working_folder, vault))
    return checks


def _locate_lock(folder: Path | None, port: int) -> Path | None:
    file = folder / f"{port}.lock" if folder is not None else None
    return file if file is not None and file.exists() else None


def _check_lock_exists(
    expected: Path, locks: Mapping[Path, LockFile | None], scanned: Sequence[Path], written: Path | None
) -> Check:
    name = "lock file in the folder Claude Code scans"
    if not locks and written is not None:
        found = f"{expected} is missing; the bridge's lock is {written}"
        advice = "Start `vaultbridge serve` with the CLAUDE_CONFIG_DIR that Claude Code has."
        return Check(name, "bad", found, advice)
    if not locks:
        found = f"{expected} is missing"
        return Check(name, "bad", found, "Start `vaultbridge serve`; look at its log for the reason.")
    broken = [file for file, lock in locks.items() if lock is None]
    if broken:
        found = f"{broken[0]} cannot be read as JSON"
        return Check(name, "bad", found, "Restart `vaultbridge serve`: it writes a new lock.")
    listed = [file for file in locks if file.parent in scanned]
    if len(listed) > 1:
        found = (
            f"{len(listed)} locks of this bridge: Claude Code lists it twice and does not connect by itself"
        )
        return Check(name, "warning", found, f"Remove {listed[-1]}.")
    return Check(name, "good", f"found in {next(iter(locks)).parent}")


def _check_lock_content(file: Path, lock: LockFile, port: int, vault: Path) -> Check:
    name = f"content of {file.parent.parent.name}/{file.parent.name}/{file.name}"
    wrong = []
    if lock.transport != "ws":
        wrong.append('"transport" is not "ws"')
    if lock.pid is None or not is_process_alive(lock.pid):
        wrong.append('"pid" names no living process: the client deletes such a lock')
    if not lock.auth_token:
        wrong.append('"authToken" is missing')
    if lock.port not in (None, port):
        wrong.append('"port" differs from the file\'s name')
    listed = lock.workspace_folders
    if not listed:
        wrong.append('"workspaceFolders" is empty')
    elif not all(Path(folder).is_absolute() for folder in listed):
        wrong.append('"workspaceFolders" contains a relative path')
    elif os.path.realpath(vault) not in listed:
        wrong.append('"workspaceFolders" does not name the vault\'s real folder')
    if wrong:
        return Check(name, "bad", "; ".join(wrong), "Restart `vaultbridge serve`: it writes a new lock.")
    return Check(name, "good", "complete, and named by its port")


def _check_privacy(file: Path) -> Check:
    name = f"privacy of {file.name}"
    if os.name != "posix":
        return Check(name, "unknown", "cannot be checked on this system")
    modes = stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)
    if modes[0] & 0o077 or modes[1] & 0o077:
        advice = f"Run: chmod 700 {file.parent} && chmod 600 {file}"
        return Check(
            name, "warning", f"modes {modes[0]:o} and {modes[1]:o}: others can read the token", advice
        )
    return Check(name, "good", "file 600, folder 700")


def _check_listening(port: int) -> Check:
    name = "server is listening"
    try:
        socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS).close()
    except OSError as error:
        advice = "Start `vaultbridge serve`. If it runs, security software may block loopback connections."
        return Check(
            name, "bad", f"nothing accepts connections on 127.0.0.1:{port}: {error.strerror or error}", advice
        )
    return Check(name, "good", f"127.0.0.1:{port} accepts connections")


def _check_loopback_only(port: int) -> Check:
    """Try whether this machine's other addresses accept connections too."""
    name = "bound to loopback only"
    for address in _list_outer_addresses():
        try:
            socket.create_connection((address, port), CONNECT_SECONDS).close()
        except OSError:
            continue
        advice = "Bind to 127.0.0.1 (the default) unless others must reach the bridge."
        return Check(name, "warning", f"also reachable at {address}", advice)
    return Check(name, "good", "no other address accepts connections")


def _list_outer_addresses() -> list[str]:
    try:
        entries = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return []
    addresses = {str(entry[4][0]) for entry in entries}
    return sorted(address for address in addresses if not address.startswith("127."))


def _check_handshake(port: int, token: str) -> Check:
    """Try what document 001 tries with curl: an upgrade, once without the token and once with it."""
    name = "WebSocket handshake"
    try:
        without = _upgrade(port, "")
        with_token = _upgrade(port, token) if token else None
    except OSError as error:
        return Check(name, "bad", f"no answer: {error.strerror or error}", "Start `vaultbridge serve`.")
    if without != 401:
        found = f"an upgrade without a token was answered with {without}, not 401"
        return Check(
            name, "bad", found, f"Another program listens on port {port}: choose another with --port."
        )
    if with_token == 503:
        return Check(name, "warning", "all connections are in use", "Close some Claude Code sessions.")
    if with_token is not None and with_token != 101:
        found = f"an upgrade with the lock's token was answered with {with_token}"
        return Check(name, "bad", found, "The lock is older than the server: restart `vaultbridge serve`.")
    return Check(name, "good", "refused without the token, accepted with it")


def _upgrade(port: int, token: str) -> int:
    lines = [
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        f"Sec-WebSocket-Key: {_KEY}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: mcp",
        *([f"{TOKEN_HEADER}: {token}"] if token else []),
    ]
    with socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        words = connection.recv(64).decode("latin-1").split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def check_dead_locks(folders: Sequence[Path]) -> Check:
    name = "locks of dead processes"
    dead = [file for file, lock in _read_all_locks(folders) if lock.is_stale]
    if dead:
        listed = ", ".join(str(file) for file in dead[:5])
        advice = "`vaultbridge doctor --fix` removes them, and so does the start of `vaultbridge serve`."
        return Check(name, "warning", f"{len(dead)}: {listed}", advice)
    return Check(name, "good", "none")


def _read_all_locks(folders: Sequence[Path]) -> list[tuple[Path, LockFile]]:
    files = [file for folder in folders for file in list_lock_files(folder)]
    return [(file, lock) for file in files if (lock := read_lock(file)) is not None]


def _check_only_match(folders: Sequence[Path], vault: Path, port: int) -> Check:
    """Claude Code connects by itself only when exactly one lock matches its working directory."""
    name = "no other editor claims the vault"
    real = _normalize(os.path.realpath(vault))
    rivals = set()
    for file, lock in _read_all_locks(folders):
        if file.stem == str(port) or lock.is_stale:
            continue
        claimed = [_normalize(folder) for folder in lock.workspace_folders]
        if any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in claimed):
            rivals.add(f"{lock.ide_name or 'an editor'} on port {file.stem}")
    if rivals:
        advice = "Claude Code does not connect by itself when several match: choose with /ide."
        return Check(name, "warning", ", ".join(sorted(rivals)), advice)
    return Check(name, "good", "this bridge is the only one")


def _check_environment(environ: Mapping[str, str], home: Path, lock_folder: Path | None) -> Check:
    """`lock_folder` is where the running bridge writes its lock: its own variables may differ from these."""
    name = "environment"
    if environ.get("CLAUDE_CODE_SSE_PORT"):
        found = f"CLAUDE_CODE_SSE_PORT={environ['CLAUDE_CODE_SSE_PORT']} makes clients use only that port"
        return Check(name, "warning", found, "Unset it where Claude Code is started, or set it to this port.")
    chosen = environ.get("CLAUDE_CONFIG_DIR")
    if chosen and not Path(chosen).is_absolute():
        advice = "Give an absolute path: the server and the client may run in different folders."
        return Check(name, "warning", "CLAUDE_CONFIG_DIR is a relative path", advice)
    expected = list_lock_folders(environ, home)[0]
    if lock_folder is not None and os.path.realpath(lock_folder) != os.path.realpath(expected):
        # Some releases look in the home folder too, whatever the variable says.
        newest = map(os.path.realpath, list_scanned_folders(environ, home, older=False))
        status: CheckStatus = "warning" if os.path.realpath(lock_folder) in newest else "bad"
        here = f"CLAUDE_CONFIG_DIR={chosen}" if chosen else "CLAUDE_CONFIG_DIR is not set"
        found = (
            f"here {here}, so Claude Code looks in {expected}; the bridge writes its lock in {lock_folder}"
        )
        advice = "Start `vaultbridge serve` with the CLAUDE_CONFIG_DIR that Claude Code has."
        return Check(name, status, found, advice)
    where = f"CLAUDE_CONFIG_DIR={chosen}" if chosen else "no CLAUDE_CONFIG_DIR: ~/.claude is used"
    return Check(name, "good", where)


def _check_working_folder(working: Path, vault: Path) -> Check:
    name = "Claude Code's working directory"
    here, real = _normalize(os.path.realpath(working)), _normalize(os.path.realpath(vault))
    if here == real or here.startswith(real.rstrip("/") + "/"):
        return Check(name, "good", "inside the vault")
    advice = "Start Claude Code in the vault, or set CLAUDE_CODE_SSE_PORT to the bridge's port."
    return Check(name, "warning", "outside the vault: /ide does not list the bridge there", advice)


def _normalize(path: str) -> str:
    return unicodedata.normalize("NFC", path)
