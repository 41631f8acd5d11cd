"""Reads and parses files into rows: a few in this process, many in child processes on all cores.

A child reads and writes length-prefixed MessagePack on its standard input and output: a chunk of files in,
their rows out. It is started as a plain program, not through multiprocessing: nothing of the parent's main
module runs again, no threads are forked, and it ends on its own when the parent is gone. Writing the rows is
left to the caller.

Memory is bounded: a child has at most two chunks at a time, and chunks are bounded in bytes. When a child
dies (a note crashes an extension module, the system runs out of memory), a warning is logged and its chunks
are parsed in this process.
"""

from __future__ import annotations

import logging
import os
import queue
import stat
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import NoteNotFound, VaultbridgeError, VaultNotFound
from vaultbridge.index.store.rows import Rows, build_rows, make_body, parse_rows
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.markdown.model import Note, Problem
from vaultbridge.system import FileStat
from vaultbridge.vault.no_follow import real_path
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.read import FileContent, read_place

_HEADER: Final = 8
"""Bytes for the length of a message: more than any chunk needs, and simple to read."""


class FileJob(Struct, array_like=True, frozen=True):
    """One file to read. `known_hash` is the one in the index: content with that hash is not parsed."""

    id: int
    path: str
    kind: str
    size: int
    placeholder: bool = False
    known_hash: str = ""


class Chunk(Struct, array_like=True, frozen=True):
    """Jobs of one vault. Each chunk names the folder so that a child has no state."""

    folder: str
    allow_outside_links: bool
    jobs: list[FileJob]


class FileResult(Struct, array_like=True):
    """`rows` is None when the content is already in the index, and when the file is gone."""

    id: int
    path: str
    rows: Rows | None
    signature: FileStat | None
    gone: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the content is already in the index."""
        return self.rows is None and not self.gone


ChunkResult = list[FileResult]

_encode = msgspec.msgpack.Encoder().encode
_decode_chunk = msgspec.msgpack.Decoder(Chunk).decode
_decode_result = msgspec.msgpack.Decoder(ChunkResult).decode


class _FileReader:
    """Reads files. A folder's real path is resolved once per chunk, not once per file, because that is most
    of the cost of opening a small note. Anything but an ordinary file in an ordinary folder goes through
    `VaultFolder.locate`, and `read_place` does not follow a path that has become a link since."""

    def __init__(self, root: VaultFolder) -> None:
        self._root = root
        self._prefix = str(root.folder).rstrip(os.sep) + os.sep
        self._plain: dict[str, bool] = {}

    def read(self, path: str) -> FileContent | None:
        """Returns None for a link to another file of the vault: that file is indexed under its own path.
        Under the link's path its text would outlive the link, and callers who may not see the file would find
        it."""
        folder = path.rpartition("/")[0]
        plain = self._plain.get(folder)
        if plain is None:
            place = self._prefix + folder.replace("/", os.sep) if folder else str(self._root.folder)
            known = self._root.plain_status(VaultPath(folder)) is not None
            plain = self._plain[folder] = known or real_path(place) == place
        place = self._prefix + path
        if plain and _is_ordinary(place):
            return read_place(place, path, limit=NOTE_PARSE_BYTES)
        found = self._root.locate(VaultPath(path))
        real = self._root.real_place(found, path)
        if real != found and self._root.contains(str(real)):
            return None
        return read_place(real, path, limit=NOTE_PARSE_BYTES)


def _is_ordinary(place: str) -> bool:
    """Whether this is a regular file and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(place).st_mode)
    except OSError:
        return False


def run_chunk(chunk: Chunk, pause: Callable[[], None] = lambda: None) -> ChunkResult:
    try:
        reader = _FileReader(VaultFolder(chunk.folder, allow_outside_links=chunk.allow_outside_links))
    except VaultNotFound:
        # The writer of the rows decides whether only these files are gone or the whole vault.
        return [FileResult(job.id, job.path, None, None, gone=True) for job in chunk.jobs]
    read = [(job, _read_job(reader, job)) for job in chunk.jobs]
    results: ChunkResult = []
    for job, content in read:
        if isinstance(content, FileContent):
            pause()
            content = _parse_job(job, content)
        results.append(content)
    return results


def _read_job(reader: _FileReader, job: FileJob) -> FileContent | FileResult:
    """Returns content that has to be parsed, or the result of a job that needs none."""
    if job.placeholder:
        return _report_unread(
            job, "placeholder", "The file is not downloaded: its content is only in the cloud."
        )
    if job.size > NOTE_PARSE_BYTES:
        message = f"The file has {job.size} bytes; files above {NOTE_PARSE_BYTES} are not searched."
        return _report_unread(job, "too-large", message)
    try:
        content = reader.read(job.path)
    except (NoteNotFound, VaultNotFound):
        return FileResult(job.id, job.path, None, None, gone=True)
    except VaultbridgeError as error:
        return _report_unread(job, "unreadable", error.message)
    if content is None:
        return FileResult(job.id, job.path, build_rows(Note(), None, ""), None)
    if content.hash == job.known_hash:
        return FileResult(job.id, job.path, None, content.signature)
    return content


def _parse_job(job: FileJob, content: FileContent) -> FileResult:
    rows = parse_rows(job.kind, content.data, content.hash)
    if not job.known_hash and rows.text is not None and not rows.text.isascii():
        # For a changed file, the writer of the rows makes it together with that of the old text.
        rows.body = make_body(rows.text)
    return FileResult(job.id, job.path, rows, content.signature)


