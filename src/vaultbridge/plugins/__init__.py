'''Write your own tools: the public API for plugin files and packages.

    from vaultbridge.plugins import Engine, tool

    @tool(effect="reads")
    def word_count(vault: Engine, note: str) -> str:
        """Count the words of a note."""
        return f"{len(vault.view(note).text.split())} words"

Everything a plugin may rely on is named in `__all__`; the modules of this package, and every other package,
may change without notice. docs/plugins.md explains each name. Names are imported on first use, so that
loading a plugin costs no more than what it uses.'''

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vaultbridge.engine import Engine, operations
    from vaultbridge.errors import (
        AmbiguousName,
        AssistantPaused,
        ChangeRejected,
        EditRefused,
        EngineFailure,
        InvalidArgument,
        InvalidPath,
        InvalidQuery,
        NoteBusy,
        NoteNotFound,
        NotFound,
        ObsidianNotRunning,
        PermissionDenied,
        StaleWrite,
        TimedOut,
        VaultbridgeError,
        VaultNotFound,
    )
    from vaultbridge.plugins.decorator import tool
    from vaultbridge.tools.base.answer import Answer, FilePart, ImagePart, TextPart
    from vaultbridge.tools.base.tool import Effect, ToolContext

__all__ = [
    "AmbiguousName",
    "Answer",
    "AssistantPaused",
    "ChangeRejected",
    "EditRefused",
    "Effect",
    "Engine",
    "EngineFailure",
    "FilePart",
    "ImagePart",
    "InvalidArgument",
    "InvalidPath",
    "InvalidQuery",
    "NotFound",
    "NoteBusy",
    "NoteNotFound",
    "ObsidianNotRunning",
    "PermissionDenied",
    "StaleWrite",
    "TextPart",
    "TimedOut",
    "ToolContext",
    "VaultNotFound",
    "VaultbridgeError",
    "operations",
    "tool",
]

_ORIGINS: Final = {
    "Answer": "vaultbridge.tools.base.answer",
    "Effect": "vaultbridge.tools.base.tool",
    "Engine": "vaultbridge.engine",
    "FilePart": "vaultbridge.tools.base.answer",
    "ImagePart": "vaultbridge.tools.base.answer",
    "TextPart": "vaultbridge.tools.base.answer",
    "ToolContext": "vaultbridge.tools.base.tool",
    "tool": "vaultbridge.plugins.decorator",
}
"""Where a public name is defined. The errors, which are all the others, are in one module."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "operations":
        return import_module("vaultbridge.engine.operations")
    return getattr(import_module(_ORIGINS.get(name, "vaultbridge.errors")), name)


def __dir__() -> list[str]:
    return __all__
