"""A port for tests in which a server is away, at first or altogether."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.ports import held_port


@pytest.fixture
def closed_port() -> Iterator[int]:
    with held_port() as port:
        yield port
