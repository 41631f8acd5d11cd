"""A folder for plugin files, with a vault beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.plugins import PluginFolder


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[PluginFolder]:
    (tmp_path / "vault").mkdir()
    found = PluginFolder(tmp_path / "tools", tmp_path / "vault")
    yield found
    found.registry.clear()
