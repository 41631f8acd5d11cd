"""A launch agent of macOS (launchd.plist(5), launchctl(1))."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError

from vaultbridge.server.service.definition import Service, read_command
from vaultbridge.system import find_home

LABEL: Final = "vaultbridge.serve"

RETRY_SECONDS: Final = 10
"""How long launchd waits before it starts a bridge that has failed again; its own default."""


class Launchd:
    name = "launchd"

    def find_file(self, environ: Mapping[str, str]) -> Path:
        return find_home(environ) / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def render(self, service: Service) -> bytes:
        log = str(_find_log({}))
        return plistlib.dumps(
            {
                "Label": LABEL,
                "ProgramArguments": list(service.command),
                "EnvironmentVariables": dict(service.environ),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": RETRY_SECONDS,
                "StandardOutPath": log,
                "StandardErrorPath": log,
            },
            sort_keys=False,
        )

    def parse(self, data: bytes) -> Service | None:
        try:
            described = plistlib.loads(data)
            words = [str(word) for word in described["ProgramArguments"]]
            return read_command(words, list(described.get("EnvironmentVariables", {}).items()))
        except (plistlib.InvalidFileException, ExpatError, KeyError, TypeError, ValueError):
            return None

    def list_starting(self, file: Path) -> list[list[str]]:
        return [["launchctl", "bootstrap", _find_domain(), str(file)]]

    def list_ending(self, file: Path) -> list[list[str]]:
        return [["launchctl", "bootout", f"{_find_domain()}/{LABEL}"]]

    def list_forgetting(self) -> list[list[str]]:
        return []

    def explain_log(self, environ: Mapping[str, str]) -> str:
        return f"tail -n 20 {_find_log(environ)}"


def _find_domain() -> str:
    return f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"


def _find_log(environ: Mapping[str, str]) -> Path:
    return find_home(environ, platform="darwin") / "Library" / "Logs" / "vaultbridge.log"
