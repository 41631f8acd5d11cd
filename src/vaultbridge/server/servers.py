"""The MCP servers of one process: one for those who may use everything, one for each narrower token.

All show the same catalog over the same vaults; each has engines of its own, because an engine has one scope.
The first keeps the indexes fresh for all.

One scope made of several, which may become another while engines use it.

The configuration's scope, a vault's and a token's all hold at once: what one of them hides does not exist.
When the file changes, the engines' scopes follow without a restart, because somebody who has just made a
folder private means now.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from vaultbridge.engine import Engine
from vaultbridge.errors import PermissionDenied
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, offer_for
from vaultbridge.server.config.model import Config, VaultConfig
from vaultbridge.server.tokens import AccessToken
from vaultbridge.server.vault_choice import named
from vaultbridge.server.wiring import open_engine
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.vault.obsidian import find_vault
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


def parts_of(config: Config, vault: VaultConfig, token: AccessToken | None = None) -> tuple[Scope, ...]:
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


class ServedVault(Struct, frozen=True):
    """`name` is unique among those that are served."""

    name: str
    folder: Path
    config: VaultConfig


def served_vaults(
    wanted: Iterable[VaultConfig], environ: Mapping[str, str] = os.environ
) -> tuple[ServedVault, ...]:
    """The vaults by folder, each once. Raises VaultNotFound."""
    by_folder: dict[str, VaultConfig] = {}
    for config in wanted:
        folder = find_vault(str(Path(config.path).expanduser()), environ=environ)
        by_folder.setdefault(os.path.realpath(folder), config)
    return tuple(
        ServedVault(name, Path(folder), by_folder[folder]) for name, folder in named(list(by_folder)).items()
    )


class _Serving(Struct):
    token: AccessToken | None
    server: McpServer
    engines: VaultEngines
    scopes: dict[str, LiveScope]
    provider: VaultProvider | None = None
    """Made by the server when it first needs it."""


class Servers:
    """Made and used in the event loop."""

    def __init__(
        self,
        vaults: Sequence[ServedVault],
        catalog: Catalog,
        config: Config,
        *,
        furnish: Callable[[ToolContext], ToolContext],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._vaults = tuple(vaults)
        self._catalog = catalog
        self._config = config
        self._furnish = furnish
        self._environ = environ
        self._narrow: dict[str, _Serving] = {}
        self._full = self._made(None)

    @property
    def full(self) -> McpServer:
        """For callers without limits of their own."""
        return self._full.server

    @property
    def engines(self) -> VaultEngines:
        return self._full.engines

    def for_token(self, token: AccessToken) -> McpServer:
        """Raises PermissionDenied when none of the token's vaults is served here."""
        if token.unrestricted:
            return self.full
        serving = self._narrow.get(token.principal)
        if serving is None:
            serving = self._narrow[token.principal] = self._made(token)
        return serving.server

    def rescope(self, config: Config) -> None:
        """The configuration's scopes have changed: every engine obeys from its next call on, and where
        nothing may be changed any more, or again, the tools that do it go or come. Vaults are matched by
        their path; new ones wait for the next start."""
        self._config = config
        for serving in (self._full, *self._narrow.values()):
            for vault in self._vaults:
                scope = serving.scopes.get(vault.name)
                if scope is not None:
                    scope.become(*self._parts(vault, serving.token))
            settings = self._settings(serving.scopes, serving.token)
            serving.server.offer = offer_for(settings, vaults=len(serving.scopes))
            if serving.provider is not None:
                serving.provider.limit(read_only=settings.read_only)

    async def forget(self, valid: Iterable[str]) -> None:
        """Close the servers of tokens whose principals are not among the valid ones."""
        kept = set(valid)
        for principal in [principal for principal in self._narrow if principal not in kept]:
            await self._narrow.pop(principal).server.close()

    async def close(self) -> None:
        await self.forget(())
        await self.full.close()

    def _made(self, token: AccessToken | None) -> _Serving:
        names = {unicodedata.normalize("NFC", name) for name in token.vaults} if token is not None else ()
        wanted = [one for one in self._vaults if not names or one.name in names]
        if not wanted:
            raise PermissionDenied("This token is for other vaults.")
        scopes = {one.name: LiveScope(*self._parts(one, token)) for one in wanted}
        engines = VaultEngines({one.name: partial(self._open, one, scopes[one.name]) for one in wanted})

        async def make() -> VaultProvider:
            settings = self._settings(scopes, token)
            serving.provider = VaultProvider(
                engines, settings, make_catalog=lambda: self._catalog, shop=self._furnish
            )
            return serving.provider

        offer = offer_for(self._settings(scopes, token), vaults=len(wanted))
        server = McpServer(offer, make, tool_errors=self._config.tools.errors)
        serving = _Serving(token, server, engines, scopes)
        return serving

    def _parts(self, vault: ServedVault, token: AccessToken | None) -> tuple[Scope, ...]:
        """What limits a vault for a caller, as the configuration says now."""
        by_path = {one.path: one for one in self._config.vaults}
        return parts_of(self._config, by_path.get(vault.config.path, vault.config), token)

    def _settings(self, scopes: Mapping[str, LiveScope], token: AccessToken | None) -> ProviderSettings:
        return ProviderSettings(
            profile=self._config.tools.profile,
            read_only=all(scope.read_only for scope in scopes.values()),
            restricted=not all(scope.unrestricted for scope in scopes.values()),
            keep=token is None,
            quick_list=False,
        )

    def _open(self, vault: ServedVault, scope: LiveScope) -> Engine:
        return open_engine(
            vault.folder,
            scope=scope,
            actor="serve",
            allow_outside_links=vault.config.outside_links,
            environ=self._environ,
        )
