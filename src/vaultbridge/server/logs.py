"""Logs of a server: one line an event on standard error, and nothing that is anybody's business.

No token, no query string and no argument of a tool is ever logged, and no path of this machine: logs are
pasted into bug reports. What failed is told by its kind and its places in the source, without a traceback.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import TracebackType

    from vaultbridge.server.config.model import LogLevel

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

PLACES: Final = 4
"""How many places in the source are named, the innermost first: enough to find the way."""

MESSAGE_CHARS: Final = 300
"""How much of an error's own text is told: the beginning says what is wrong."""

_FOLDERS: Final = re.compile(
    r"(?<=['\"])(?:[A-Za-z]:)?[/\\][^'\"]*[/\\]|(?:(?<![\w.])[A-Za-z]:|(?<![\w.:/\\]))[/\\](?:[^/\\\s'\"]+[/\\])+"
)
"""The folders of an absolute path, in front of the last name; with blanks in them only between quotes."""

log = logging.getLogger("vaultbridge")


def start_logging(level: LogLevel) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S"))
    logging.getLogger().handlers[:] = [handler]
    # Libraries tell at most their warnings, whatever we tell ourselves.
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("aiohttp.server").addFilter(_no_strangers_words)
    threading.excepthook = _thread_failed
    set_level(level)


def set_level(level: LogLevel) -> None:
    log.setLevel(LEVELS[level])


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record).replace("\n", " | ")
        # Ours are written without; what a library says of a task, say, names the file it comes from.
        return line if record.name.startswith(log.name) else _FOLDERS.sub("", line)

    def formatException(self, info: object) -> str:
        return _described(info[1]) if isinstance(info, tuple) else ""

    def formatStack(self, stack_info: str) -> str:
        return ""


def _described(error: BaseException | None) -> str:
    """The error and where it came from: `KeyError: 'x' (engine/engine.py:12, tools/links.py:40)`."""
    if error is None:
        return ""
    text = _FOLDERS.sub("", " ".join(str(error)[: 4 * MESSAGE_CHARS].split()))[:MESSAGE_CHARS]
    places = ", ".join(_places(error.__traceback__))
    return f"{type(error).__name__}{f': {text}' if text else ''}{f' ({places})' if places else ''}"


def _places(trace: TracebackType | None) -> list[str]:
    found: list[str] = []
    while trace is not None:
        parts = trace.tb_frame.f_code.co_filename.replace("\\", "/").split("/")
        found.append(f"{'/'.join(parts[-2:])}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[: -PLACES - 1 : -1]


def _no_strangers_words(record: logging.LogRecord) -> bool:
    """A caller that sends what is not HTTP, or hangs up, is no failure of ours; its bytes may hold a
    secret."""
    error = record.exc_info[1] if record.exc_info else None
    kind = type(error)
    theirs = kind.__module__ == "aiohttp.http_exceptions" or kind.__name__ == "RequestPayloadError"
    if not theirs and not isinstance(error, ConnectionError):
        return True
    log.debug("What came was not HTTP, or not all of it (%s)", kind.__name__)
    return False


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread is not None else "gone"
    log.error("the thread %s failed", name, exc_info=failed.exc_value)
