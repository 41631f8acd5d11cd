"""What the configuration and a token show of a vault, as scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultbridge.vault.scope import Scope

if TYPE_CHECKING:
    from vaultbridge.server.config.model import Config, VaultConfig
    from vaultbridge.tokens import AccessToken


def make_scopes(config: Config, vault: VaultConfig, token: AccessToken | None = None) -> tuple[Scope, ...]:
    """Make all scopes that limit one vault for one caller. Raises InvalidArgument for a bad pattern."""
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
