"""One scope made of several, which may become another while engines use it.

The configuration's scope, a vault's and a token's all hold at once: what one of them hides does not exist.
When the file changes, the engines' scopes follow without a restart, because somebody who has just made a
folder private means now.
"""

from __future__ import annotations

from vaultbridge.app.config import Config, VaultConfig
from vaultbridge.app.tokens import Token
from vaultbridge.vault.scope import Scope


class LiveScope(Scope):
    """Visible is what all parts show."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: Scope) -> None:
        super().__init__()
        self.become(*parts)

    def become(self, *parts: Scope) -> None:
        # One assignment decides what is visible, so that a thread sees the old scope or the new one.
        self._parts = tuple(part for part in parts if not part.unrestricted)
        self.read_only = any(part.read_only for part in parts)
        self.max_note_bytes = min((part.max_note_bytes for part in parts), default=Scope().max_note_bytes)

    @property
    def unrestricted(self) -> bool:
        return not self._parts

    def visible(self, path: str) -> bool:
        if path.startswith(".") or "/." in path:
            return False
        return all(part.visible(path) for part in self._parts)


def parts_of(config: Config, vault: VaultConfig, token: Token | None = None) -> tuple[Scope, ...]:
    """Everything that limits one vault for one caller. Raises InvalidArgument for a bad pattern."""
    general = config.scope
    parts = [
        Scope(
            read_only=general.read_only,
            allow=general.allow,
            deny=general.deny,
            max_note_bytes=config.limits.note_bytes,
        ),
        Scope(read_only=vault.read_only, allow=vault.allow, deny=vault.deny),
    ]
    if token is not None:
        parts.append(Scope(read_only=token.read_only, allow=token.allow, deny=token.deny))
    return tuple(parts)
