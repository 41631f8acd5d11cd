"""The one object that tools and commands hold, and the operations it carries out."""

from vaultbridge.engine.engine import Engine

__all__ = ["Engine"]
