"""Tools of your own: the public API for plugin files and packages.

    from vaultbridge.plugins import tool

`docs/plugins.md` shows its use. Names are imported when first used, so that a plugin file loads quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaultbridge.plugins.decorator import tool

__all__ = ["tool"]


def __getattr__(name: str) -> Any:
    if name == "tool":
        from vaultbridge.plugins.decorator import tool

        return tool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
