"""MCP on standard input and output: options, environment and configuration become a server.

A client that spawns the process waits for everything that happens here before the first answer, so this
imports next to nothing: the configuration is read only when there is one, vaults are chosen and opened after
the first answer, by the provider. A vault that is missing does not end the process: clients show a dead
server badly, so tools answer VAULT_NOT_FOUND with the vaults there are, and work as soon as the folder is
there.

What a person sees on standard error when a vault they named is not there.

A client that spawned us shows a dead server badly, so the process goes on and its tools say what is wrong.
Whoever typed the command, or reads the client's log, needs the path: it is their own screen. Each vault is
told of once.
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
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, offer_for
from vaultbridge.server.vault_choice import UNNAMED, known_to_obsidian, named

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.server import ToolErrors
    from vaultbridge.server.config.model import Config, LogLevel, VaultConfig
    from vaultbridge.server.stdio_live import StdioLive
    from vaultbridge.tools.base.tool import Profile
    from vaultbridge.vault.scope import Scope


class MissingVaults:
    def __init__(self) -> None:
        self._told: set[str] = set()

    def look(self, texts: Iterable[str], *, names_too: bool) -> None:
        """Tell of the folders that are not there. A name that Obsidian may know is only looked up when
        `names_too`: that reads Obsidian's list, for which no client should wait."""
        for text in texts:
            place = os.path.expanduser(text)  # noqa: PTH111 - this stands before the first answer
            if os.path.isdir(place):  # noqa: PTH112
                continue
            if os.path.basename(place) != place:  # noqa: PTH119
                self.tell(text)
            elif names_too:
                from vaultbridge.errors import VaultNotFound
                from vaultbridge.vault.obsidian import find_vault

                try:
                    find_vault(text)
                except VaultNotFound:
                    self.tell(text)

    def tell(self, text: str) -> None:
        if text in self._told:
            return
        self._told.add(text)
        place = os.path.expanduser(text)  # noqa: PTH111
        try:
            place = os.path.abspath(place)  # noqa: PTH100
        except FileNotFoundError:
            # The folder that we were started in is gone.
            place = text
        shown = "".join(char if char.isprintable() else "�" for char in place)
        sys.stderr.write(
            f"vaultbridge stdio: there is no vault at {shown}; tools answer VAULT_NOT_FOUND until there is.\n"
        )
        sys.stderr.flush()


PACKAGE_SECTION: Final = b"[vaultbridge.tools]"
"""How the file with a package's entry points says that it brings tools."""

POINTS_BYTES: Final = 64 * 1024
"""How much of such a file is looked at: the longest have a few hundred lines."""

log = logging.getLogger("vaultbridge.stdio")

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

    def parts(self, config: Config | None) -> tuple[Scope, ...]:
        """Raises InvalidArgument for a pattern that cannot be read."""
        from vaultbridge.vault.scope import Scope

        own = Scope(read_only=self.read_only, allow=self.allow, deny=self.deny)
        if config is None:
            return (own,)
        from vaultbridge.server.config.model import VaultConfig
        from vaultbridge.server.servers import parts_of

        before = self.configured or VaultConfig(path=self.text or UNNAMED)
        vault = next((vault for vault in config.vaults if vault.path == self.text), before)
        return (own, *parts_of(config, vault))

    def scope(self) -> Scope:
        """As it is at the start. Raises InvalidArgument for a pattern that cannot be read."""
        from vaultbridge.server.servers import LiveScope

        return LiveScope(*self.parts(self.config))

    def open(self, environ: Mapping[str, str], scope: Scope) -> Engine:
        """Raises VaultNotFound, naming the vaults that Obsidian knows."""
        from vaultbridge.server.wiring import open_engine

        outside = self.configured is not None and self.configured.outside_links
        return open_engine(self.text, scope=scope, actor="mcp", allow_outside_links=outside, environ=environ)


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
    options: StdioOptions = StdioOptions()

    def settings_under(self, config: Config | None) -> ProviderSettings:
        """Those of another configuration, as far as its scopes go."""
        plans = [replace(one, config=config) for one in self.vaults.values()]
        return _limited(self.settings, plans or [replace(self.everywhere, config=config)])


