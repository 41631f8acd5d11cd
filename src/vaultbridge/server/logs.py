"""Logs of a server: one line per event on standard error, without anything private.

Tokens, query strings, arguments of tools and paths of this machine are never logged, because logs are pasted
into bug reports. A failure is logged with its kind and its places in the source, without a traceback.
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

FRAMES: Final = 4
"""How many places in the source are named, innermost first: enough to find the cause."""

MESSAGE_CHARS: Final = 300
"""How much of an error's own text is logged: the beginning says what is wrong."""

_FOLDERS: Final = re.compile(
    r"(?<=['\"])(?:[A-Za-z]:)?[/\\][^'\"]*[/\\]|(?:(?<![\w.])[A-Za-z]:|(?<![\w.:/\\]))[/\\](?:[^/\\\s'\"]+[/\\])+"
)
"""The folders of an absolute path, before the last name. They may contain spaces only between quotes."""

log = logging.getLogger("vaultbridge")


def start_logging(level: LogLevel) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S"))
    logging.getLogger().handlers[:] = [handler]
    # Libraries log at most their warnings, whatever our own level is.
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("aiohttp.server").addFilter(_hide_peer_faults)
    threading.excepthook = _log_thread_failure
    set_level(level)


def set_level(level: LogLevel) -> None:
    log.setLevel(LEVELS[level])


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record).replace("\n", " | ")
        # Our own messages contain no paths. A library's message about a task, say, names its file.
        return line if record.name.startswith(log.name) else _FOLDERS.sub("", line)

    def formatException(self, info: object) -> str:
        return _describe(info[1]) if isinstance(info, tuple) else ""

    def formatStack(self, stack_info: str) -> str:
        return ""


def _describe(error: BaseException | None) -> str:
    """Describe the error and where it came from: `KeyError: 'x' (engine/engine.py:12, tools/links.py:40)`."""
    if error is None:
        return ""
    text = _FOLDERS.sub("", " ".join(str(error)[: 4 * MESSAGE_CHARS].split()))[:MESSAGE_CHARS]
    places = ", ".join(_list_frames(error.__traceback__))
    return f"{type(error).__name__}{f': {text}' if text else ''}{f' ({places})' if places else ''}"


def _list_frames(trace: TracebackType | None) -> list[str]:
    frames: list[str] = []
    while trace is not None:
        parts = trace.tb_frame.f_code.co_filename.replace("\\", "/").split("/")
        frames.append(f"{'/'.join(parts[-2:])}:{trace.tb_lineno}")
        trace = trace.tb_next
    return frames[: -FRAMES - 1 : -1]


def _hide_peer_faults(record: logging.LogRecord) -> bool:
    """Drop the record when the caller sent something that is not HTTP, or disconnected: that is not our
    failure, and its bytes may contain a secret."""
    error = record.exc_info[1] if record.exc_info else None
    kind = type(error)
    theirs = kind.__module__ == "aiohttp.http_exceptions" or kind.__name__ == "RequestPayloadError"
    if not theirs and not isinstance(error, ConnectionError):
        return True
    log.debug("A caller sent an invalid or incomplete request (%s)", kind.__name__)
    return False


def _log_thread_failure(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread is not None else "gone"
    log.error("the thread %s failed", name, exc_info=failed.exc_value)
