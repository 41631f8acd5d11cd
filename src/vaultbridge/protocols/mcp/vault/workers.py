"""Runs blocking work, the calls of the engine, in threads next to the event loop.

One thread processes the jobs in order, and another one helps when a job has had to wait: many short jobs are
fastest in one thread, because several would only pass the interpreter lock around. Kinds of jobs that take
long to compute have their own lane, and so have changes, which wait for one another. These two never get all
threads, so that a read does not queue behind searches or edits. Within a lane callers take turns; among long
jobs every second turn goes to the kind that computes least, so that a search for a word does not queue behind
patterns, or the other way round. A short job or a change that takes unusually long gives its place to another
thread and is still delivered.

A caller may stop waiting for its job (timeout, cancellation). A job that has not started is then dropped; one
that has is abandoned: another thread takes its place, so that a stuck file system cannot use up the threads.
An abandoned job ends on its own, and soon if it may be cancelled (`vaultbridge.cancellation`). All threads
are daemons: the process does not wait for them at its end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, Final, Generic, TypeVar

from vaultbridge.cancellation import Cancellation, make_cancellable

THREADS: Final = 4
"""Jobs that run at once. The engine waits for disks and locks, not for processors: more threads would only
wait together."""

HELP_SECONDS: Final = 0.002
"""How long a job waits before another thread helps: twenty short reads, or the beginning of a search."""

MOST_THREADS: Final = 32
"""All threads, including those with abandoned jobs. When this many are stuck, new work waits for them."""

LONG_THREADS: Final = 2
"""How many of the threads may do long jobs at once. Long jobs compute, and only one thread of the interpreter
computes at a time. A second one uses the time in which SQLite works outside the interpreter; a third would
make each wait."""

CHANGE_THREADS: Final = 1
"""How many of the threads may make changes at once: those of one vault wait for one another anyway."""

SLOW_SECONDS: Final = 0.1
"""How long a short job or a change may keep its place while others wait: ten times an ordinary edit. One that
takes longer waits for something else, such as a note that another program is saving."""

MOST_SLOW: Final = 16
"""How many jobs may have given up their places at once. Half of all threads, so that enough are left."""

LONG_SECONDS: Final = 0.005
"""A kind of job that computes longer than this, on average, is long: ten times a read, less than a search for
a common word. Waiting does not count: a job that waits for the disk keeps no other from working."""

LEARNING: Final = 0.25
"""How much the last job of a kind counts in the average, so that a few calls are enough to know how long a
tool takes."""

KINDS_KNOWN: Final = 1000
"""Kinds whose average is remembered: twice the most tools that there can be."""

T = TypeVar("T")


class _Job(Generic[T]):
    __slots__ = ("abandoned", "begun", "caller", "cancellation", "future", "kind", "lane", "work")

    def __init__(
        self,
        work: Callable[[], T],
        future: asyncio.Future[T],
        kind: str,
        caller: str,
        cancellation: Cancellation | None,
    ) -> None:
        self.work = work
        self.future = future
        self.kind = kind
        self.caller = caller
        self.cancellation = cancellation
        self.lane: _Lane
        self.begun: float | None = None
        """When it was begun, while it runs."""
        self.abandoned = False
        """Whether another thread has taken the place of the job's thread."""


