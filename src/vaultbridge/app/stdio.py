"""MCP on standard input and output: options, environment and configuration become a server.

A client that spawns the process waits for everything that happens here before the first answer, so this
imports next to nothing: the configuration is read only when there is one, vaults are chosen and opened after
the first answer, by the provider. A vault that is missing does not end the process: clients show a dead
server badly, so tools answer VAULT_NOT_FOUND with the vaults there are, and work as soon as the folder is
there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.app.vault_choice import UNNAMED, known_to_obsidian, named
from vaultbridge.dialects.mcp import mcp_dialect
from vaultbridge.dialects.mcp_provider import Provider
from vaultbridge.dialects.mcp_server import McpServer
from vaultbridge.dialects.vault_provider import ProviderSettings, VaultProvider, offer_for
from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.transports.stdio import serve_stdio

if TYPE_CHECKING:
    from vaultbridge.app.config import Config, LogLevel, VaultConfig
    from vaultbridge.dialects.mcp_server import ToolErrors
    from vaultbridge.engine import Engine
    from vaultbridge.tools.workshop import Profile
    from vaultbridge.vault.scope import Scope

SWITCH_SECONDS: Final = 0.0005
"""How long a thread may hold the interpreter while another wants it. While an index is being built beside
them, answers would else wait 5 ms for each turn, ten times what a read takes."""

_ONLY_VAULTS: Final = frozenset({"VAULTBRIDGE_VAULT", "VAULTBRIDGE_CACHE"})


class StdioOptions(Struct, frozen=True, kw_only=True):
    """What the command line said; None and "" where it said nothing."""

    vaults: tuple[str, ...] = ()
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    profile: Profile | None = None
    tool_errors: ToolErrors | None = None
    log_level: LogLevel | None = None
    call_seconds: float | None = None
    name: str = ""
    prompts: str = "Prompts"


class VaultPlan(Struct, frozen=True, kw_only=True):
    """One vault to open: the text that finds it, and what may be seen and done there. The command line's
    limits and those of the configuration all hold at once."""

    text: str
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    config: Config | None = None
    configured: VaultConfig | None = None

    def scope(self) -> Scope:
        """Raises InvalidArgument for a pattern that cannot be read."""
        from vaultbridge.vault.scope import Scope

        own = Scope(read_only=self.read_only, allow=self.allow, deny=self.deny)
        if self.config is None:
            return own
        from vaultbridge.app.config import VaultConfig
        from vaultbridge.app.scopes import LiveScope, parts_of

        vault = self.configured or VaultConfig(path=self.text or UNNAMED)
        return LiveScope(own, *parts_of(self.config, vault))

    def open(self, environ: Mapping[str, str]) -> Engine:
        """Raises VaultNotFound, naming the vaults that Obsidian knows."""
        from vaultbridge.app.wiring import open_engine

        outside = self.configured is not None and self.configured.outside_links
        return open_engine(
            self.text, scope=self.scope(), actor="mcp", allow_outside_links=outside, environ=environ
        )


class StdioPlan(Struct, frozen=True, kw_only=True):
    """Everything decided that the first answer needs. No `vaults`: those that Obsidian knows, later.
    `everywhere` is what holds for a vault that nobody configured."""

    vaults: dict[str, VaultPlan]
    everywhere: VaultPlan
    settings: ProviderSettings
    tool_errors: ToolErrors = "auto"
    log_level: LogLevel = "info"
    call_seconds: float = CALL_SECONDS
    name: str = ""
    config: Config | None = None


def serve(options: StdioOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until the client has gone; gives the exit code. Raises InvalidArgument for options and a
    configuration that cannot be used, before anything is answered."""
    import sys

    from vaultbridge.app.logs import start_logging

    plan = planned(options, environ)
    start_logging(plan.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    server = make_server(plan, environ)
    return serve_stdio(
        mcp_dialect(server, honours_exit=True), at_end=server.close, call_seconds=plan.call_seconds
    )


def planned(options: StdioOptions, environ: Mapping[str, str]) -> StdioPlan:
    """The command line above the environment above the configuration. Raises InvalidArgument."""
    config = _config(options, environ) if may_be_configured(environ) else None
    everywhere = VaultPlan(
        text="", read_only=options.read_only, allow=options.allow, deny=options.deny, config=config
    )
    texts, configured = options.vaults, {}
    if config is not None:
        texts = tuple(vault.path for vault in config.vaults)
        configured = {vault.path: vault for vault in config.vaults}
    elif not texts:
        texts = tuple(text for text in environ.get("VAULTBRIDGE_VAULT", "").split(os.pathsep) if text)
    plans = {
        name: replace(everywhere, text=text, configured=configured.get(text))
        for name, text in named(texts).items()
    }
    chosen = StdioPlan(
        vaults=plans,
        everywhere=everywhere,
        settings=_settings(options, list(plans.values()) or [everywhere], config),
        call_seconds=options.call_seconds or CALL_SECONDS,
        tool_errors=options.tool_errors or "auto",
        log_level=options.log_level or "info",
        name=options.name,
    )
    if config is None:
        return chosen
    return replace(
        chosen,
        config=config,
        call_seconds=options.call_seconds or config.limits.call_seconds,
        tool_errors=options.tool_errors or config.tools.errors,
        log_level=options.log_level or config.log.level,
    )


def _settings(options: StdioOptions, plans: list[VaultPlan], config: Config | None) -> ProviderSettings:
    profile: Profile = options.profile or (config.tools.profile if config is not None else "full")
    read_only, restricted = options.read_only, False
    if config is not None or options.allow or options.deny:
        # Only then: scopes cost an import. Bad patterns are refused here, before anything is answered.
        scopes = [plan.scope() for plan in plans]
        # Only when no vault may be changed are the tools that change hidden; else the engines refuse.
        read_only = all(scope.read_only for scope in scopes)
        restricted = not all(scope.unrestricted for scope in scopes)
    return ProviderSettings(
        profile=profile,
        read_only=read_only,
        restricted=restricted,
        prompt_folder=options.prompts,
        quick_list=config is None or not (config.tools.enable or config.tools.disable),
    )


def make_server(plan: StdioPlan, environ: Mapping[str, str]) -> McpServer:
    async def make() -> Provider:
        from vaultbridge.app.stdio_tools import StdioTools
        from vaultbridge.dialects.vault_engines import VaultEngines

        engines = VaultEngines(_openers(plan, environ))
        tools = StdioTools(plan.config, environ, [one.text for one in plan.vaults.values()])
        return VaultProvider(engines, plan.settings, make_catalog=tools.load, at_close=tools.stop)

    offer = offer_for(plan.settings, vaults=len(plan.vaults), name=plan.name)
    return McpServer(offer, make, tool_errors=plan.tool_errors)


def _openers(plan: StdioPlan, environ: Mapping[str, str]) -> dict[str, Callable[[], Engine]]:
    plans: dict[str, VaultPlan] = plan.vaults
    if not plans:
        try:
            found = named(known_to_obsidian(environ))
            plans = {name: replace(plan.everywhere, text=text) for name, text in found.items()}
        except VaultNotFound:
            # Tried again with every call: the person may be setting up their first vault just now.
            return {
                UNNAMED: lambda: replace(plan.everywhere, text=known_to_obsidian(environ)[0]).open(environ)
            }
    return {name: (lambda one=one: one.open(environ)) for name, one in plans.items()}  # type: ignore[misc]


def may_be_configured(environ: Mapping[str, str], *, platform: str = os.name) -> bool:
    """Whether there is anything that `app.config` would find: without it, it need not be imported. May be
    true for nothing."""
    if any(name.startswith("VAULTBRIDGE_") and name not in _ONLY_VAULTS for name in environ):
        return True
    home = environ.get("HOME", "")
    if platform != "posix" or not home:
        return True
    bases = (environ.get("XDG_CONFIG_HOME", ""), home + "/.config", home + "/Library/Application Support")
    return any(base and os.path.exists(base + "/vaultbridge/config.toml") for base in bases)  # noqa: PTH110


def _config(options: StdioOptions, environ: Mapping[str, str]) -> Config:
    """The file's, with the environment and the command line's vaults above it."""
    from vaultbridge.app.config import VAULT_VARIABLE, chosen, config_file, from_environment, load

    config = load(config_file(environ))
    if not options.vaults:
        return from_environment(config, environ)
    others = {key: value for key, value in environ.items() if key != VAULT_VARIABLE}
    return replace(from_environment(config, others), vaults=chosen(config.vaults, options.vaults))
