"""Puts files into the trash, the desktop's or the vault's own `.trash`, and restores them.

Choosing a place changes nothing; the caller records the choice before it moves anything. Linux follows the
freedesktop.org trash specification, macOS uses the user's `.Trash`. Windows has no trash that a plain rename
can use, so the vault's own is used there, and the result mentions it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Container, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.errors import EngineFailure
from vaultbridge.system import find_xdg_folder, sync_file
from vaultbridge.vault import no_follow
from vaultbridge.vault.paths import NAME_BYTES, VaultFolder

LOCAL_TRASH: Final = ".trash"

_INFO: Final = ".trashinfo"

NAME_ATTEMPTS: Final = 10_000
"""How many numbered names are tried in one trash: no trash contains that many files of one name."""


FALLBACK_NOTICE: Final = "the vault's .trash was used"
"""The end of a notice that says why the system's trash could not be used."""


class TrashFolder(Struct, frozen=True):
    """A chosen place. If there is an `info_place`, `info_text` is written to it first. `fallback` says why
    this is not the requested trash."""

    place: Path
    info_place: Path | None = None
    info_text: str = ""
    fallback: str = ""


class Trash(Struct, frozen=True):
    """The user's trash places, according to the environment."""

    environ: Mapping[str, str]
    platform: str = sys.platform
    user_id: int = os.getuid() if hasattr(os, "getuid") else 0

    def choose(
        self, root: VaultFolder, place: Path, *, system: bool, now: datetime, taken: Container[Path] = ()
    ) -> TrashFolder:
        """A free place in a trash on the same mount as `place`, so that a rename is enough. `taken` are
        places that were chosen but not used yet."""
        local = root.folder / LOCAL_TRASH
        if not system:
            return TrashFolder(_free(local, place.name, taken))
        if self.platform == "win32":
            return _fall_back(local, place, taken, "the recycle bin of Windows cannot be used")
        home = self._home_trash()
        # What is still a link after following them leads to itself.
        if not home.is_symlink() and _same_mount(home, place):
            if self.platform == "darwin":
                return TrashFolder(_free(home, place.name, taken))
            return _with_info(home, place, str(place), now, taken)
        if self.platform == "darwin":
            return _fall_back(local, place, taken, "the vault is on another device than the trash")
        top = _mount_point(place)
        shared = top / ".Trash" / str(self.user_id)
        if _is_safe_shared(top / ".Trash") and _can_hold(shared):
            return _with_info(shared, place, str(place.relative_to(top)), now, taken)
        own = top / f".Trash-{self.user_id}"
        if _can_hold(own) and not own.is_relative_to(root.folder):
            return _with_info(own, place, str(place.relative_to(top)), now, taken)
        return _fall_back(local, place, taken, "no trash can be used on the vault's device")

    def _home_trash(self) -> Path:
        home = Path(self.environ.get("HOME") or Path.home())
        if self.platform == "darwin":
            return Path(no_follow.real_path(home / ".Trash"))
        data = find_xdg_folder(self.environ, "XDG_DATA_HOME", home / ".local" / "share")
        # People may link such folders to another place: links are followed, once.
        return Path(no_follow.real_path(data / "Trash"))


def _fall_back(local: Path, place: Path, taken: Container[Path], why: str) -> TrashFolder:
    return TrashFolder(_free(local, place.name, taken), fallback=f"{why}; {FALLBACK_NOTICE}")


def _with_info(can: Path, place: Path, recorded: str, now: datetime, taken: Container[Path]) -> TrashFolder:
    """The specification: files in `files`, for each a `.trashinfo` of the same name in `info`."""
    from urllib.parse import quote

    info = can / "info"
    chosen = _free(can / "files", place.name, taken, info=info)
    when = now.strftime("%Y-%m-%dT%H:%M:%S")
    text = f"[Trash Info]\nPath={quote(os.fsencode(recorded), safe='/')}\nDeletionDate={when}\n"
    return TrashFolder(chosen, info / f"{chosen.name}{_INFO}", text)


def _free(folder: Path, name: str, taken: Container[Path], *, info: Path | None = None) -> Path:
    """The name itself, or with ` 2`, ` 3` … before its extension, shortened when it would be too long for the
    file or for its info file."""
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    longest = NAME_BYTES - (len(_INFO) if info is not None else 0)
    candidate = _cut(stem, dot + extension, longest)
    for number in range(2, NAME_ATTEMPTS):
        place = folder / candidate
        described = info is not None and os.path.lexists(info / f"{candidate}{_INFO}")
        if not described and place not in taken and not os.path.lexists(place):
            return place
        candidate = _cut(stem, f" {number}{dot}{extension}", longest)
    raise EngineFailure(f"The trash holds too many files named {name}.", hint="Empty the trash.")


def _cut(stem: str, ending: str, longest: int) -> str:
    """`stem` and `ending` in at most `longest` bytes. Only the stem is cut, between two characters."""
    room = longest - len(os.fsencode(ending))
    kept = os.fsencode(stem)
    return (stem if len(kept) <= room else kept[: max(1, room)].decode("utf-8", "ignore")) + ending


def move_to_trash(place: Path, bin_place: Path, info_place: Path | None, info_text: str) -> None:
    """Moves a file to the chosen place. The info file is created first and must be new: that is how the
    specification makes two programs choose different names."""
    for folder in (bin_place.parent, info_place.parent if info_place else None):
        if folder is not None:
            no_follow.make_folder(folder, 0o700)
    if info_place is not None:
        handle = no_follow.create_file(info_place, 0o666)
        try:
            os.write(handle, info_text.encode("ascii"))
            sync_file(handle)
        finally:
            os.close(handle)
    no_follow.rename_new(place, bin_place)


def restore_from_trash(place: Path, bin_place: Path, info_place: Path | None) -> None:
    """Moves a file back from the trash. Raises `FileExistsError` when its name is taken."""
    no_follow.make_folder(place.parent)
    no_follow.rename_new(bin_place, place)
    if info_place is not None:
        no_follow.remove(info_place, missing_ok=True)


def _nearest(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _same_mount(can: Path, place: Path) -> bool:
    nearest = _nearest(can)
    return _find_mount(nearest) == _find_mount(_nearest(place.parent)) and os.access(
        nearest, os.W_OK | os.X_OK
    )


def _mount_point(place: Path) -> Path:
    # Its folder may be one that the same change makes.
    here = _nearest(place.parent)
    mount = _find_mount(here)
    while here != here.parent and _find_mount(here.parent) == mount:
        here = here.parent
    return here


def _find_mount(folder: Path) -> tuple[int, str]:
    """Identifies what a rename cannot leave: the device and, where the system says it, the mount. Two folders
    of one device may be mounted separately, as in a container."""
    device = folder.stat().st_dev
    if sys.platform != "linux":
        return device, ""
    try:
        handle = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return device, ""
    try:
        about = Path(f"/proc/self/fdinfo/{handle}").read_text("ascii")
    except OSError:
        return device, ""
    finally:
        os.close(handle)
    return device, next((line for line in about.splitlines() if line.startswith("mnt_id:")), "")


def _is_safe_shared(folder: Path) -> bool:
    """The specification: it must be a real folder with the sticky bit, or it must not be used."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _can_hold(folder: Path) -> bool:
    if folder.is_symlink():
        return False
    return os.access(_nearest(folder), os.W_OK | os.X_OK)
