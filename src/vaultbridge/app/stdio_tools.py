"""The tools of a stdio process, followed as long as it runs.

Loaded after the first answer, in the provider's worker. A thread then looks now and then whether the
configuration or the plugin files are others; the catalog tells the client. Only the tools are followed here:
the rest of the configuration counts for a process from its start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import InvalidArgument

if TYPE_CHECKING:
    from pathlib import Path

    from vaultbridge.app.config import Config
    from vaultbridge.app.live_tools import LiveTools
    from vaultbridge.tools.catalog import Catalog

LOOK_SECONDS: Final = 2.0
"""How often it looks: a person who saves a tool waits no longer, and a look is a few calls of stat."""

log = logging.getLogger("vaultbridge.config")


class StdioTools:
    """`load` once, from any thread; `stop` at the end. Making one imports nothing: that happens before the
    first list of tools is answered."""

    def __init__(self, config: Config | None, environ: Mapping[str, str], vaults: Iterable[str]) -> None:
        self._given = config
        self._environ = environ
        self._vaults = tuple(vaults)
        self._stop = threading.Event()

    def load(self) -> Catalog:
        from pathlib import Path

        from vaultbridge.app.config import EMPTY, config_file
        from vaultbridge.app.live_tools import LiveTools
        from vaultbridge.tools.standard import standard_catalog

        file = config_file(self._environ)
        catalog = standard_catalog()
        config = (self._given or EMPTY).tools
        tools = LiveTools(catalog, file.parent, config, [Path(vault).expanduser() for vault in self._vaults])
        tools.start()
        follow = threading.Thread(target=self._follow, args=(tools, file), name="tools-follow", daemon=True)
        follow.start()
        return catalog

    def stop(self) -> None:
        self._stop.set()

    def _follow(self, tools: LiveTools, file: Path) -> None:
        from vaultbridge.app.reload import stamp

        seen = stamp(file)
        while not self._stop.wait(LOOK_SECONDS):
            found = stamp(file)
            if found != seen:
                seen = found
                self._reload(tools, file)
            tools.look()

    def _reload(self, tools: LiveTools, file: Path) -> None:
        """A file that is wrong changes nothing."""
        from vaultbridge.app.config import from_environment, load

        try:
            tools.change(from_environment(load(file), self._environ).tools)
        except InvalidArgument as error:
            log.warning("The changed configuration is not used: %s", error)
