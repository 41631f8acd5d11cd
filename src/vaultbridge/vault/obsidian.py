"""Reads the state of the Obsidian app on this machine from its files: its vaults, whether it is running, and
its open tabs.

It is running if its single-instance lock belongs to a live process or the socket of its command line accepts;
neither outlives the app. The list of vaults does not show it, because a vault stays marked as open after
quitting. The tabs come from `workspace.json`, the only source when no plugin reports them. The app writes it
about a second after tabs change, never when only the cursor moves, and it keeps what was open when the app
quit. This module never writes to any of these files.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import JSON_ERRORS, AmbiguousName, InvalidPath, VaultNotFound
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import name_key
from vaultbridge.system import expand_home, find_home, find_xdg_folder, is_process_alive, read_ordinary
from vaultbridge.vault.paths import VaultFolder, VaultPath, vault_path

KNOWN_BYTES: Final = MIB
"""The largest list of vaults that is read: it has room for thousands."""

_LIST: Final = "obsidian.json"


class KnownVault(Struct, frozen=True):
    """`opened` is when it was last opened, in seconds. `open` stays set after quitting, so it does not prove
    that the app runs (`is_obsidian_running` finds that out)."""

    id: str
    name: str
    folder: Path
    opened: float
    open: bool

    @property
    def is_there(self) -> bool:
        """Whether its folder exists. Unlike Path.is_dir, this raises for no entry of the list, however long
        or closed to us its path is: one bad entry must not keep the others from being used."""
        return os.path.isdir(self.folder)  # noqa: PTH112 - text


def list_app_folders(environ: Mapping[str, str], *, platform: str = sys.platform) -> tuple[Path, ...]:
    """The folders where the app may keep its own files on this system, the usual one first."""
    home = find_home(environ, platform=platform)
    if platform == "darwin":
        return (home / "Library" / "Application Support" / "obsidian",)
    if platform == "win32":
        return (Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "obsidian",)
    return (
        find_xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config") / "obsidian",
        home / ".var" / "app" / "md.obsidian.Obsidian" / "config" / "obsidian",
        home / "snap" / "obsidian" / "current" / ".config" / "obsidian",
    )


def list_known_vaults(
    environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> tuple[KnownVault, ...]:
    """Every vault in the app's list, the last opened first. A missing or broken list counts as empty. A vault
    whose folder is gone is still listed."""
    found: dict[Path, KnownVault] = {}
    for folder in list_app_folders(environ, platform=platform):
        for vault in _read_list(folder / _LIST):
            found.setdefault(vault.folder, vault)
    return tuple(sorted(found.values(), key=lambda vault: (-vault.opened, vault.name)))


def _read_list(file: Path) -> Iterable[KnownVault]:
    try:
        data = msgspec.json.decode(read_ordinary(file, KNOWN_BYTES))
    except (OSError, *JSON_ERRORS):
        return
    vaults = data.get("vaults") if isinstance(data, dict) else None
    for number, entry in (vaults if isinstance(vaults, dict) else {}).items():
        if isinstance(entry, dict) and isinstance(entry.get("path"), str) and entry["path"]:
            yield _parse_vault(str(number), entry)


def _parse_vault(number: str, entry: dict[str, Any]) -> KnownVault:
    folder = Path(entry["path"])
    stamp = entry.get("ts")
    opened = stamp / 1000 if isinstance(stamp, (int, float)) and not isinstance(stamp, bool) else 0.0
    name = unicodedata.normalize("NFC", folder.name)
    return KnownVault(number, name, folder, opened, entry.get("open") is True)


def find_vault(
    text: str,
    *,
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> Path:
    """The folder of the vault that a person named by its path or by its name in Obsidian.

    An existing folder takes precedence over a name. Raises `VaultNotFound`, which lists the known vaults, or
    `AmbiguousName` when several known vaults have the name.
    """
    place = expand_home(text) if text else None
    if place is not None and place.is_dir():
        return place
    known = list_known_vaults(environ, platform=platform)
    named = [vault for vault in known if text in (vault.id, vault.name)]
    named = named or [vault for vault in known if name_key(vault.name) == name_key(text)]
    named = [vault for vault in named if vault.is_there] or named
    if len(named) > 1:
        raise AmbiguousName(text, tuple(f"{vault.name} (id {vault.id})" for vault in named))
    if named and named[0].is_there:
        return named[0].folder
    if named:
        raise VaultNotFound(f"Obsidian knows the vault {named[0].name!r}, but its folder is missing.")
    hint = f"Known vaults: {_list_names(known)}."
    if not known:
        hint = "Obsidian has no vaults on this machine, so give the path of a folder that exists."
    # Assistants see this error too, and must not learn the folders above a vault.
    name = Path(text).name or text
    if place is not None and place.exists():
        raise VaultNotFound(f"{name!r} is a file, not the folder of a vault.", hint=hint)
    if name != text:
        missing = VaultNotFound(f"There is no folder {name!r} at the path that was given.", hint=hint)
        missing.place = str((place or Path(text)).absolute())
        raise missing
    raise VaultNotFound(f"There is no vault {text!r}.", hint=hint)


def _list_names(known: tuple[KnownVault, ...]) -> str:
    return ", ".join(dict.fromkeys(vault.name for vault in known))


CONNECT_SECONDS: Final = 0.2
"""How long a local socket may take to accept: a live app accepts at once."""


def make_obsidian_link(vault: str, file: str) -> str:
    """The address that opens a file in the app. The app decodes percent signs; `file` may end with a heading
    or block after `#`."""
    from urllib.parse import quote

    return f"obsidian://open?vault={quote(vault, safe='')}&file={quote(file, safe='')}"


def is_obsidian_running(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> bool:
    """Whether the app runs on this machine now. Never raises; False if that is uncertain."""
    folders = list_app_folders(environ, platform=platform)
    if platform == "win32":
        # On Windows the lock is a file that the system deletes when its holder ends.
        return any((folder / "lockfile").exists() for folder in folders)
    if any(_lock_is_live(folder / "SingletonLock") for folder in folders):
        return True
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    return bool(runtime) and _accepts(Path(runtime) / ".obsidian-cli.sock")


def _lock_is_live(lock: Path) -> bool:
    """The lock is a dangling link whose target is `host-pid`."""
    try:
        host, _, number = str(lock.readlink()).rpartition("-")
    except OSError:
        return False
    import socket  # 2 ms, for which no other command should wait

    if not number.isascii() or not number.isdigit() or host != socket.gethostname():
        return False
    return is_process_alive(int(number))


def _accepts(place: Path) -> bool:
    import socket

    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        return False
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_SECONDS)
        try:
            probe.connect(str(place))
        except OSError:
            return False
    return True


WORKSPACE_FILE: Final = "workspace.json"

WORKSPACE_BYTES: Final = 16 * MIB
"""The largest workspace file that is read; usually it has a few dozen KiB."""

WORKSPACE_NODES: Final = 10_000
"""The most splits, tab groups and tabs that are examined."""

RECENT_FILES: Final = 50
"""The most recent files that are reported; the app itself stores ten."""


class WorkspaceFile(Struct, frozen=True):
    """One tab. `shown` is true for the front tab of its group; `view` is "markdown", "canvas", "pdf" …"""

    path: VaultPath
    view: str
    shown: bool
    pinned: bool


class Workspace(Struct, frozen=True):
    """`recent` is the app's list of recent files, which may include folders, attachments and paths that are
    gone. `problem` says why the file could not be used."""

    active: VaultPath | None = None
    open_files: tuple[WorkspaceFile, ...] = ()
    recent: tuple[VaultPath, ...] = ()
    problem: str = ""


class _Tab(Struct, frozen=True):
    id: str
    file: WorkspaceFile
    in_main: bool


def read_workspace(root: VaultFolder) -> Workspace:
    """Never raises: a missing file is an empty workspace, and so is a broken one, whose `problem` is set."""
    try:
        data = root.read_config(WORKSPACE_FILE, WORKSPACE_BYTES + 1)
    except FileNotFoundError:
        return Workspace()
    except OSError as error:
        return Workspace(problem=f"{WORKSPACE_FILE} cannot be read: {error.strerror}")
    if len(data) > WORKSPACE_BYTES:
        return Workspace(problem=f"{WORKSPACE_FILE} is too large to be read")
    return parse_workspace(data)


def parse_workspace(data: bytes) -> Workspace:
    try:
        tree = msgspec.json.decode(data)
    except JSON_ERRORS as error:
        return Workspace(problem=f"{WORKSPACE_FILE} is not valid JSON: {error}")
    if not isinstance(tree, dict):
        return Workspace(problem=f"{WORKSPACE_FILE} does not contain an object")
    tabs = [
        tab for part in ("main", "floating") for tab in _list_tabs(tree.get(part), in_main=part == "main")
    ]
    listed = tree.get("lastOpenFiles")
    recent = (_parse_path(item) for item in (listed if isinstance(listed, list) else [])[:RECENT_FILES])
    return Workspace(
        _find_active(tree.get("active"), tabs),
        tuple(tab.file for tab in tabs),
        tuple(dict.fromkeys(path for path in recent if path is not None)),
    )


def _find_active(active: Any, tabs: list[_Tab]) -> VaultPath | None:
    """The file of the active leaf. Often that has none, or is in a sidebar; then it is the front tab of the
    main area."""
    for tab in tabs:
        if tab.id and tab.id == active:
            return tab.file.path
    for tab in tabs:
        if tab.in_main and tab.file.shown:
            return tab.file.path
    return None


def _list_tabs(start: Any, *, in_main: bool) -> Iterator[_Tab]:
    """The tabs that show a file, in the order of the window."""
    waiting: list[tuple[Any, bool]] = [(start, True)]
    for _ in range(WORKSPACE_NODES):
        if not waiting:
            return
        node, shown = waiting.pop()
        if not isinstance(node, dict):
            continue
        children = node.get("children")
        if isinstance(children, list):
            front = node.get("currentTab", 0) if node.get("type") == "tabs" else None
            inner = [
                (child, shown and (front is None or front == number)) for number, child in enumerate(children)
            ]
            waiting += reversed(inner)
        elif (tab := _parse_tab(node, shown=shown, in_main=in_main)) is not None:
            yield tab


def _parse_tab(leaf: dict[str, Any], *, shown: bool, in_main: bool) -> _Tab | None:
    view = leaf.get("state")
    state = view.get("state") if isinstance(view, dict) else None
    path = _parse_path(state.get("file")) if isinstance(state, dict) else None
    if path is None or not isinstance(view, dict):
        return None
    kind = view.get("type")
    file = WorkspaceFile(path, kind if isinstance(kind, str) else "", shown, leaf.get("pinned") is True)
    number = leaf.get("id")
    return _Tab(number if isinstance(number, str) else "", file, in_main)


def _parse_path(value: Any) -> VaultPath | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return vault_path(value)
    except InvalidPath:
        return None
