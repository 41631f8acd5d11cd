"""Many files to rows, on all cores: children parse, the caller writes.

Memory is bounded: at most two chunks per child are under way, and chunks are bounded in bytes. A child
that dies (a note that crashes an extension module, the system's memory guard) costs a log line: its chunk is
done in this process.
"""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from typing import Final

from vaultbridge.index.worker import Chunk, ChunkResult, FileJob, receive_result, run_chunk, send
from vaultbridge.vault.paths import Root

PARALLEL_FILES: Final = 600
"""Fewer files than this are parsed here: starting children takes as long as parsing about that many."""

CHUNK_FILES: Final = 100
CHUNK_BYTES: Final = 1024 * 1024
"""What one message to a child asks for: enough to make the message's cost small, little enough that
all children end at about the same time."""

CHILDREN: Final = 8
"""The most children: beyond that the one writer is what is waited for."""

CHUNKS_UNDER_WAY: Final = 2
"""Chunks that a child has been given: one to work on and one to go on with."""

CHILD_END_SECONDS: Final = 5.0
"""How long a child that has nothing more to read may take to go before it is killed."""

log = logging.getLogger(__name__)


def parse_files(
    root: Root, jobs: list[FileJob], *, terms: bool = True, children: int | None = None
) -> Generator[ChunkResult, None, None]:
    """The rows of all files, in any order, and their words if `terms`. Close the generator to stop early."""
    chunks = list(_chunks(root, jobs, terms=terms))
    if children is None:
        children = min(usable_cores(), CHILDREN, len(chunks)) if len(jobs) >= PARALLEL_FILES else 0
    if children < 2:
        for chunk in chunks:
            yield run_chunk(chunk)
    else:
        yield from _Children(chunks, children).run()


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _chunks(root: Root, jobs: Iterable[FileJob], *, terms: bool) -> Iterator[Chunk]:
    taken: list[FileJob] = []
    size = 0
    for job in jobs:
        taken.append(job)
        size += job.size
        if len(taken) >= CHUNK_FILES or size >= CHUNK_BYTES:
            yield Chunk(str(root.folder), root.allow_outside_links, taken, terms)
            taken, size = [], 0
    if taken:
        yield Chunk(str(root.folder), root.allow_outside_links, taken, terms)


class _Children:
    """The children of one build and the threads that speak with them, one each."""

    def __init__(self, chunks: list[Chunk], count: int) -> None:
        self.todo: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
        for chunk in chunks:
            self.todo.put(chunk)
        self.left = len(chunks)
        # A result waits here until the writer takes it; a child that is ahead waits in turn.
        self.done: queue.Queue[ChunkResult | BaseException] = queue.Queue(maxsize=count)
        self.count = count
        self.stopping = threading.Event()

    def run(self) -> Iterator[ChunkResult]:
        threads = [
            threading.Thread(target=self._serve, name=f"index-{n}", daemon=True) for n in range(self.count)
        ]
        for thread in threads:
            thread.start()
        try:
            while self.left:
                result = self.done.get()
                if isinstance(result, BaseException):
                    raise result
                self.left -= 1
                yield result
        finally:
            self.stopping.set()
            for thread in threads:
                while thread.is_alive():
                    with suppress(queue.Empty):
                        self.done.get_nowait()
                    thread.join(0.01)

    def _serve(self) -> None:
        """One child's work. The next chunk is sent before the answer to the last is read, so that the child
        never waits for us; chunks under way when it dies are done here."""
        child: subprocess.Popen[bytes] | None = None
        under_way: deque[Chunk] = deque()
        try:
            while not self.stopping.is_set():
                while len(under_way) < CHUNKS_UNDER_WAY and (chunk := self._next()) is not None:
                    child = child or _start_child()
                    under_way.append(chunk)
                    _send(child, chunk)
                if not under_way:
                    return
                assert child is not None
                result = _receive(child)
                if result is None:
                    log.warning("A process that parses notes ended early; its notes are parsed here.")
                    _end_child(child, unfinished=True)
                    child = None
                    for chunk in under_way:
                        self.done.put(run_chunk(chunk))
                    under_way.clear()
                else:
                    under_way.popleft()
                    self.done.put(result)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for the results
            self.done.put(error)
        finally:
            if child is not None:
                _end_child(child, unfinished=bool(under_way))

    def _next(self) -> Chunk | None:
        try:
            return self.todo.get_nowait()
        except queue.Empty:
            return None


def _start_child() -> subprocess.Popen[bytes]:
    # The child finds the package where this process found it, however that was started.
    setup = f"import sys; sys.path[:] = {sys.path!r}; from vaultbridge.index.worker import serve; serve()"
    return subprocess.Popen(
        [sys.executable, "-S", "-c", setup],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _send(child: subprocess.Popen[bytes], chunk: Chunk) -> None:
    """A child that is gone is noticed when its answer is read."""
    assert child.stdin is not None
    with suppress(OSError):
        send(child.stdin, chunk)  # type: ignore[arg-type]


def _receive(child: subprocess.Popen[bytes]) -> ChunkResult | None:
    """None when the child is gone."""
    assert child.stdout is not None
    try:
        return receive_result(child.stdout)  # type: ignore[arg-type]
    except OSError:
        return None


def _end_child(child: subprocess.Popen[bytes], *, unfinished: bool) -> None:
    """A child with chunks under way is stopped at once: it only reads, and it may be waiting to give an
    answer that nobody will take."""
    assert child.stdin is not None and child.stdout is not None
    if unfinished:
        child.kill()
    with suppress(OSError):
        child.stdin.close()
    try:
        child.wait(CHILD_END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()