def serve(options: StdioOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until the client has gone; gives the exit code. Raises InvalidArgument for options and a
    configuration that cannot be used, before anything is answered."""
    from vaultbridge.server.logs import start_logging

    plan = planned(options, environ)
    start_logging(plan.log_level)
    log.debug("vaultbridge %s on stdio, vaults: %s", __version__, ", ".join(plan.vaults) or "not named")
    missing = MissingVaults()
    missing.look((one.text for one in plan.vaults.values()), names_too=_is_typed())
    sys.setswitchinterval(SWITCH_SECONDS)
    server = make_server(plan, environ, missing)
    return serve_stdio(
        mcp_dialect(server, honours_exit=True), at_end=server.close, call_seconds=plan.call_seconds
    )


def planned(options: StdioOptions, environ: Mapping[str, str]) -> StdioPlan:
    """The command line above the environment above the configuration. Raises InvalidArgument."""
    options = replace(options, vaults=tuple(_filled_in(text, environ) for text in options.vaults))
    config = _config(options, environ) if may_be_configured(environ) else None
    everywhere = VaultPlan(
        text="", read_only=options.read_only, allow=options.allow, deny=options.deny, config=config
    )
    texts, configured = options.vaults, {}
    if config is not None:
        texts = tuple(vault.path for vault in config.vaults)
        configured = {vault.path: vault for vault in config.vaults}
    elif not texts:
        texts = tuple(text for text in _vaults_in(environ).split(os.pathsep) if text)
    plans = {
        name: replace(everywhere, text=text, configured=configured.get(text))
        for name, text in named(texts).items()
    }
    chosen = StdioPlan(
        vaults=plans,
        everywhere=everywhere,
        settings=_settings(
            options, list(plans.values()) or [everywhere], config, plugins=may_have_plugins(environ)
        ),
        options=options,
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
        call_seconds=config.limits.call_seconds,
        tool_errors=config.tools.errors,
        log_level=config.log.level,
    )


def _vaults_in(environ: Mapping[str, str]) -> str:
    said = environ.get("VAULTBRIDGE_VAULT", "")
    return os.pathsep.join(_filled_in(text, environ) for text in said.split(os.pathsep))


def _filled_in(text: str, environ: Mapping[str, str]) -> str:
    """With `$NAME` and `${NAME}` filled in, as a shell would do if one stood between the list of servers that
    a person wrote and us. A folder that is called so, and a variable that is not set, stay as they are."""
    if "$" not in text or os.path.isdir(text):  # noqa: PTH112
        return text
    import re

    return re.sub(
        r"\$(?:(\w+)|\{(\w+)\})",
        lambda found: environ.get(found[1] or found[2], found[0]),
        text,
        flags=re.ASCII,
    )


def _settings(
    options: StdioOptions, plans: list[VaultPlan], config: Config | None, *, plugins: bool
) -> ProviderSettings:
    profile: Profile = options.profile or (config.tools.profile if config is not None else "full")
    settings = ProviderSettings(
        profile=profile,
        read_only=options.read_only,
        prompt_folder=options.prompts,
        # Many clients ask for the list once: one that will be another in a moment must not be shown.
        quick_list=not plugins
        if config is None
        else not (config.tools.enable or config.tools.disable or (plugins and config.tools.plugins)),
    )
    if config is None and not options.allow and not options.deny:
        # Scopes cost an import.
        return settings
    return _limited(settings, plans)


def _limited(settings: ProviderSettings, plans: list[VaultPlan]) -> ProviderSettings:
    """With what the vaults' scopes allow in all. Raises InvalidArgument for a bad pattern."""
    scopes = [plan.scope() for plan in plans]
    # Only when no vault may be changed are the tools that change hidden; else the engines refuse.
    return replace(
        settings,
        read_only=all(scope.read_only for scope in scopes),
        restricted=not all(scope.unrestricted for scope in scopes),
    )


def _is_typed() -> bool:
    """Whether a person started this in a terminal, and no client waits."""
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        return False


def make_server(
    plan: StdioPlan, environ: Mapping[str, str], missing: MissingVaults | None = None
) -> McpServer:
    async def make() -> Provider:
        from vaultbridge.protocols.mcp.vault.engines import VaultEngines
        from vaultbridge.server.stdio_live import StdioLive

        live = StdioLive(plan, environ, read=lambda: _config(plan.options, environ))
        engines = VaultEngines(_openers(plan, environ, live, missing or MissingVaults()))
        packages = plan.config is None or plan.config.tools.packages
        quick = plan.settings.quick_list and not (packages and may_have_packages(sys.path))
        provider = VaultProvider(
            engines,
            replace(plan.settings, quick_list=quick),
            make_catalog=live.load,
            shop=live.furnished,
            at_close=live.stop,
        )

        def obey(settings: ProviderSettings) -> None:
            server.offer = offer(settings)
            provider.limit(read_only=settings.read_only)

        live.on_scope = obey
        return provider

    offer = partial(offer_for, vaults=len(plan.vaults), name=plan.name)
    server = McpServer(offer(plan.settings), make, tool_errors=plan.tool_errors)
    return server


def _openers(
    plan: StdioPlan, environ: Mapping[str, str], live: StdioLive, missing: MissingVaults
) -> dict[str, Callable[[], Engine]]:
    def opened(one: VaultPlan) -> Engine:
        try:
            return one.open(environ, live.scope_of(one))
        except VaultNotFound:
            if one.text:
                missing.tell(one.text)
            raise

    plans: dict[str, VaultPlan] = plan.vaults
    if not plans:
        try:
            found = named(known_to_obsidian(environ))
            plans = {name: replace(plan.everywhere, text=text) for name, text in found.items()}
        except VaultNotFound:
            # Tried again with every call: the person may be setting up their first vault just now.
            return {UNNAMED: lambda: opened(replace(plan.everywhere, text=known_to_obsidian(environ)[0]))}
    return {name: partial(opened, one) for name, one in plans.items()}


def may_be_configured(environ: Mapping[str, str], *, platform: str = os.name) -> bool:
    """Whether there is anything that `server.config.model` would find: without it, it need not be imported.
    May be true for nothing."""
    if any(name.startswith("VAULTBRIDGE_") and name not in _ONLY_VAULTS for name in environ):
        return True
    bases = _config_folders(environ, platform)
    return bases is None or any(os.path.exists(base + "/config.toml") for base in bases)  # noqa: PTH110


def may_have_plugins(environ: Mapping[str, str], *, platform: str = os.name) -> bool:
    """Whether there is a folder for a person's own tools. May be true for an empty one."""
    bases = _config_folders(environ, platform)
    if chosen := environ.get("VAULTBRIDGE_CONFIG"):
        bases = (os.path.dirname(os.path.expanduser(chosen)),)  # noqa: PTH111, PTH120
    return bases is None or any(os.path.isdir(os.path.join(base, "tools")) for base in bases)  # noqa: PTH112, PTH118


def may_have_packages(path: Iterable[str]) -> bool:
    """Whether a package that is installed on `path` brings tools. Read off its files: `importlib.metadata`
    takes longer to import than everything else takes to answer the first list."""
    for folder in path:
        try:
            members = os.scandir(folder or ".")
        except OSError:
            # Not there, or an archive, as which nobody installs a package.
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


def _config_folders(environ: Mapping[str, str], platform: str) -> tuple[str, ...] | None:
    """Where the configuration may lie, as far as that is known without `server.config.model`."""
    home = environ.get("HOME", "")
    if platform != "posix" or not home:
        return None
    bases = (environ.get("XDG_CONFIG_HOME", ""), home + "/.config", home + "/Library/Application Support")
    return tuple(base + "/vaultbridge" for base in bases if base)


def _config(options: StdioOptions, environ: Mapping[str, str]) -> Config:
    """The file's, with the environment and the command line above it. What the command line says of scopes is
    not in it: that narrows the file's and does not replace it."""
    from vaultbridge.server.config.model import VAULT_VARIABLE, chosen, config_file, from_environment, load

    config = load(config_file(environ))
    others = {key: value for key, value in environ.items() if key != VAULT_VARIABLE or not options.vaults}
    if VAULT_VARIABLE in others:
        others[VAULT_VARIABLE] = _vaults_in(environ)
    below = from_environment(config, others)
    return replace(
        below,
        vaults=chosen(config.vaults, options.vaults) or below.vaults,
        tools=replace(
            below.tools,
            profile=options.profile or below.tools.profile,
            errors=options.tool_errors or below.tools.errors,
        ),
        limits=replace(below.limits, call_seconds=options.call_seconds or below.limits.call_seconds),
        log=replace(below.log, level=options.log_level or below.log.level),
    )
