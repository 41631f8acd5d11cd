"""Threads for work that blocks, beside an event loop: the engine's calls.

A few threads take jobs in order. Who waits for a job may stop waiting (its time is over, the client
cancelled): a job that has not begun is then dropped, and one that has is left to end by itself while another
thread takes the place of its own, so that a stuck file system cannot use the threads up. All are daemons: a
process that ends waits for none of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

THREADS: Final = 4
"""Jobs worked on at once. The engine waits for disks and locks, not for processors: more threads would only
wait together."""

MOST_THREADS: Final = 32
"""All threads, those left behind included. When so many are stuck, new work waits for them."""

T = TypeVar("T")


class _Job(Generic[T]):
    __slots__ = ("begun", "future", "left", "work")

    def __init__(self, work: Callable[[], T], future: asyncio.Future[T]) -> None:
        self.work = work
        self.future = future
        self.begun = False
        self.left = False
        """Nobody waits any more, and the thread's place has been taken."""


class Workers:
    """Belongs to the event loop it was made in; `run` is called there."""

    def __init__(self, threads: int = THREADS, *, most: int = MOST_THREADS) -> None:
        self._loop = asyncio.get_running_loop()
        self._wanted = threads
        self._most = most
        self._alive = 0
        self._busy = 0
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._ended: deque[tuple[_Job[Any], Any, BaseException | None]] = deque()
        self._told = False
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, done in a thread."""
        if self._closed:
            raise RuntimeError("the threads have been dismissed")
        future: asyncio.Future[T] = self._loop.create_future()
        job = _Job(work, future)
        with self._guard:
            self._busy += 1
            if self._alive < self._wanted and self._busy > self._alive:
                self._start()
        self._jobs.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            self._leave(job)
            raise

    def close(self) -> None:
        """Take no more work. Threads end with the job they are at."""
        self._closed = True
        with self._guard:
            for _ in range(self._alive):
                self._jobs.put(None)

    def _start(self) -> None:
        self._alive += 1
        # A daemon: a stuck call must not keep the process alive.
        threading.Thread(target=self._work, name="vault-work", daemon=True).start()

    def _leave(self, job: _Job[Any]) -> None:
        with self._guard:
            if not job.begun or job.left or self._alive >= self._most or self._closed:
                return
            job.left = True
            self._wanted += 1
            self._start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._guard:
                job.begun = not job.future.cancelled()
            if job.begun:
                result, error = _outcome(job.work)
                self._ended.append((job, result, error))
                if not self._told:
                    self._told = True
                    self._tell()
            with self._guard:
                self._busy -= 1
                if job.left:
                    self._wanted -= 1
                    break
            del job
        with self._guard:
            self._alive -= 1

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop has closed: nobody waits any more.
            return

    def _deliver(self) -> None:
        # Cleared before looking: whatever is added while we look is either seen now or told again.
        self._told = False
        while self._ended:
            job, result, error = self._ended.popleft()
            if job.future.done():
                continue
            if error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)


def _outcome(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001 - handed to whoever waits
        return None, RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
    except BaseException as error:  # noqa: BLE001 - a tool that calls sys.exit must not end the server
        return None, RuntimeError(f"the work ended with {type(error).__name__}")
