"""Installs, finds and removes the service on this system.

service = find_service(environ)               # None if none is installed
install(service, environ)                     # or replaces the one that is
remove(environ)                               # leaves nothing behind
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from vaultbridge import event_loop
from vaultbridge.errors import EngineFailure
from vaultbridge.protocols.editor.endpoint_file import Endpoint, list_running
from vaultbridge.server.config.model import Config
from vaultbridge.server.other_bridges import OtherBridge, is_answering, replace_temporary
from vaultbridge.server.presence import DEFAULT_PORT
from vaultbridge.server.service.definition import HOST, Service, ServiceKind
from vaultbridge.server.service.launchd import Launchd
from vaultbridge.server.service.systemd import Systemd
from vaultbridge.server.service.task_scheduler import TaskScheduler
from vaultbridge.system import read_private, write_private
from vaultbridge.vault.folders import find_bases

COMMAND_SECONDS: Final = 30.0
"""How long a command of the system may take; each only passes a message on."""

ANSWER_SECONDS: Final = 30.0
"""How long the bridge may take until it answers, right after login on a busy machine."""

POLL_SECONDS: Final = 0.1
"""How often we look whether it answers: a person waits."""

WITHOUT_SYSTEMD: Final = (
    "`vaultbridge page` starts a bridge whenever you want the page. To have one running always, let whatever "
    "starts your programs run: {command}"
)
WSL_HINT: Final = " In WSL, write `[boot]` and `systemd=true` into /etc/wsl.conf, and restart it."


def find_kind(platform: str = sys.platform) -> ServiceKind:
    if platform == "win32":
        return TaskScheduler()
    return Launchd() if platform == "darwin" else Systemd()


def find_service(environ: Mapping[str, str], kind: ServiceKind | None = None) -> Service | None:
    """The service that is installed; None without one, or if its definition is not one of ours."""
    kind = kind or find_kind()
    data = read_private(kind.find_file(environ))
    return kind.parse(data) if data is not None else None


def choose_port(environ: Mapping[str, str], config: Config, installed: Service | None) -> int:
    """A port that will stay: that of the service that is installed, the configured one, that of a bridge
    which `vaultbridge page` has started and which makes way, so that an open page stays connected, or one
    that is free now."""
    if installed is not None:
        return installed.port
    if config.server.port:
        return config.server.port
    running = list_running(find_bases(environ).cache)
    if temporary := next((known.port for known in running if known.temporary), 0):
        return temporary
    return DEFAULT_PORT if is_free(DEFAULT_PORT) else _find_free_port()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does: a port that was used a moment ago is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name != "nt"))
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def end_temporary(environ: Mapping[str, str]) -> list[Endpoint]:
    """End the bridges that `vaultbridge page` has started; returns the others that run."""
    return event_loop.run(_end_temporary(list(list_running(find_bases(environ).cache))))


async def _end_temporary(named: Iterable[Endpoint]) -> list[Endpoint]:
    running = [known for known in named if await is_answering(known)]
    await replace_temporary(
        [OtherBridge("", known.host, known.port, known.pid, known.temporary) for known in running]
    )
    return [known for known in running if not known.temporary]


def check_system(service: Service, kind: ServiceKind) -> None:
    """Raises EngineFailure when this system cannot run a service, which says what works instead."""
    if not isinstance(kind, Systemd):
        return
    try:
        _run(["systemctl", "--user", "show", "--property=Version"])
    except EngineFailure:
        hint = WITHOUT_SYSTEMD.format(command=shlex.join(service.command))
        in_wsl = "microsoft" in platform.release().lower()
        raise EngineFailure(
            "systemd is not running for your user here: containers have none, nor has WSL without it.",
            hint=hint + (WSL_HINT if in_wsl else ""),
        ) from None


def install(service: Service, environ: Mapping[str, str], kind: ServiceKind | None = None) -> Path:
    """Write the definition, start the service and wait until it answers; returns the file. Raises
    EngineFailure. A service that cannot even be started leaves nothing behind."""
    kind = kind or find_kind()
    check_system(service, kind)
    file = kind.find_file(environ)
    before = read_private(file)
    if before is not None:
        _run_each(kind.list_ending(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, kind.render(service))
    except OSError as error:
        raise EngineFailure(f"{file} cannot be written: {os.strerror(error.errno or 0)}.") from error
    try:
        for command in kind.list_starting(file):
            _run(command)
    except EngineFailure:
        remove(environ, kind)
        raise
    if not wait_for_answer(service):
        raise EngineFailure(
            f"The service is installed, but not responding at {service.url}.",
            hint=f"Its log: {kind.explain_log(environ)}",
        )
    return file


def remove(environ: Mapping[str, str], kind: ServiceKind | None = None) -> bool:
    """End the service and forget it; returns whether there was one."""
    kind = kind or find_kind()
    file = kind.find_file(environ)
    if not file.exists():
        return False
    _run_each(kind.list_ending(file))
    try:
        file.unlink()
    except OSError as error:
        raise EngineFailure(f"{file} cannot be removed: {os.strerror(error.errno or 0)}.") from error
    _run_each(kind.list_forgetting())
    if isinstance(kind, Systemd):
        # The folders that were made for it; one that contains anything stays.
        for folder in (file.parent / "default.target.wants", file.parent, file.parent.parent):
            with contextlib.suppress(OSError):
                folder.rmdir()
    return True


def answers(service: Service) -> bool:
    """Whether a bridge listens on the service's port."""
    try:
        with urllib.request.urlopen(f"{service.url}/bridge/v1/health", timeout=COMMAND_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False


def wait_for_answer(service: Service) -> bool:
    deadline = time.monotonic() + ANSWER_SECONDS
    while not answers(service):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _run_each(commands: Sequence[list[str]]) -> None:
    """Run commands that may fail, because what they end may not run."""
    for command in commands:
        with contextlib.suppress(EngineFailure):
            _run(command)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it takes too long"
        raise EngineFailure(f"{command[0]} cannot be run: {why}.") from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[:300]
        raise EngineFailure(f"`{shlex.join(command)}` failed: {said or f'exit code {done.returncode}'}")
