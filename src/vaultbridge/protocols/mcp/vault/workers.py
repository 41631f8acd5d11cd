"""Runs blocking work, the calls of the engine, in threads next to the event loop.

Work that may compute for long has its own lane and never gets all threads: in one lane, a read right after
eight searches for common words in 10,000 notes took 78 ms instead of 6. A job that takes unusually long,
because it waits for a pattern, a lock or a disk, gives its place to another thread and is still delivered.

A caller may stop waiting for its job (timeout, cancellation). A job that has not started is then dropped; one
that has is abandoned: another thread takes its place, so that a stuck file system cannot use up the threads.
An abandoned job ends on its own, and soon if it may be cancelled (`vaultbridge.cancellation`). All threads
are daemons: the process does not wait for them at its end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, Final, Generic, TypeVar

from vaultbridge.cancellation import Cancellation, make_cancellable

THREADS: Final = 4
"""Jobs that run at once. The engine waits for disks and locks, not for processors: more threads would only
wait together."""

LONG_THREADS: Final = 2
"""How many of the threads may do long jobs at once. Long jobs compute, and only one thread of the interpreter
computes at a time. A second one uses the time in which SQLite works outside the interpreter; a third would
make each wait."""

MOST_THREADS: Final = 32
"""All threads, including those with abandoned jobs. When this many are stuck, new work waits for them."""

SLOW_SECONDS: Final = 0.1
"""How long a job may keep its place while others wait: ten times an ordinary edit. One that takes longer
usually waits for something else, such as a pattern or a note that another program is saving."""

MOST_SLOW: Final = 16
"""How many jobs may have given up their places at once. Half of all threads, so that enough are left."""

T = TypeVar("T")


class _Job(Generic[T]):
    __slots__ = ("abandoned", "begun", "cancellation", "future", "lane", "work")

    def __init__(
        self, work: Callable[[], T], future: asyncio.Future[T], lane: _Lane, cancellation: Cancellation | None
    ) -> None:
        self.work = work
        self.future = future
        self.lane = lane
        self.cancellation = cancellation
        self.begun: float | None = None
        """When it was begun, while it runs."""
        self.abandoned = False
        """Whether another thread has taken the place of the job's thread."""


class _Lane:
    """Waiting jobs, in order, of which up to `threads` may run at once."""

    __slots__ = ("jobs", "threads", "working")

    def __init__(self, threads: int) -> None:
        self.jobs: deque[_Job[Any]] = deque()
        self.threads = threads
        self.working = 0
        """Threads that run one of its jobs, without those whose place was taken."""

    @property
    def may_start(self) -> bool:
        """Whether there is a job for which a thread is allowed."""
        return bool(self.jobs) and self.working < self.threads


