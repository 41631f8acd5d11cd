"""One process that connects an Obsidian vault to every AI assistant.

For scripts and notebooks, without a server:

    import vaultbridge

    with vaultbridge.open("Notes") as vault:
        for hit in vault.search("window arrangements"):
            print(hit.path, hit.line, hit.text)

`vaultbridge.api` explains it. `vaultbridge.plugins` is for your own tools, `vaultbridge.client` for programs
that talk to MCP servers. Everything else may change at any time.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultbridge import errors
    from vaultbridge.api import Edit, Hit, Link, Note, Passage, Task, Vault, open  # noqa: A004 - its public name

__all__ = ["Edit", "Hit", "Link", "Note", "Passage", "Task", "Vault", "__version__", "errors", "open"]


def __getattr__(name: str) -> "Any":
    # Imported when first used: a client that starts `vaultbridge stdio` waits for everything imported here.
    if name == "errors":
        from importlib import import_module

        return import_module("vaultbridge.errors")
    if name in __all__:
        from vaultbridge import api

        return getattr(api, name)
    raise AttributeError(f"module 'vaultbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
