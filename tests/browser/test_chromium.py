"""The browser that the tests start."""

from __future__ import annotations

import socket
from pathlib import Path

from browser.chromium import Chromium, NoBrowser, give_up
from support.waiting import wait_until


def test_the_browser_ends_with_its_test(tmp_path: Path) -> None:
    """Also when the command is a script that starts it: then only the script would be ended."""
    try:
        with Chromium.started(tmp_path) as chromium:
            assert is_listening(chromium.port)
    except NoBrowser as reason:
        give_up(reason)
    wait_until(lambda: not is_listening(chromium.port))


def is_listening(port: int) -> bool:
    with socket.socket() as dialing:
        return dialing.connect_ex(("127.0.0.1", port)) == 0