class _Lane:
    """Waiting jobs, of which up to `threads` may run at once. Those of one caller run in order; callers take
    turns, so that one with a hundred jobs does not delay another with a single one. With `cost`, which says
    how long a kind of jobs takes, each kind of a caller's jobs takes its own turns, and every second turn
    goes to the cheapest kind."""

    __slots__ = ("_cheapest", "_cost", "_queues", "threads", "working")

    def __init__(self, threads: int, cost: Callable[[str], float] | None = None) -> None:
        self.threads = threads
        self.working = 0
        """Threads that run one of its jobs, without those whose place was taken."""
        self._queues: OrderedDict[tuple[str, str], deque[_Job[Any]]] = OrderedDict()
        self._cost = cost
        self._cheapest = False
        """Whether the next turn goes to the cheapest."""

    @property
    def is_waiting(self) -> bool:
        return bool(self._queues)

    @property
    def may_start(self) -> bool:
        """Whether there is a job for which a thread is allowed."""
        return bool(self._queues) and self.working < self.threads

    def add(self, job: _Job[Any]) -> None:
        job.lane = self
        self._queues.setdefault((job.caller, job.kind if self._cost else ""), deque()).append(job)

    def take(self) -> _Job[Any] | None:
        """The next job that somebody still waits for."""
        while self._queues:
            turn = next(iter(self._queues))
            if self._cost is not None:
                if self._cheapest:
                    cost = self._cost
                    turn = min(self._queues, key=lambda waiting: cost(waiting[1]))
                self._cheapest = not self._cheapest
            jobs = self._queues.pop(turn)
            job = jobs.popleft()
            if jobs:
                self._queues[turn] = jobs
            if not job.future.cancelled():
                return job
        return None


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
        self._long = _Lane(
            max(1, min(LONG_THREADS, threads - 1)), lambda kind: self._computing.get(kind, 0.0)
        )
        self._changes = _Lane(CHANGE_THREADS)
        self._lanes = self._short, self._long, self._changes
        self._running: set[_Job[Any]] = set()
        """The jobs that have a place."""
        self._computing: dict[str, float] = {}
        """How long jobs of a kind compute, on average."""
        self._idle = 0
        self._working = 0
        """Threads that run a job or are about to, without abandoned ones."""
        self._abandoned = 0
        self._help_coming = False
        self._current = threading.local()
        """The job of each of our threads."""
        self._ended: deque[tuple[_Job[Any], Any, BaseException | None]] = deque()
        self._scheduled = False
        self._closed = False

    async def run(
        self,
        work: Callable[[], T],
        *,
        kind: str = "",
        caller: str = "",
        cancellable: bool = False,
        long: bool = False,
        changes: bool = False,
    ) -> T:
        """Run `work` in a thread; returns or raises what it does. Jobs of one `kind` take about the same
        time; jobs of one `caller` do not delay those of another. Work that is `cancellable`, because it
        changes nothing, ends soon after its caller has stopped waiting. `long` work computes for long, also
        where the time of its thread does not show it; work that `changes` something has a lane of its own."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        future: asyncio.Future[T] = self._loop.create_future()
        # The work runs in a copy of the caller's context, so that what it reads and changes is recorded for
        # that call.
        context = copy_context()
        cancellation = make_cancellable(context) if cancellable else None
        work = partial(context.run, work)
        job = _Job(work, future, kind, caller, cancellation)
        with self._lock:
            lane = self._changes if changes else self._long if long or self._is_long(kind) else self._short
            lane.add(job)
            if self._working == self._long.working + self._changes.working and self._may_start():
                # No thread is running, or none that will take short jobs soon.
                self._add_thread()
            elif not self._help_coming:
                self._help_coming = True
                self._loop.call_later(HELP_SECONDS, self._help)
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
        """Wake or start one more thread, if allowed. Call with the lock held."""
        if self._idle:
            self._idle -= 1
            self._working += 1
            self._called.notify()
        elif self._working < self._threads and self._working + self._abandoned < self._most:
            self._working += 1
            # A daemon: a stuck call must not keep the process alive.
            threading.Thread(target=self._work, name="vault-work", daemon=True).start()

    def _help(self) -> None:
        """Let another thread help, because a job has had to wait."""
        with self._lock:
            self._help_coming = not self._closed and (
                self._short.is_waiting or self._changes.is_waiting or self._long.may_start
            )
            if self._help_coming:
                self._replace_slow()
                if self._may_start():
                    self._add_thread()
                self._loop.call_later(HELP_SECONDS, self._help)

    def _replace_slow(self) -> None:
        """Take the places of jobs that take unusually long. Long jobs keep theirs: they compute, and more of
        them at once would only make all slower. Call with the lock held."""
        slow = time.monotonic() - self._slow_seconds
        for job in tuple(self._running):
            if self._abandoned >= MOST_SLOW:
                return
            if job.lane is not self._long and job.begun is not None and job.begun < slow:
                self._give_up_place(job)

    def _may_start(self) -> bool:
        """Whether there is a job for which a thread is allowed. Call with the lock held."""
        return any(lane.may_start for lane in self._lanes)

    def _is_long(self, kind: str) -> bool:
        return self._computing.get(kind, 0.0) > LONG_SECONDS

    def _abandon(self, job: _Job[Any]) -> None:
        with self._lock:
            if job in self._running:
                self._give_up_place(job)
                if self._may_start():
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
            begun = time.thread_time()
            self._current.job = job
            result, error = _run_safely(job.work)
            self._current.job = None
            self._learn(job.kind, time.thread_time() - begun)
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

    def _learn(self, kind: str, seconds: float) -> None:
        known = self._computing.get(kind)
        if known is not None:
            self._computing[kind] = known + (seconds - known) * LEARNING
        elif kind and len(self._computing) < KINDS_KNOWN:
            self._computing[kind] = seconds

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
                if self._closed and not self._may_start():
                    return None

    def _take(self) -> _Job[Any] | None:
        """A short job before others, except that one thread is always left to changes and one to long jobs,
        so that no lane can starve another. Call with the lock held."""
        others = self._changes, self._long
        left_alone = [lane for lane in others if lane.threads < self._threads and not lane.working]
        for lane in (*left_alone, self._short, *others):
            while lane.may_start and (job := lane.take()) is not None:
                if lane is self._short and self._is_long(job.kind):
                    # How long its kind takes was not known when it came.
                    self._long.add(job)
                    continue
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
