"""The tools of a stdio process, followed as long as it runs.

Loaded after the first answer, in the provider's worker. A thread then looks now and then whether the
configuration or the plugin files are others; the catalog tells the client. Only the tools are followed here:
the rest of the configuration counts for a process from its start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from vaultbridge.app.config import EMPTY, Config, config_file, from_environment, load
from vaultbridge.app.live_tools import LiveTools
from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.catalog import Catalog
from vaultbridge.tools.standard import standard_catalog

LOOK_SECONDS: Final = 2.0
"""How often it looks: a person who saves a tool waits no longer, and a look is a few calls of stat."""

log = logging.getLogger("vaultbridge.config")


class StdioTools:
    """`load` once, from any thread; `stop` at the end."""

    def __init__(self, config: Config | None, environ: Mapping[str, str], vaults: Iterable[str]) -> None:
        self._config = (config or EMPTY).tools
        self._environ = environ
        self._file = config_file(environ)
        self._vaults = [Path(vault).expanduser() for vault in vaults]
        self._stop = threading.Event()

    def load(self) -> Catalog:
        catalog = standard_catalog()
        tools = LiveTools(catalog, self._file.parent, self._config, self._vaults)
        tools.start()
        threading.Thread(target=self._follow, args=(tools,), name="tools-follow", daemon=True).start()
        return catalog

    def stop(self) -> None:
        self._stop.set()

    def _follow(self, tools: LiveTools) -> None:
        seen = self._stamp()
        while not self._stop.wait(LOOK_SECONDS):
            stamp = self._stamp()
            if stamp != seen:
                seen = stamp
                self._reload(tools)
            tools.look()

    def _reload(self, tools: LiveTools) -> None:
        """A file that is wrong changes nothing."""
        try:
            changed = from_environment(load(self._file), self._environ).tools
        except InvalidArgument as error:
            log.warning("The changed configuration is not used: %s", error)
            return
        if changed != self._config:
            self._config = changed
            tools.change(changed)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
