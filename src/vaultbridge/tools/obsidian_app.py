"""The Obsidian app on this machine, told to show a file by its own `obsidian://` addresses."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from vaultbridge.errors import EngineFailure, ObsidianNotRunning
from vaultbridge.vault.obsidian import is_obsidian_running

OPENER_SECONDS: Final = 10.0
"""How long the system's opener may take to hand an address over: it only passes a message."""


class ObsidianApp:
    def __init__(self, environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> None:
        self._environ = environ
        self._platform = platform

    def show(self, vault: str, path: str, subpath: str) -> None:
        """Raises ObsidianNotRunning: an address would start the app, which nobody asked for."""
        if not is_obsidian_running(self._environ, platform=self._platform):
            raise ObsidianNotRunning(
                "Obsidian application is not running. Please start Obsidian and try again."
            )
        address = build_address(vault, path, subpath)
        if self._platform == "win32":
            os.startfile(address)  # type: ignore[attr-defined,unused-ignore]
            return
        self._hand_over("open" if self._platform == "darwin" else "xdg-open", address)

    def _hand_over(self, opener: str, address: str) -> None:
        import subprocess

        try:
            # Nothing of the opener's may reach our own output, which belongs to the protocol.
            ended = subprocess.run(
                [opener, address],
                env=dict(self._environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=OPENER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineFailure(
                f"Obsidian could not be reached: {opener} failed.", hint=f"Is {opener} installed?"
            ) from error
        if ended.returncode:
            raise EngineFailure(f"Obsidian could not be reached: {opener} failed ({ended.returncode}).")


def build_address(vault: str, path: str, subpath: str) -> str:
    """The app decodes percent signs; `file` may carry a heading or block after `#`."""
    return f"obsidian://open?vault={quote(vault, safe='')}&file={quote(path + subpath, safe='')}"
