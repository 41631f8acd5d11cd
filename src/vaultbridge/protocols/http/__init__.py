"""What the protocols over HTTP share: the Host and Origin rules, request bodies, the listening socket."""

from typing import Final

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""The hosts that are this machine."""
