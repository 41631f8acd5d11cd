"""Logs of a server: one line an event on standard error, and nothing that is anybody's business.

No token, no query string and no argument of a tool is ever logged; tracebacks stay here and never reach a
peer.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vaultbridge.app.config import LogLevel

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def start_logging(level: LogLevel) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S"))
    logging.getLogger().handlers[:] = [handler]
    # Libraries tell at most their warnings, whatever we tell ourselves.
    logging.getLogger().setLevel(logging.WARNING)
    set_level(level)


def set_level(level: LogLevel) -> None:
    logging.getLogger("vaultbridge").setLevel(LEVELS[level])
