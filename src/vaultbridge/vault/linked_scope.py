"""A scope on one vault's disk: a path is as visible as what it leads to.

`Scope` decides by names. A link inside the vault gives a second name to a hidden note, so that a question
about the name alone would open it. The engine asks this scope wherever a path enters; a link to a hidden
note, or a path behind one, then does not exist, for every operation and every protocol alike.

What cannot be seen this way: a hard link and a bind mount are the file itself under another name, and nothing
on disk says which name came first (SECURITY.md).
"""

from __future__ import annotations

from vaultbridge.vault.paths import Root
from vaultbridge.vault.scope import Scope


class LinkedScope(Scope):
    """`names` is the scope that decides by names; it may change while we run, and is asked each time."""

    __slots__ = ("_root", "names")

    def __init__(self, names: Scope, root: Root) -> None:
        # Not the parent's: what it would store here is asked of `names`.
        self.names = names
        self._root = root

    @property
    def read_only(self) -> bool:  # type: ignore[override]
        return self.names.read_only

    @property
    def allow(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.allow

    @property
    def deny(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.deny

    @property
    def max_note_bytes(self) -> int:  # type: ignore[override]
        return self.names.max_note_bytes

    @property
    def unrestricted(self) -> bool:
        return self.names.unrestricted

    def visible(self, path: str) -> bool:
        if not self.names.visible(path):
            return False
        if self.names.unrestricted:
            # Nothing is hidden but what no vault path may name, and `Root` refuses to follow a link there.
            return True
        real = self._root.led_to(path)
        return real is None or not real or self.names.visible(real)
