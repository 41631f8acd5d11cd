"""`vaultbridge companion install|remove|status VAULT`: manages our Obsidian plugin in a vault.

It writes `.obsidian/plugins/vaultbridge/` and, when asked to enable or remove, our own entry in the list of
enabled plugins. It never enables the plugin unless asked, and leaves alone any folder or list that is not
what it expects. The plugin keeps no settings there: docs/companion.md.

Obsidian loads one script, so `plugin_files` joins the plugin's parts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from typing import Any, Final

import vaultbridge
from vaultbridge import __version__
from vaultbridge.cli.common import OK, ask_bridge, emit, find_root, name_command, remark, run, say
from vaultbridge.cli.parser import Parser
from vaultbridge.errors import EditRefused, EngineFailure, InvalidArgument, VaultbridgeError

PARTS: Final = (
    "head",
    "text",
    "dom",
    "discovery",
    "connection",
    "reports",
    "requests",
    "proposals",
    "diff",
    "change",
    "decided",
    "activity",
    "review",
    "status",
    "plugin",
)
"""In the order of their dependencies."""


def plugin_files() -> dict[str, bytes]:
    """Return the files by name, in the order of writing: with a manifest, the app takes the folder for a
    plugin."""
    folder = Path(vaultbridge.__file__).parent / "companion"
    return {
        "main.js": "\n".join((folder / f"{part}.js").read_text("utf-8") for part in PARTS).encode(),
        "styles.css": (folder / "styles.css").read_bytes(),
        "manifest.json": (folder / "manifest.json").read_bytes(),
    }


def release_files() -> dict[str, bytes]:
    """Return what a release offers for download: the installed files, and the app's version that each version
    of ours needs."""
    versions = Path(vaultbridge.__file__).parent / "companion" / "versions.json"
    return plugin_files() | {"versions.json": versions.read_bytes()}


PLUGIN_ID: Final = "vaultbridge"

SETTINGS_FILE_BYTES: Final = 2**20
"""The most that we read of a manifest or a list of plugins: they take a few kilobytes."""

HOW_TO_ENABLE: Final = "Enable it in Obsidian: Settings, Community plugins, “vaultbridge companion”."


def main(argv: list[str]) -> int:
    parser = Parser(
        "companion",
        "Manage the Obsidian plugin, which shows assistants what is open and lets you review changes.",
    )
    parser.add_argument(
        "action",
        metavar="install|status|remove",
        choices=("install", "status", "remove"),
        help="what to do in this vault",
    )
    parser.add_vault()
    parser.add_argument("--enable", action="store_true", help="with install: enable it as well")
    # For the bridge itself, which knows who is connected to it.
    parser.add_argument("--without-bridge", action="store_true", help=argparse.SUPPRESS)
    return run(parser, argv, _run_action)


def _run_action(args: argparse.Namespace) -> int:
    from vaultbridge.vault.identity.record import CONFIG_FOLDER

    if args.enable and args.action != "install":
        raise InvalidArgument(f"--enable does not work with {args.action}.", argument="usage")
    root = find_root(args.vault)
    # The settings of an empty mount point, or of another vault, are not this vault's.
    root.check()
    config = root.folder / CONFIG_FOLDER
    if not config.is_dir():
        raise EditRefused(
            "This folder has not been opened in Obsidian yet.",
            hint="Open it there once as a vault, then try again.",
        )
    actions = {"install": _install, "remove": _remove, "status": _show_status}
    return actions[args.action](args, config)


def _install(args: argparse.Namespace, config: Path) -> int:
    folder = _find_folder(config)
    enabled = _read_enabled(config) if args.enable else _try_read_enabled(config)
    was = _read_version(folder)
    for name, data in plugin_files().items():
        _write_file(folder / name, data)
    version = _read_version(folder)
    if args.enable and enabled is not None and PLUGIN_ID not in enabled:
        enabled = [*enabled, PLUGIN_ID]
        _write_enabled(config, enabled)
    on = enabled is not None and PLUGIN_ID in enabled
    if args.json:
        emit({"installed": True, "version": version, "was": was, "enabled": on})
        return OK
    say(
        f"Installed the companion {version}."
        if was in (None, version)
        else f"Updated the companion from {was} to {version}."
    )
    remark(
        "It is enabled: restart Obsidian, or disable and enable it there, to start this version."
        if on
        else HOW_TO_ENABLE
    )
    return OK


def _remove(args: argparse.Namespace, config: Path) -> int:
    folder = _find_folder(config)
    was = _read_version(folder)
    enabled = _try_read_enabled(config)
    if enabled is not None and PLUGIN_ID in enabled:
        _write_enabled(config, [name for name in enabled if name != PLUGIN_ID])
    # The manifest first: without it, the rest is not a plugin.
    for name in reversed(plugin_files()):
        (folder / name).unlink(missing_ok=True)
    kept = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if folder.is_dir() and not kept:
        folder.rmdir()
        with contextlib.suppress(OSError):  # other plugins are in it
            folder.parent.rmdir()
    if args.json:
        emit({"removed": was is not None, "was": was, "kept": kept})
        return OK
    say("The companion was not installed." if was is None else f"Removed the companion {was}.")
    if kept:
        say(f"Left in its folder, because they are not vaultbridge's: {', '.join(kept)}.")
    return OK


def read_state(vault: Path) -> dict[str, Any] | None:
    """What is installed in this vault; None if Obsidian never opened it. Raises VaultbridgeError."""
    from vaultbridge.vault.identity.record import CONFIG_FOLDER

    config = vault / CONFIG_FOLDER
    if not config.is_dir():
        return None
    folder = _find_folder(config)
    enabled = _try_read_enabled(config)
    return {
        "installed": _read_version(folder) is not None,
        "version": _read_version(folder),
        "available": __version__,
        "current": all(_read_bytes(folder / name) == data for name, data in plugin_files().items()),
        "enabled": enabled is not None and PLUGIN_ID in enabled,
    }


def _show_status(args: argparse.Namespace, config: Path) -> int:
    connected = not args.without_bridge and _is_connected(args.vault)
    found = {**(read_state(config.parent) or {}), "connected": connected}
    if args.json:
        emit(found)
        return OK
    if not found["installed"]:
        remark(f"The companion is not installed. `{name_command(args, 'companion install')}` installs it.")
        return OK
    say(f"The companion {found['version']} is installed.")
    if not found["current"]:
        remark(
            f"This vaultbridge comes with version {found['available']}."
            f" To update: {name_command(args, 'companion install')}"
        )
    if not found["enabled"]:
        remark(HOW_TO_ENABLE)
    say("It is connected." if found["connected"] else "It is not connected to a bridge at the moment.")
    return OK


def _find_folder(config: Path) -> Path:
    """Find the plugin's folder, which may not exist. Raises EditRefused if something else is there."""
    folder = config / "plugins" / PLUGIN_ID
    if folder.is_symlink():
        raise EditRefused(
            f"The plugin's folder ({PLUGIN_ID}) is a link.",
            hint="Remove the link first.",
        )
    if folder.exists() and not folder.is_dir():
        raise EditRefused(f"{PLUGIN_ID} in the plugins' folder is not a folder.", hint="Move it away first.")
    manifest = _read_manifest(folder)
    if manifest is not None and manifest.get("id") != PLUGIN_ID:
        raise EditRefused(
            f"The folder {PLUGIN_ID} contains another plugin: {manifest.get('id')!r}.",
            hint="Move it away first.",
        )
    return folder


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest; None when there is none. Raises EditRefused when it is invalid."""
    data = _read_bytes(folder / "manifest.json")
    if data is None:
        return None
    read = _read_json(data)
    if not isinstance(read, dict):
        raise EditRefused(f"The manifest of {PLUGIN_ID} is not a JSON object.", hint="Delete the folder.")
    return read


def _read_version(folder: Path) -> str | None:
    manifest = _read_manifest(folder)
    return None if manifest is None else str(manifest.get("version", "without a version"))


def _read_enabled(config: Path) -> list[str]:
    """Obsidian's list of plugins that are switched on. Raises EditRefused when it is not such a list."""
    data = _read_bytes(config / "community-plugins.json")
    read = [] if data is None else _read_json(data)
    if not isinstance(read, list) or not all(isinstance(name, str) for name in read):
        raise EditRefused(
            "community-plugins.json is not the list of names that Obsidian writes.",
            hint="Nothing was changed. Install without --enable, and enable it in Obsidian.",
        )
    return read


