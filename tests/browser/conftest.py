from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser.chromium import Chromium, NoBrowser, give_up


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    try:
        with Chromium.started(tmp_path_factory.mktemp("chromium")) as browser:
            yield browser
    except NoBrowser as reason:
        give_up(reason)