class Workers:
    """Belongs to the event loop it was created in; call `run` there."""

    def __init__(
        self, threads: int = THREADS, *, most: int = MOST_THREADS, slow_seconds: float = SLOW_SECONDS
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._most = most
        self._slow_seconds = slow_seconds
        self._lock = threading.Lock()
        self._called = threading.Condition(self._lock)
        self._short = _Lane(threads)
        self._long = _Lane(max(1, min(LONG_THREADS, threads - 1)))
        self._running: set[_Job[Any]] = set()
        """The jobs that have a place."""
        self._idle = 0
        self._working = 0
        """Threads that run a job or are about to, without abandoned ones."""
        self._abandoned = 0
        self._looking = False
        """Whether slow jobs are looked for: while others wait."""
        self._current = threading.local()
        """The job of each of our threads."""
        self._ended: deque[tuple[_Job[Any], Any, BaseException | None]] = deque()
        self._scheduled = False
        self._closed = False

    async def run(self, work: Callable[[], T], *, cancellable: bool = False, long: bool = False) -> T:
        """Run `work` in a thread; returns or raises what it does. Work that is `cancellable`, because it
        changes nothing, ends soon after its caller has stopped waiting. `long` work may compute for more than
        some milliseconds."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        future: asyncio.Future[T] = self._loop.create_future()
        # The work runs in a copy of the caller's context, so that what it reads and changes is recorded for
        # that call.
        context = copy_context()
        cancellation = make_cancellable(context) if cancellable else None
        job = _Job(partial(context.run, work), future, self._long if long else self._short, cancellation)
        with self._lock:
            job.lane.jobs.append(job)
            self._add_thread()
            if not self._looking:
                self._looking = True
                self._loop.call_later(self._slow_seconds, self._look_for_slow)
        try:
            return await future
        except asyncio.CancelledError:
            self._abandon(job)
            if job.cancellation is not None:
                job.cancellation.request()
            raise
        finally:
            # The future refers to the error, its traceback to this frame, and this frame to the future. That
            # cycle would keep all frames of a failed call, with whole notes in them, until the garbage
            # collector runs.
            del future, job

    def step_aside(self) -> None:
        """Called by a job that is going to wait for a person: another thread takes its place until then, and
        its result is still delivered."""
        job = getattr(self._current, "job", None)
        if job is not None:
            self._abandon(job)

    def close(self) -> None:
        """Accept no more work. Threads end when the jobs they have are done."""
        with self._lock:
            self._closed = True
            self._called.notify_all()

    def _add_thread(self) -> None:
        """Wake or start one more thread, if a job may start. Call with the lock held."""
        if not (self._short.may_start or self._long.may_start):
            return
        if self._idle:
            self._idle -= 1
            self._working += 1
            self._called.notify()
        elif self._working < self._threads and self._working + self._abandoned < self._most:
            self._working += 1
            # A daemon: a stuck call must not keep the process alive.
            threading.Thread(target=self._work, name="vault-work", daemon=True).start()

    def _look_for_slow(self) -> None:
        """Take the places of jobs that take unusually long while others wait."""
        with self._lock:
            self._looking = not self._closed and bool(self._short.jobs or self._long.jobs)
            if not self._looking:
                return
            slow = time.monotonic() - self._slow_seconds
            for job in tuple(self._running):
                if self._abandoned < MOST_SLOW and job.begun is not None and job.begun < slow:
                    self._give_up_place(job)
                    self._add_thread()
            self._loop.call_later(self._slow_seconds, self._look_for_slow)

    def _abandon(self, job: _Job[Any]) -> None:
        with self._lock:
            if job in self._running:
                self._give_up_place(job)
                self._add_thread()

    def _give_up_place(self, job: _Job[Any]) -> None:
        """Call with the lock held."""
        job.abandoned = True
        self._running.discard(job)
        self._working -= 1
        job.lane.working -= 1
        self._abandoned += 1

    def _work(self) -> None:
        while (job := self._next()) is not None:
            self._current.job = job
            result, error = _run_safely(job.work)
            self._current.job = None
            self._ended.append((job, result, error))
            if not self._scheduled:
                self._scheduled = True
                self._schedule_delivery()
            with self._lock:
                job.begun = None
                if job.abandoned:
                    self._abandoned -= 1
                    if self._working >= self._threads:
                        # Its place has been taken.
                        return
                    self._working += 1
                else:
                    self._running.discard(job)
                    job.lane.working -= 1
            del job, result, error

    def _next(self) -> _Job[Any] | None:
        """The next job that somebody still waits for; None after `close`."""
        with self._lock:
            while True:
                job = self._take()
                if job is not None:
                    job.begun = time.monotonic()
                    job.lane.working += 1
                    self._running.add(job)
                    return job
                self._working -= 1
                if self._closed:
                    return None
                self._idle += 1
                self._called.wait()
                if self._closed and not (self._short.jobs or self._long.jobs):
                    return None

    def _take(self) -> _Job[Any] | None:
        """A short job before a long one, except that one thread is always left to long ones, so that neither
        lane can starve the other. Call with the lock held."""
        long_first = self._long.threads < self._threads and not self._long.working
        for lane in (self._long, self._short) if long_first else (self._short, self._long):
            while lane.may_start:
                job = lane.jobs.popleft()
                if not job.future.cancelled():
                    return job
        return None

    def _schedule_delivery(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop has closed: nobody is waiting.
            return

    def _deliver(self) -> None:
        # Cleared first: whatever is added from here on is either seen now or scheduled again.
        self._scheduled = False
        while self._ended:
            job, result, error = self._ended.popleft()
            if job.future.done():
                continue
            if error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)


def _run_safely(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001 - handed to whoever waits
        return None, RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
    except BaseException as error:  # noqa: BLE001 - a tool that calls sys.exit must not end the server
        return None, RuntimeError(f"the work ended with {type(error).__name__}")