def _try_read_enabled(config: Path) -> list[str] | None:
    with contextlib.suppress(EditRefused):
        return _read_enabled(config)
    return None


def _write_enabled(config: Path, names: list[str]) -> None:
    """Write the list as the app does; if the file is a link, write to its target."""
    place = Path(os.path.realpath(config / "community-plugins.json"))
    if not names:
        # As in a vault that never had a plugin.
        place.unlink(missing_ok=True)
        return
    _write_file(place, json.dumps(names, indent=2, ensure_ascii=False).encode())


def _is_connected(vault: str) -> bool:
    """Whether an app is connected to the bridge that serves this vault."""
    from vaultbridge.editor.state import OBSIDIAN, WORKSPACE

    try:
        editors = ask_bridge(vault, "status", {})["editors"]
    except VaultbridgeError:
        return False
    return any(editor["app"] == OBSIDIAN and editor["name"] != WORKSPACE for editor in editors)


def _read_bytes(file: Path) -> bytes | None:
    try:
        with file.open("rb") as opened:
            return opened.read(SETTINGS_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineFailure(f"{file.name} cannot be read: {error.strerror}.") from error


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _write_file(file: Path, data: bytes) -> None:
    """Replace `file` in one step. Raises EngineFailure and leaves nothing behind."""
    from vaultbridge.vault.write.replace import publish_over, stage, temporary_name

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # People share their settings between vaults by a link.
        file = file.parent.resolve() / file.name
        temporary = file.with_name(temporary_name())
        try:
            stage(temporary, data, like=file if file.exists() else None)
            publish_over(temporary, file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise EngineFailure(f"{file.name} cannot be written: {error.strerror}.") from error
