"""What a configuration file and limits on the command line mean for a process of `vaultbridge stdio`.

Loaded before the first answer only if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultbridge.server.config.environment import apply_environment
from vaultbridge.server.config.model import (
    Config,
    VaultConfig,
    choose_config,
    describe_vaults,
)
from vaultbridge.server.config.scopes import make_scopes
from vaultbridge.server.stdio.serve import (
    StdioOptions,
    StdioPlan,
    VaultPlan,
    assemble_plan,
    choose_vaults,
    may_be_configured,
)
from vaultbridge.server.vault_choice import UNNAMED
from vaultbridge.vault.scope import LiveScope, Scope

if TYPE_CHECKING:
    from vaultbridge.protocols.mcp.vault.provider import ProviderSettings


def make_limited_plan(options: StdioOptions, environ: Mapping[str, str], here: str) -> StdioPlan:
    """Raises InvalidArgument for an invalid configuration or pattern."""

    def list_configured() -> list[str]:
        return [vault.path for vault in choose_config(environ).load().vaults] if configured else []

    configured = may_be_configured(environ)
    options = choose_vaults(options, environ, here, configured=list_configured)
    plan = assemble_plan(options, environ, load_config(options, environ) if configured else None)
    return replace(plan, settings=_limit(plan.settings, _list_plans(plan)))


def load_config(options: StdioOptions, environ: Mapping[str, str]) -> Config:
    """Load the file, overridden by the environment and the command line. The command line's scope is not
    included: it narrows the file's scope instead of replacing it."""
    config = choose_config(environ).load()
    below = apply_environment(config, environ)
    return replace(
        below,
        vaults=describe_vaults(config.vaults, options.vaults) or below.vaults,
        tools=replace(
            below.tools,
            profile=options.profile or below.tools.profile,
            errors=options.tool_errors or below.tools.errors,
            review=options.review or below.tools.review,
        ),
        limits=replace(below.limits, call_seconds=options.call_seconds or below.limits.call_seconds),
        log=replace(below.log, level=options.log_level or below.log.level),
    )


def limit_again(plan: StdioPlan, config: Config) -> ProviderSettings:
    """Make the settings for a changed configuration, as far as its scopes matter."""
    return _limit(plan.settings, [replace(vault, config=config) for vault in _list_plans(plan)])


def make_vault_scope(vault: VaultPlan, config: Config | None) -> LiveScope:
    """Raises InvalidArgument for an invalid pattern."""
    return LiveScope(*make_vault_scopes(vault, config))


def make_vault_scopes(vault: VaultPlan, config: Config | None) -> tuple[Scope, ...]:
    """All that limits this vault. Raises InvalidArgument for an invalid pattern."""
    own = Scope(read_only=vault.read_only, allow=vault.allow, deny=vault.deny)
    if config is None:
        return (own,)
    before = vault.configured or VaultConfig(path=vault.text or UNNAMED)
    now = next((known for known in config.vaults if known.path == vault.text), before)
    return (own, *make_scopes(config, now))


def _list_plans(plan: StdioPlan) -> Sequence[VaultPlan]:
    return list(plan.vaults.values()) or [plan.everywhere]


def _limit(settings: ProviderSettings, vaults: Sequence[VaultPlan]) -> ProviderSettings:
    """Limit the settings to what the scopes of all vaults allow."""
    scopes = [make_vault_scope(vault, vault.config) for vault in vaults]
    # Tools that write are hidden only if no vault is writable; otherwise the engines refuse.
    return replace(
        settings,
        read_only=all(scope.read_only for scope in scopes),
        restricted=not all(scope.unrestricted for scope in scopes),
    )
