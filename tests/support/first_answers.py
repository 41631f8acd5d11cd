"""What `vaultbridge stdio` may load before it has answered `initialize` and the first `tools/list`.

A client waits for every one of these modules. All others are imported at the top of the modules that use
them, and are loaded in one place after the first answer, so that nobody waits for them.
`tests/stdio/test_first_answers.py` compares the list with a real process, and `tests/test_architecture.py`
allows late imports only where the list makes them necessary.
"""

from __future__ import annotations

from typing import Final

FIRST_MODULES: Final = frozenset(
    f"vaultbridge.{name}" if name else "vaultbridge"
    for name in (
        *("", "__main__", "cancellation", "errors", "event_loop", "limits"),
        *("cli", "cli.commands", "cli.stdio"),
        *("jsonrpc", "jsonrpc.codec", "jsonrpc.messages", "jsonrpc.session"),
        *(f"protocols{name}" for name in ("", ".connection", ".dialect", ".failures", ".request_queue")),
        "protocols.mcp",
        *(
            f"protocols.mcp.{name}"
            for name in (
                "apps",
                "context",
                "dialect",
                "failures",
                "methods",
                "provider",
                "server",
                "stdio",
                "subscriptions",
                "values",
                "versions",
                "wire",
            )
        ),
        "protocols.mcp.vault",
        *(f"protocols.mcp.vault.{name}" for name in ("changes", "engines", "listing", "provider", "workers")),
        *("server", "server.logs", "server.vault_choice"),
        *("server.stdio", "server.stdio.serve"),
        *("tools", "tools.suggestions"),
    )
)

FIRST_OTHERS: Final = frozenset({"__future__", "unicodedata"})
"""What may be loaded besides, if `import asyncio, msgspec` has not loaded it."""
