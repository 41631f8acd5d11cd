"""Opens the vaults of a stdio process, and applies changes of the configuration and of plugin files.

Loaded after the first answer, in the provider's worker. A thread then checks every few seconds; the catalog
notifies the client when the tools change. `config.follow` decides what a change means.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from vaultbridge.errors import VaultbridgeError, VaultNotFound
from vaultbridge.review.policy import NO_REVIEW, ReviewRules
from vaultbridge.server.config.follow import QUIET_SECONDS, FollowedConfig, warn_if_inside_vault
from vaultbridge.server.config.model import EMPTY, LIVE, Config, VaultConfig, config_file
from vaultbridge.server.live_tools import LiveTools
from vaultbridge.server.logs import set_level
from vaultbridge.server.stdio.configured import limit_again, load_config, make_vault_scope, make_vault_scopes
from vaultbridge.server.unused_patterns import PatternReporter, list_patterns, list_scope_patterns
from vaultbridge.server.vault_choice import choose_known_vault
from vaultbridge.server.wiring import open_engine
from vaultbridge.system import expand_home
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.obsidian import find_vault

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine, Engine
    from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
    from vaultbridge.server.stdio.serve import StdioPlan, VaultPlan
    from vaultbridge.tools.base.catalog import Catalog
    from vaultbridge.tools.base.tool import ToolContext
    from vaultbridge.vault.scope import LiveScope

POLL_SECONDS: Final = 2.0
"""How often files are checked: a person who saves a plugin waits no longer than this, and a check is a few
calls of stat."""

UNUSED: Final = frozenset({"server", "ide", "tokens"})
"""Sections of the configuration that have no meaning over stdio."""

log = logging.getLogger("vaultbridge.config")


class StdioLive:
    """Call `load` once, from any thread. `ended` is set when the process ends. `on_scope` is called in the
    following thread with what the scopes allow in total, when that has changed."""

    def __init__(
        self,
        plan: StdioPlan,
        environ: Mapping[str, str],
        *,
        ended: threading.Event,
        on_scope: Callable[[ProviderSettings], None],
    ) -> None:
        self._plan = plan
        self._environ = environ
        self._on_scope = on_scope
        self._config = plan.config
        self._scopes: dict[str, tuple[VaultPlan, LiveScope]] = {}
        self._plans: dict[Path, VaultPlan] = {}
        self._opened: dict[Path, DirectEngine] = {}
        self._changing = threading.Lock()
        self._ended = ended

    def open(self, vault: VaultPlan) -> DirectEngine:
        """Open a vault. Raises VaultNotFound, which names the vaults in Obsidian's list."""
        engine = open_engine(
            vault.text,
            scope=self._get_scope(vault),
            actor="mcp",
            allow_outside_links=vault.configured is not None and vault.configured.outside_links,
            embeddings=None if vault.config is None else vault.config.embeddings,
            environ=self._environ,
        )
        # Its plan's configuration says which changes are reviewed.
        with self._changing:
            self._plans = {**self._plans, engine.root.folder: vault}
            self._opened = {**self._opened, engine.root.folder: engine}
        return engine

    def _get_scope(self, vault: VaultPlan) -> LiveScope:
        """Return the scope of a vault that is being opened; it follows the configuration."""
        with self._changing:
            if vault.text not in self._scopes:
                self._scopes[vault.text] = (vault, make_vault_scope(vault, self._config))
            return self._scopes[vault.text][1]

    def find_rules(self, engine: Engine) -> ReviewRules:
        """Which changes to this vault wait for a person, by the command line and the current
        configuration."""
        config, plan = self._config, self._plans.get(engine.root.folder)
        least = self._plan.options.review or "off"
        if config is None:
            return ReviewRules(least=least) if least != "off" else NO_REVIEW
        text = plan.text if plan is not None else ""
        own = next((vault for vault in config.vaults if vault.path == text), None)
        return ReviewRules(
            least=config.tools.review,
            vault="off" if own is None else own.review,
            wait_seconds=config.limits.review_seconds,
        )

    def extend_context(self, context: ToolContext) -> ToolContext:
        """Add whether tools may see what the user has open."""
        return replace(context, shares_open_files=self._shares_open)

    def load(self) -> Catalog:
        file = config_file(self._environ)
        folders = self._list_folders()
        if self._config is not None:
            warn_if_inside_vault(file, folders)
        catalog = standard_catalog()
        config = self._config or EMPTY
        tools = LiveTools(catalog, file.parent, config.tools, folders)
        tools.start()
        if code := tools.plugins.list_running():
            log.info("Code that is not vaultbridge's own runs here: %s", ", ".join(map(str, code)))
        followed = FollowedConfig(
            file,
            read=lambda: load_config(self._plan.options, self._environ),
            config=self._config or self._make_unconfigured(),
            live=LIVE,
            unused=UNUSED,
        )
        follow = threading.Thread(
            target=self._follow, args=(tools, followed), name="config-follow", daemon=True
        )
        follow.start()
        return catalog

    def _shares_open(self) -> bool:
        return self._config is None or self._config.privacy.share_selection

    def _make_unconfigured(self) -> Config:
        """The configuration in force when there was no file."""
        return Config(vaults=tuple(VaultConfig(path=vault.text) for vault in self._plan.vaults.values()))

    def _list_folders(self) -> list[Path]:
        """List the vaults' folders, as far as they are known: plugin files must not be inside."""
        texts: Sequence[str] = [vault.text for vault in self._plan.vaults.values()]
        folders = []
        try:
            texts = texts or choose_known_vault(self._environ).vaults
        except VaultNotFound:
            return []
        for text in texts:
            try:
                folders.append(Path(find_vault(text, environ=self._environ)))
            except VaultbridgeError:
                # Perhaps not mounted; every check tries again. A relative path from a folder that was
                # deleted leads nowhere.
                with contextlib.suppress(FileNotFoundError):
                    folders.append(expand_home(text).absolute())
        return folders

    def _follow(self, tools: LiveTools, followed: FollowedConfig) -> None:
        patterns = PatternReporter()
        while not self._ended.wait(POLL_SECONDS):
            try:
                self._refresh(tools, followed)
                self._report_patterns(patterns)
            except Exception:
                log.exception("applying a change to the configuration failed")

    def _refresh(self, tools: LiveTools, followed: FollowedConfig) -> None:
        if followed.has_changed() and not self._ended.wait(QUIET_SECONDS):
            change = followed.read()
            if change is not None:
                self._apply(change.config, change.keys, tools)
        tools.plugins.guard(self._list_folders())
        tools.refresh()

    def _report_patterns(self, reporter: PatternReporter) -> None:
        vaults = {}
        for folder, engine in self._opened.items():
            plan = self._plans[folder]
            patterns = [*list_scope_patterns(" on the command line", plan.allow, plan.deny)]
            if self._config is not None:
                own = next((vault for vault in self._config.vaults if vault.path == plan.text), None)
                patterns += list_patterns(self._config, own, engine.name)
            vaults[str(folder)] = engine, patterns
        with contextlib.suppress(VaultbridgeError):  # a vault that is not there now is looked at later
            reporter.check(vaults)

    def _apply(self, config: Config, keys: tuple[str, ...], tools: LiveTools) -> None:
        with self._changing:
            self._config = config
            for vault, scope in self._scopes.values():
                scope.update(*make_vault_scopes(vault, config))
        self._on_scope(limit_again(self._plan, config))
        if "log.level" in keys:
            set_level(config.log.level)
        if any(key.startswith("tools.") for key in keys):
            tools.apply(config.tools)
