"""The process of which each command is a fork (`commands.py`). Its standard input is a socket of requests.

A request is five descriptors: the command's three streams, a file with its words, environment and folder, and
a socket for its process id and exit code.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import warnings

import vaultbridge

DESCRIPTORS = 5

MOST_DESCRIPTORS = 256
"""More than are ever open here: a worker runs a few commands at a time."""


def load_everything() -> None:
    """A warning that a command would print when it imports something is an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for module in pkgutil.walk_packages(vaultbridge.__path__, "vaultbridge."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    assert threading.active_count() == 1, "a fork has only the thread that forks"
    gc.collect()
    gc.freeze()


def become(streams: list[int], request: dict[str, object]) -> None:
    """Look like a process that the system has just started."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, MOST_DESCRIPTORS)
    environ, folder, words = request["environ"], request["folder"], request["words"]
    assert isinstance(environ, dict) and isinstance(folder, str) and isinstance(words, list)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = ["vaultbridge", *words]
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        ours = getattr(sys, name)
        raw = io.FileIO(number, mode, closefd=False)
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(buffer, ours.encoding, ours.errors, line_buffering=name == "stderr")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def serve(requests: socket.socket) -> tuple[list[int], dict[str, object]] | None:
    """Fork for each request. Returns what to become in the fork, and None when no more requests come."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([requests, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            while running and (done := os.waitpid(-1, os.WNOHANG))[0]:
                with running.pop(done[0]) as answer:
                    answer.sendall(b"%d\n" % os.waitstatus_to_exitcode(done[1]))
        if requests in ready:
            _, descriptors, _, _ = socket.recv_fds(requests, 1, DESCRIPTORS)
            if not descriptors:
                requests.close()
                return None
            *streams, body, channel = descriptors
            with open(body, "rb") as file:
                request = json.load(file)
            answer = socket.socket(fileno=channel)
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                # Their descriptors get another meaning.
                for ours in (requests, answer, *running.values()):
                    ours.detach()
                return streams, request
            running[pid] = answer
            answer.sendall(b"%d\n" % pid)
            for descriptor in streams:
                os.close(descriptor)


def run() -> int:
    try:
        runpy.run_module("vaultbridge", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code is None or isinstance(end.code, int)
        return end.code or 0
    return 0


def end(code: int) -> None:
    """End as an interpreter does, without what takes most of its time: to forget every module, which would
    copy the memory of the process it was forked from."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # What was never closed is reported.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main() -> None:
    load_everything()
    requests = socket.socket(fileno=os.dup(0))
    if (asked := serve(requests)) is not None:
        become(*asked)
        end(run())


if __name__ == "__main__":
    main()
