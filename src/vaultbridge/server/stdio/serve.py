"""Serves MCP on standard input and output: options, environment and configuration become a server.

A client that starts the process waits for everything that happens here before the first answer, so this
module imports next to nothing. The configuration is read only if there is one; the provider chooses and opens
vaults after the first answer.

A missing vault does not end the process, because clients hardly explain why a server has ended. Tools answer
VAULT_NOT_FOUND with the vaults that exist, and work as soon as the folder appears. `MissingVaults` writes the
path to standard error once, for whoever typed the command or reads the client's log.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge import __version__
from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import CALL_SECONDS, SWITCH_SECONDS
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import Provider
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.stdio import serve_stdio
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, make_offer
from vaultbridge.server.vault_choice import (
    UNNAMED,
    choose_known_vault,
    expand_variables,
    find_here,
    find_named_vaults,
    name_vaults,
)

if TYPE_CHECKING:
    from vaultbridge.activity.clients import SeenClient
    from vaultbridge.engine import DirectEngine
    from vaultbridge.protocols.connection import Connection
    from vaultbridge.protocols.mcp.failures import ToolErrors
    from vaultbridge.review.policy import Review
    from vaultbridge.server.config.model import Config, LogLevel, VaultConfig
    from vaultbridge.server.stdio.live import StdioLive
    from vaultbridge.server.stdio.watch import StdioWatch
    from vaultbridge.tools.base.tool import Profile
    from vaultbridge.vault.scope import Scope


class MissingVaults:
    def __init__(self) -> None:
        self._reported: set[str] = set()

    def check(self, texts: Iterable[str], *, names_too: bool) -> None:
        """Report the folders that do not exist. With `names_too`, also names that Obsidian's list lacks:
        reading that list takes time, and no client should wait for it."""
        for text in texts:
            place = os.path.expanduser(text)
            if os.path.isdir(place):
                continue
            if os.path.basename(place) != place:
                self.report(text)
            elif names_too:
                from vaultbridge.errors import VaultNotFound
                from vaultbridge.vault.obsidian import find_vault

                try:
                    find_vault(text)
                except VaultNotFound:
                    self.report(text)

    def check_obsidian(self, environ: Mapping[str, str]) -> None:
        """Report if nobody named a vault, and Obsidian's list does not name exactly one."""
        try:
            choose_known_vault(environ)
        except VaultNotFound as error:
            sys.stderr.write(f"vaultbridge stdio: {error}\n")
            sys.stderr.flush()

    def report(self, text: str) -> None:
        if text in self._reported:
            return
        self._reported.add(text)
        place = os.path.expanduser(text)
        try:
            place = os.path.abspath(place)
        except FileNotFoundError:
            # The current folder has been deleted.
            place = text
        shown = "".join(char if char.isprintable() else "�" for char in place)
        # A folder that is there may be a mount point without its disk.
        there = os.path.isdir(place)
        missing = f"the vault at {shown} is not available" if there else f"there is no vault at {shown}"
        until = "until it is" if there else "until there is"
        sys.stderr.write(f"vaultbridge stdio: {missing}; tools answer VAULT_NOT_FOUND {until}.\n")
        sys.stderr.flush()


PACKAGE_SECTION: Final = b"[vaultbridge.tools]"
"""The section in a package's entry points that says it provides tools."""

POINTS_BYTES: Final = 64 * 1024
"""How much of a package's entry points is read: the longest have a few hundred lines."""

log = logging.getLogger("vaultbridge.stdio")

_ONLY_VAULTS: Final = frozenset({"VAULTBRIDGE_VAULT", "VAULTBRIDGE_CACHE"})


class StdioOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line; None or "" if not given."""

    vaults: tuple[str, ...] = ()
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    profile: Profile | None = None
    review: Review | None = None
    tool_errors: ToolErrors | None = None
    log_level: LogLevel | None = None
    call_seconds: float | None = None
    name: str = ""
    prompts: str = "Prompts"


class VaultPlan(Struct, frozen=True, kw_only=True):
    """One vault to open: the text that finds it, and its limits. Those of the command line and of the
    configuration all apply at once."""

    text: str
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    config: Config | None = None
    configured: VaultConfig | None = None

    def make_scopes(self, config: Config | None) -> tuple[Scope, ...]:
        """Make the scopes of this vault. Raises InvalidArgument for an invalid pattern."""
        from vaultbridge.vault.scope import Scope

        own = Scope(read_only=self.read_only, allow=self.allow, deny=self.deny)
        if config is None:
            return (own,)
        from vaultbridge.server.config.model import VaultConfig
        from vaultbridge.server.servers import make_scopes

        before = self.configured or VaultConfig(path=self.text or UNNAMED)
        vault = next((vault for vault in config.vaults if vault.path == self.text), before)
        return (own, *make_scopes(config, vault))

    def scope(self) -> Scope:
        """Make the scope at the start. Raises InvalidArgument for an invalid pattern."""
        from vaultbridge.vault.scope import LiveScope

        return LiveScope(*self.make_scopes(self.config))

    def open(self, environ: Mapping[str, str], scope: Scope) -> DirectEngine:
        """Open the vault. Raises VaultNotFound, which names the vaults in Obsidian's list."""
        from vaultbridge.server.wiring import open_engine

        outside = self.configured is not None and self.configured.outside_links
        return open_engine(
            self.text,
            scope=scope,
            actor="mcp",
            allow_outside_links=outside,
            embeddings=None if self.config is None else self.config.embeddings,
            environ=environ,
        )


class StdioPlan(Struct, frozen=True, kw_only=True):
    """Everything that must be decided before the first answer. Empty `vaults` means those in Obsidian's list,
    which is read later. `everywhere` applies to vaults without their own configuration."""

    vaults: dict[str, VaultPlan]
    everywhere: VaultPlan
    settings: ProviderSettings
    tool_errors: ToolErrors = "auto"
    log_level: LogLevel = "info"
    call_seconds: float = CALL_SECONDS
    name: str = ""
    config: Config | None = None
    options: StdioOptions = StdioOptions()

    def make_settings(self, config: Config | None) -> ProviderSettings:
        """Make the settings for a changed configuration, as far as its scopes matter."""
        plans = [replace(vault, config=config) for vault in self.vaults.values()]
        return _limit(self.settings, plans or [replace(self.everywhere, config=config)])


