"""Serves MCP on standard input and output: options, environment and configuration become a server.

A client that starts the process waits for everything that happens here before the first answer, so this
module imports next to nothing. The configuration is read, and scopes are made, only if there are any
(`configured`); vaults are chosen and opened after the first answer (`live`).

A missing vault does not end the process, because clients hardly explain why a server has ended. Tools answer
VAULT_NOT_FOUND with the vaults that exist, and work as soon as the folder appears. `MissingVaults` writes the
path to standard error once, for whoever typed the command or reads the client's log.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, make_offer
from vaultbridge.server.logs import start_logging
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
                # Somebody typed the command, so that no client waits.
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


def serve(options: StdioOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until the client has gone; returns the exit code. Raises InvalidArgument for invalid options or
    an invalid configuration, before anything is answered."""
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
    if options.allow or options.deny or may_be_configured(environ):
        # Limits take an import, for which the first answer otherwise need not wait.
        from vaultbridge.server.stdio.configured import make_limited_plan

        return make_limited_plan(options, environ, here)
    return assemble_plan(choose_vaults(options, environ, here, configured=tuple), environ)


def choose_vaults(
    options: StdioOptions, environ: Mapping[str, str], here: str, *, configured: Callable[[], Sequence[str]]
) -> StdioOptions:
    """The options with the vaults to serve; none if they are chosen later, from Obsidian's list."""
    named = [expand_variables(text, environ) for text in options.vaults]
    choice = find_named_vaults(environ, here, named=named, configured=configured)
    return replace(options, vaults=() if choice is None else choice.vaults)


def assemble_plan(
    options: StdioOptions, environ: Mapping[str, str], config: Config | None = None
) -> StdioPlan:
    """The plan without what scopes limit."""
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
        settings=_make_settings(options, config, plugins=may_have_plugins(environ)),
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


def _make_settings(options: StdioOptions, config: Config | None, *, plugins: bool) -> ProviderSettings:
    profile: Profile = options.profile or (config.tools.profile if config is not None else "full")
    return ProviderSettings(
        profile=profile,
        read_only=options.read_only,
        prompt_folder=options.prompts,
        reviewed=_is_reviewed(options, config),
        # Many clients ask for the list once, so they must not get one that changes a moment later.
        quick_list=not plugins
        if config is None
        else not (config.tools.enable or config.tools.disable or (plugins and config.tools.plugins)),
    )


def _is_reviewed(options: StdioOptions, config: Config | None) -> bool:
    """Whether changes to any vault may wait for a person."""
    if config is None:
        return options.review not in (None, "off")
    return any(
        review != "off" for review in (config.tools.review, *(vault.review for vault in config.vaults))
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
        def apply_scope(settings: ProviderSettings) -> None:
            server.offer = offer(settings)
            provider.limit(read_only=settings.read_only)

        late = LateLive(plan, environ, on_scope=apply_scope)
        engines = VaultEngines(_make_openers(plan, environ, late, missing or MissingVaults()))
        packages = plan.config is None or plan.config.tools.packages
        quick = plan.settings.quick_list and not (packages and may_have_packages(sys.path))
        provider = VaultProvider(
            engines,
            replace(plan.settings, quick_list=quick),
            make_catalog=lambda: late.get().load(),
            extend_context=lambda context: late.get().extend_context(context),
            review=lambda engine: late.get().find_rules(engine),
            at_close=late.stop,
        )
        return provider

    offer = partial(make_offer, vaults=len(plan.vaults), name=plan.name)
    server = McpServer(offer(plan.settings), make, tool_errors=plan.tool_errors)
    return server


class LateLive:
    """The part of the process that follows the configuration and opens vaults. It is loaded when it is first
    used, which is after the first answer, in a worker."""

    def __init__(
        self, plan: StdioPlan, environ: Mapping[str, str], *, on_scope: Callable[[ProviderSettings], None]
    ) -> None:
        self._plan = plan
        self._environ = environ
        self._on_scope = on_scope
        self._making = threading.Lock()
        self._live: StdioLive | None = None
        self._ended = threading.Event()

    def get(self) -> StdioLive:
        if self._live is None:
            from vaultbridge.server.stdio.live import StdioLive

            with self._making:
                if self._live is None:
                    self._live = StdioLive(
                        self._plan, self._environ, ended=self._ended, on_scope=self._on_scope
                    )
        return self._live

    def stop(self) -> None:
        self._ended.set()


def _make_openers(
    plan: StdioPlan, environ: Mapping[str, str], late: LateLive, missing: MissingVaults
) -> dict[str, Callable[[], DirectEngine]]:
    def open_vault(vault: VaultPlan) -> DirectEngine:
        try:
            return late.get().open(vault)
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
