"""Opens WebSockets to servers of the test, with no limit or detour of the library's own.

By default, `websockets` gives up on a handshake after 10 seconds and on an unanswered ping after 20. A busy
machine may need longer. It also goes through the proxy that the environment names.
"""

from __future__ import annotations

from typing import Any

import websockets

from support.waiting import BOUND


def dial(url: str, **options: Any) -> websockets.connect:
    limits = {"open_timeout": BOUND, "ping_interval": None, "proxy": None}
    return websockets.connect(url, **{**limits, **options})
