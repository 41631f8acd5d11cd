"""The app with the companion, and a client on the IDE socket, beside the `server` of a test module."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from companion.obsidian import Obsidian, obsidian
from support.editor import Client
from support.serve import Home


@pytest.fixture
async def app(server: Home, vault: Path) -> AsyncIterator[Obsidian]:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        yield app


@pytest.fixture
async def client(server: Home) -> AsyncIterator[Client]:
    async with server.client() as client:
        yield client