def serve(options: StdioOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until the client has gone; returns the exit code. Raises InvalidArgument for invalid options or
    an invalid configuration, before anything is answered."""
    from vaultbridge.server.logs import start_logging

    plan = make_plan(options, environ, find_here())
    start_logging(plan.log_level)
    log.debug("vaultbridge %s on stdio, vaults: %s", __version__, ", ".join(plan.vaults) or "not named")
    missing = MissingVaults()
    typed = _is_typed()
    missing.check((vault.text for vault in plan.vaults.values()), names_too=typed)
    if typed and not plan.vaults:
        missing.check_obsidian(environ)
    sys.setswitchinterval(SWITCH_SECONDS)
    server = make_server(plan, environ, missing)
    watches: list[StdioWatch] = []

    def attach(connection: Connection) -> SeenClient:
        from vaultbridge.server.stdio.watch import StdioWatch

        watches.append(StdioWatch([vault.text for vault in plan.vaults.values()], environ))
        return watches[0].attach(connection)

    async def end() -> None:
        for watch in watches:
            await watch.finish()
        await server.close()

    return serve_stdio(
        mcp_dialect(server, honours_exit=True), at_end=end, call_seconds=plan.call_seconds, attach=attach
    )


def make_plan(options: StdioOptions, environ: Mapping[str, str], here: str = "") -> StdioPlan:
    """Combine command line, the folder `here`, environment and configuration, in this order of precedence.
    Raises InvalidArgument."""
    named = [expand_variables(text, environ) for text in options.vaults]
    choice = find_named_vaults(environ, here, named=named, configured=lambda: _list_configured(environ))
    options = replace(options, vaults=() if choice is None else choice.vaults)
    config = _load_config(options, environ) if may_be_configured(environ) else None
    everywhere = VaultPlan(
        text="", read_only=options.read_only, allow=options.allow, deny=options.deny, config=config
    )
    texts, configured = options.vaults, {}
    if config is not None:
        texts = tuple(vault.path for vault in config.vaults)
        configured = {vault.path: vault for vault in config.vaults}
    plans = {
        name: replace(everywhere, text=text, configured=configured.get(text))
        for name, text in name_vaults(texts).items()
    }
    plan = StdioPlan(
        vaults=plans,
        everywhere=everywhere,
        settings=_make_settings(
            options, list(plans.values()) or [everywhere], config, plugins=may_have_plugins(environ)
        ),
        options=options,
        call_seconds=options.call_seconds or CALL_SECONDS,
        tool_errors=options.tool_errors or "auto",
        log_level=options.log_level or "info",
        name=options.name,
    )
    if config is None:
        return plan
    return replace(
        plan,
        config=config,
        call_seconds=config.limits.call_seconds,
        tool_errors=config.tools.errors,
        log_level=config.log.level,
    )


def _make_settings(
    options: StdioOptions, plans: list[VaultPlan], config: Config | None, *, plugins: bool
) -> ProviderSettings:
    profile: Profile = options.profile or (config.tools.profile if config is not None else "full")
    settings = ProviderSettings(
        profile=profile,
        read_only=options.read_only,
        prompt_folder=options.prompts,
        reviewed=_is_reviewed(options, config),
        # Many clients ask for the list once, so they must not get one that changes a moment later.
        quick_list=not plugins
        if config is None
        else not (config.tools.enable or config.tools.disable or (plugins and config.tools.plugins)),
    )
    if config is None and not options.allow and not options.deny:
        # Scopes need an import, which takes time.
        return settings
    return _limit(settings, plans)


def _is_reviewed(options: StdioOptions, config: Config | None) -> bool:
    """Whether changes to any vault may wait for a person."""
    if config is None:
        return options.review not in (None, "off")
    return any(
        review != "off" for review in (config.tools.review, *(vault.review for vault in config.vaults))
    )


def _limit(settings: ProviderSettings, plans: list[VaultPlan]) -> ProviderSettings:
    """Limit the settings to what the scopes of all vaults allow. Raises InvalidArgument for a bad pattern."""
    scopes = [plan.scope() for plan in plans]
    # Tools that write are hidden only if no vault is writable; otherwise the engines refuse.
    return replace(
        settings,
        read_only=all(scope.read_only for scope in scopes),
        restricted=not all(scope.unrestricted for scope in scopes),
    )


def _is_typed() -> bool:
    """Whether a person started this in a terminal, so that no client waits."""
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        return False


def make_server(
    plan: StdioPlan, environ: Mapping[str, str], missing: MissingVaults | None = None
) -> McpServer:
    async def make() -> Provider:
        from vaultbridge.protocols.mcp.vault.engines import VaultEngines
        from vaultbridge.server.stdio.live import StdioLive

        live = StdioLive(plan, environ, read=lambda: _load_config(plan.options, environ))
        engines = VaultEngines(_make_openers(plan, environ, live, missing or MissingVaults()))
        packages = plan.config is None or plan.config.tools.packages
        quick = plan.settings.quick_list and not (packages and may_have_packages(sys.path))
        provider = VaultProvider(
            engines,
            replace(plan.settings, quick_list=quick),
            make_catalog=live.load,
            extend_context=live.extend_context,
            review=live.find_rules,
            at_close=live.stop,
        )

        def apply_scope(settings: ProviderSettings) -> None:
            server.offer = offer(settings)
            provider.limit(read_only=settings.read_only)

        live.on_scope = apply_scope
        return provider

    offer = partial(make_offer, vaults=len(plan.vaults), name=plan.name)
    server = McpServer(offer(plan.settings), make, tool_errors=plan.tool_errors)
    return server


def _make_openers(
    plan: StdioPlan, environ: Mapping[str, str], live: StdioLive, missing: MissingVaults
) -> dict[str, Callable[[], DirectEngine]]:
    def open_vault(vault: VaultPlan) -> DirectEngine:
        try:
            engine = vault.open(environ, live.get_scope(vault))
            live.add_opened(engine, vault)
            return engine
        except VaultNotFound:
            if vault.text:
                missing.report(vault.text)
            raise

    plans: dict[str, VaultPlan] = plan.vaults
    if not plans:
        try:
            folders = name_vaults(choose_known_vault(environ).vaults)
            plans = {name: replace(plan.everywhere, text=text) for name, text in folders.items()}
        except VaultNotFound:
            # Try again with every call: the user may be setting up the first vault right now.
            return {
                UNNAMED: lambda: open_vault(
                    replace(plan.everywhere, text=choose_known_vault(environ).vaults[0])
                )
            }
    return {name: partial(open_vault, vault) for name, vault in plans.items()}


def may_be_configured(environ: Mapping[str, str], *, platform: str = os.name) -> bool:
    """Whether `server.config.model` may find anything; if not, it need not be imported. May be true although
    there is nothing."""
    if any(name.startswith("VAULTBRIDGE_") and name not in _ONLY_VAULTS for name in environ):
        return True
    bases = _list_config_folders(environ, platform)
    return bases is None or any(os.path.exists(base + "/config.toml") for base in bases)


def may_have_plugins(environ: Mapping[str, str], *, platform: str = os.name) -> bool:
    """Whether there is a folder for the user's own tools, perhaps an empty one."""
    bases = _list_config_folders(environ, platform)
    if chosen := environ.get("VAULTBRIDGE_CONFIG"):
        bases = (os.path.dirname(os.path.expanduser(chosen)),)
    return bases is None or any(os.path.isdir(os.path.join(base, "tools")) for base in bases)


def may_have_packages(path: Iterable[str]) -> bool:
    """Whether a package installed on `path` provides tools. Reads the files itself, because importing
    `importlib.metadata` takes longer than answering the first list."""
    for folder in path:
        try:
            members = os.scandir(folder or ".")
        except OSError:
            # It is missing, or an archive, where no packages are installed.
            continue
        with members:
            for member in members:
                if member.name.endswith((".dist-info", ".egg-info")) and _brings_tools(member.path):
                    return True
    return False


def _brings_tools(about: str) -> bool:
    try:
        with open(about + "/entry_points.txt", "rb") as points:
            return PACKAGE_SECTION in points.read(POINTS_BYTES)
    except OSError:
        return False


def _list_config_folders(environ: Mapping[str, str], platform: str) -> tuple[str, ...] | None:
    """List where the configuration may be, as far as that is known without `server.config.model`."""
    home = environ.get("HOME", "")
    if platform != "posix" or not home:
        return None
    bases = (environ.get("XDG_CONFIG_HOME", ""), home + "/.config", home + "/Library/Application Support")
    return tuple(base + "/vaultbridge" for base in bases if base)


def _list_configured(environ: Mapping[str, str]) -> list[str]:
    if not may_be_configured(environ):
        return []
    from vaultbridge.server.config.model import choose_config

    return [vault.path for vault in choose_config(environ).load().vaults]


def _load_config(options: StdioOptions, environ: Mapping[str, str]) -> Config:
    """Load the file, overridden by the environment and the command line. The command line's scope is not
    included: it narrows the file's scope instead of replacing it."""
    from vaultbridge.server.config.model import apply_environment, choose_config, describe_vaults

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
