"""Runs a command's coroutine in an event loop of its own."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, except that Ctrl+C ends the process at once while the loop is being made. With an
    exception, half a loop would be left, which prints a traceback when it is collected. From then on asyncio
    handles it, by cancelling `main`."""
    runner = asyncio.Runner()
    with _end_at_interrupt():
        runner.get_loop()
    with runner:
        return runner.run(main)


@contextmanager
def _end_at_interrupt() -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # only the main thread may change it; and what is ignored, as under `nohup`, stays ignored
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
