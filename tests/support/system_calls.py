"""System calls that fail or act on demand, for faults that no real file can be made to have: tests may run
as root, whom no mode stops, and no test can fill a disk or wear one out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest


def refuse_call(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: int,
    *,
    where: Callable[[Any], bool] = lambda first: True,
) -> None:
    """Let `os.<name>` fail with this error wherever `where` is true of its first argument."""
    call = getattr(os, name)

    def refuse(first: Any, *arguments: Any, **options: Any) -> Any:
        if where(first):
            raise OSError(error, os.strerror(error))
        return call(first, *arguments, **options)

    monkeypatch.setattr(os, name, refuse)


def act_after_reads(monkeypatch: pytest.MonkeyPatch, act: Callable[[bytes], object]) -> None:
    """Call `act` with the bytes of each `os.read`, before they are returned."""
    read = os.read

    def read_and_act(handle: int, size: int) -> bytes:
        data = read(handle, size)
        act(data)
        return data

    monkeypatch.setattr(os, "read", read_and_act)
