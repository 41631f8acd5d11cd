"""The stdio transport: runs a server as a child process, one message per line.

The process ends with the transport: its input is closed, and it is terminated if that is not enough. When the
server ends on its own, the transport ends too. It is not restarted, because its state is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vaultbridge.client.errors import (
    ConnectFailed,
    ConnectionLost,
    InvalidMessage,
    TransportClosed,
    UnknownAnswer,
)
from vaultbridge.client.messages import decode, read_answered_id
from vaultbridge.client.settings import MESSAGE_BYTES
from vaultbridge.client.transport import ALIVE_SECONDS, Callbacks, PendingRequests, State
from vaultbridge.errors import VaultbridgeError
from vaultbridge.limits import KIB

EXIT_SECONDS: Final = 2.0
"""How long a server may take to exit after its input is closed, and again after SIGTERM."""

STDERR_LINES: Final = 20
"""Lines of the server's stderr that are kept for the error that says why it ended."""

STDERR_LINE_BYTES: Final = 8 * KIB
"""A longer line of stderr is cut, because only people read it."""

LINE_FACTOR: Final = 4
"""A line may be this many times longer than the largest message before we stop reading it. Up to there it is
read to find out which request it answers, so that only that request fails."""

KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that no process can ignore; Windows has only SIGTERM."""


class StdioTransport(Callbacks):
    """See `Transport` for the promises. `on_stderr` is called for each line that the server logs."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        max_message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        """`env` is added to this process's environment."""
        super().__init__()
        if not command or not all(isinstance(part, str) and "\0" not in part for part in command):
            raise ConnectFailed("The command is empty or contains a null character.")
        if not command[0]:
            raise ConnectFailed("The command names no program.")
        for name, value in (env or {}).items():
            if not name or "=" in name or "\0" in name + value:
                raise ConnectFailed(f"{name!r} cannot be set in the environment: name or value is invalid.")
        self.command = tuple(command)
        self.on_stderr: Callable[[str], object] | None = None
        self._env = {**os.environ, **env} if env else None
        self._cwd = cwd
        self._max_message_bytes = max_message_bytes
        self._requests = PendingRequests(max_message_bytes)
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._logging: asyncio.Task[None] | None = None
        self._stderr_tail: deque[str] = deque(maxlen=STDERR_LINES)

    @property
    def queue_size(self) -> int:
        """Always 0: messages go straight into the pipe, and `send` waits while the pipe is full."""
        return 0

    async def start(self) -> None:
        """Start the process. Raises ConnectFailed when it cannot be started."""
        if not self._life.allows("start"):
            raise TransportClosed("This transport has already been started.")
        self._move("start")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._env,
                cwd=self._cwd,
                limit=self._max_message_bytes * LINE_FACTOR,
                start_new_session=True,
            )
        except OSError as error:
            self._move("failed")
            failed = ConnectFailed(f"Cannot start {self.command[0]!r}: {self._describe_cause(error)}.")
            self._report(failed)
            raise failed from None
        self._metrics.connects += 1
        self._move("opened")
        self._logging = asyncio.create_task(self._read_stderr(self._process))
        self._reading = asyncio.create_task(self._read_stdout(self._process))

    def _describe_cause(self, error: OSError) -> str:
        if self._cwd is not None and error.filename == self._cwd:
            return "the folder to start it in does not exist"
        return (
            "no such program"
            if isinstance(error, FileNotFoundError)
            else (error.strerror or "failed").lower()
        )

    async def send(self, message: object) -> None:
        """Send a message. Raises InvalidMessage or TransportClosed (also reported to `on_error`) when it was
        not accepted."""
        process = self._process
        try:
            if process is None or process.stdin is None or not self.is_connected:
                raise TransportClosed("The server is not running.")
            _, _, data = self._requests.register(message, asyncio.get_running_loop().time())
        except VaultbridgeError as error:
            self._report(error)
            raise
        self._metrics.messages_sent += 1
        self._metrics.bytes_sent += len(data)
        process.stdin.write(data + b"\n")
        # A broken pipe means that the process has ended; the reader of its output notices that too.
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        return bool(self.is_connected) and self._process is not None and self._process.returncode is None

    async def close(self) -> None:
        """End the process and the transport. May be called at any time, repeatedly, and from a callback."""
        if not self._life.allows("close"):
            await self._wait_for_end({self._reading})
            return
        self._closer = asyncio.current_task()
        self._move("close")
        try:
            if self._process is not None:
                await self._stop(self._process)
        finally:
            await self._finish("The transport was closed before the answer came")

    async def _finish(self, why: str) -> None:
        me = asyncio.current_task()
        tasks = [task for task in (self._reading, self._logging) if task is not None and task is not me]
        for task in tasks:
            task.cancel()
        # A process that was killed because the caller could not wait for it has to be reaped all the same.
        exits = [asyncio.create_task(self._process.wait())] if self._process is not None else []
        if tasks or exits:
            await asyncio.wait([*tasks, *exits], timeout=EXIT_SECONDS)
        for exit_ in exits:
            exit_.cancel()
        for answer in self._requests.fail_all(why):
            await self._deliver(answer)
        if self._life.state is State.DISCONNECTING:
            self._move("closed")
            self._ended.set()
            self._call_on_close()

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """End the process: close its input, then SIGTERM, then SIGKILL. If cancelled, SIGKILL at once."""
        if process.stdin is not None:
            process.stdin.close()
        try:
            for ending in (signal.SIGTERM, KILL):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(EXIT_SECONDS):
                        await process.wait()
                if process.returncode is not None:
                    return
                _signal_group(process.pid, ending)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXIT_SECONDS):
                    await process.wait()
        finally:
            # If the caller was interrupted while waiting, nothing else will stop the server.
            if process.returncode is None:
                _signal_group(process.pid, KILL)

    async def _read_stdout(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while self._life.state is State.CONNECTED:
            try:
                line = await process.stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line.strip():
                    break
            except asyncio.LimitOverrunError:
                # We cannot know which request it answers, and no caller may wait forever, so all of them
                # fail.
                too_long = self._max_message_bytes * LINE_FACTOR
                await self._end_with_error(process, f"The server wrote a line of more than {too_long} bytes.")
                return
            if line.strip():
                await self._receive(line)
        if self._life.state is not State.CONNECTED:
            return
        await self._finish_after_exit(process)

    async def _finish_after_exit(self, process: asyncio.subprocess.Process) -> None:
        """End the transport after the server closed its output, and report why."""
        self._move("close")
        await self._stop(process)
        if self._logging is not None:
            await asyncio.wait([self._logging], timeout=EXIT_SECONDS)
        last_line = f": {self._stderr_tail[-1]}" if self._stderr_tail else ""
        self._report(ConnectionLost(f"The server ended with exit code {process.returncode}{last_line}"))
        await self._finish("The server ended before the answer came")

    async def _end_with_error(self, process: asyncio.subprocess.Process, why: str) -> None:
        self._move("close")
        self._report(ConnectionLost(why))
        # Keep reading: a server that is blocked in a write does not notice that its input has ended.
        discarding = asyncio.create_task(_discard(process))
        try:
            await self._stop(process)
            await asyncio.wait([discarding], timeout=EXIT_SECONDS)
        finally:
            discarding.cancel()
        await self._finish("The server was ended before the answer came")

    async def _receive(self, line: bytes) -> None:
        self._metrics.messages_received += 1
        self._metrics.bytes_received += len(line)
        try:
            if len(line) > self._max_message_bytes:
                raise InvalidMessage(
                    f"A message of {len(line)} bytes arrived; the limit is {self._max_message_bytes}."
                )
            kind, message = decode(line)
            sent_at = self._requests.match_answer(kind, message)
        except (InvalidMessage, UnknownAnswer) as error:
            if isinstance(error, InvalidMessage):
                error.received = True
            self._report(error)
            request_id = read_answered_id(line)
            why = f"The server's answer was refused: {error.message}"
            failed = None if request_id is None else self._requests.fail(request_id, why, reason=error.reason)
            if failed is not None:
                await self._deliver(failed)
            return
        if sent_at is not None:
            self._metrics.count_answer(asyncio.get_running_loop().time() - sent_at)
        await self._deliver(message)

    async def _read_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:
                continue  # Too long for anyone to read, so it is dropped.
            if not line:
                return
            text = line[:STDERR_LINE_BYTES].decode("utf-8", "replace").rstrip()
            if text:
                self._stderr_tail.append(text)
            if self.on_stderr is not None:
                self._guard(self.on_stderr, text)


async def _discard(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    while await process.stdout.read(64 * KIB):
        pass


def _signal_group(pid: int, number: int) -> None:
    """Signal the server and everything it started: it leads its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
