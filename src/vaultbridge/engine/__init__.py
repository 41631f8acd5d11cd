"""The object that tools and commands work with, and the operations it carries out.

Both engines are imported when they are first used, because they need the other modules of this package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaultbridge.engine.direct import DirectEngine
    from vaultbridge.engine.engine import Engine

__all__ = ["DirectEngine", "Engine"]


def __getattr__(name: str) -> Any:
    if name == "Engine":
        from vaultbridge.engine.engine import Engine

        return Engine
    if name == "DirectEngine":
        from vaultbridge.engine.direct import DirectEngine

        return DirectEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