def _report_unread(job: FileJob, code: str, message: str) -> FileResult:
    """Returns rows with a problem in place of content, for a file that exists."""
    problem = msgspec.convert({"code": code, "message": message}, Problem)
    return FileResult(job.id, job.path, build_rows(Note(problems=(problem,)), None, ""), None)


def send(pipe: BinaryIO, message: Chunk | ChunkResult) -> None:
    data = _encode(message)
    pipe.write(len(data).to_bytes(_HEADER, "big") + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes | None:
    """Reads the next message; None at the end of the pipe."""
    header = pipe.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "big")
    data = pipe.read(size)
    return data if len(data) == size else None


def receive_result(pipe: BinaryIO) -> ChunkResult | None:
    data = receive(pipe)
    return None if data is None else _decode_result(data)


def serve() -> None:
    """The main loop of a child. A separate thread receives the chunks, so that the parent can always send one
    while we send a result; otherwise the two could wait for each other forever."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def receive_all() -> None:
        data: bytes | None = b""
        while data is not None:
            data = receive(source)
            waiting.put(data)

    threading.Thread(target=receive_all, daemon=True).start()
    while (data := waiting.get()) is not None:
        send(sink, run_chunk(_decode_chunk(data)))


PARALLEL_FILES: Final = 600
"""Fewer files than this are parsed in this process: starting children takes as long as parsing that many."""

CHUNK_FILES: Final = 100
CHUNK_BYTES: Final = 1024 * 1024
"""The size of one message to a child: large enough to make the cost of a message small, and small enough that
all children finish at about the same time."""

CHILDREN: Final = 8
"""The most children. With more, they would only wait for the single writer."""

CHUNKS_PER_CHILD: Final = 2
"""Chunks that a child has at a time: one in progress and the next one."""

CHILD_END_SECONDS: Final = 5.0
"""How long a child may take to exit after its input was closed, before it is killed."""

log = logging.getLogger(__name__)


def parse_files(
    root: VaultFolder,
    jobs: list[FileJob],
    *,
    children: int | None = None,
    pause: Callable[[], None] = lambda: None,
) -> Generator[ChunkResult, None, None]:
    """Yields the rows of all files in any order. Close it to stop early. `pause` is called before each
    file that this process parses."""
    chunks = list(_split_chunks(root, jobs))
    if children is None:
        children = min(count_cores(), CHILDREN, len(chunks)) if len(jobs) >= PARALLEL_FILES else 0
    if children < 2:
        for chunk in chunks:
            yield run_chunk(chunk, pause)
    else:
        yield from _Children(chunks, children).run()


def count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _split_chunks(root: VaultFolder, jobs: Iterable[FileJob]) -> Iterator[Chunk]:
    taken: list[FileJob] = []
    size = 0
    for job in jobs:
        taken.append(job)
        size += job.size
        if len(taken) >= CHUNK_FILES or size >= CHUNK_BYTES:
            yield Chunk(str(root.folder), root.allow_outside_links, taken)
            taken, size = [], 0
    if taken:
        yield Chunk(str(root.folder), root.allow_outside_links, taken)


class _Children:
    """The children of one build, each with a thread that talks to it."""

    def __init__(self, chunks: list[Chunk], count: int) -> None:
        self.todo: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
        for chunk in chunks:
            self.todo.put(chunk)
        self.left = len(chunks)
        # Results wait here for the writer; when the queue is full, the children wait too.
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
        """Drive one child. The next chunk is sent before the result of the last is read, so that the child
        never waits for us. When it dies, its chunks are parsed here."""
        child: subprocess.Popen[bytes] | None = None
        pending: deque[Chunk] = deque()
        try:
            while not self.stopping.is_set():
                while len(pending) < CHUNKS_PER_CHILD and (chunk := self._next()) is not None:
                    child = child or _start_child()
                    pending.append(chunk)
                    _send(child, chunk)
                if not pending:
                    return
                assert child is not None
                result = _receive(child)
                if result is None:
                    log.warning("A process that parses notes died; its notes are parsed in this process.")
                    _end_child(child, unfinished=True)
                    child = None
                    for chunk in pending:
                        self.done.put(run_chunk(chunk))
                    pending.clear()
                else:
                    pending.popleft()
                    self.done.put(result)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for the results
            self.done.put(error)
        finally:
            if child is not None:
                _end_child(child, unfinished=bool(pending))

    def _next(self) -> Chunk | None:
        try:
            return self.todo.get_nowait()
        except queue.Empty:
            return None


def _start_child() -> subprocess.Popen[bytes]:
    # The child imports the package from where this process did, however it was started.
    setup = f"import sys; sys.path[:] = {sys.path!r}; from vaultbridge.index.build import serve; serve()"
    return subprocess.Popen(
        [sys.executable, "-S", "-c", setup],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _send(child: subprocess.Popen[bytes], chunk: Chunk) -> None:
    """Send a chunk. A dead child is noticed when its result is read."""
    assert child.stdin is not None
    with suppress(OSError):
        send(child.stdin, chunk)  # type: ignore[arg-type]


def _receive(child: subprocess.Popen[bytes]) -> ChunkResult | None:
    """Reads one result; None when the child is dead."""
    assert child.stdout is not None
    try:
        return receive_result(child.stdout)  # type: ignore[arg-type]
    except OSError:
        return None


def _end_child(child: subprocess.Popen[bytes], *, unfinished: bool) -> None:
    """End a child. One with unfinished chunks is killed at once: it changes nothing, and it may be waiting to
    send a result that nobody will read."""
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
