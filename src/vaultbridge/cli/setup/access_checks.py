"""What `doctor` says about access: patterns that hide nothing, and code that is not ours but runs in our
servers. Also the form of every finding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vaultbridge.assistants.catalog import ASSISTANTS, find_config_file
from vaultbridge.assistants.config_file import list_servers, read_text
from vaultbridge.assistants.entry import find_entry_vault, parse_entry, starts_vaultbridge
from vaultbridge.errors import VaultbridgeError
from vaultbridge.plugins.registry import FOLDER, PluginRegistry
from vaultbridge.server.config.model import choose_config, resolve_path
from vaultbridge.server.unused_patterns import find_unused, list_patterns, list_scope_patterns
from vaultbridge.server.vault_choice import choose_vaults, find_here
from vaultbridge.tokens import TokenStore
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.vault.walk import list_folders

if TYPE_CHECKING:
    from vaultbridge.protocols.claude_ide.doctor import CheckStatus
    from vaultbridge.server.config.model import ToolsConfig
    from vaultbridge.server.unused_patterns import ScopePattern
    from vaultbridge.vault.paths import VaultFolder


class Finding(Struct, frozen=True):
    """`advice` is empty when there is nothing to do. `fixed` says what --fix has done."""

    area: str
    name: str
    status: CheckStatus
    found: str
    advice: str = ""
    fixed: str = ""


def list_some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def check_code(folder: Path, tools: ToolsConfig) -> Finding:
    """List what runs in our servers without being ours. Nothing of it is run here."""
    vaults: list[Path] = []
    with suppress(VaultbridgeError):
        vaults = [Path(vault) for vault in choose_vaults(os.environ, find_here()).vaults]
    registry = PluginRegistry(
        Catalog(), folder / FOLDER, vaults=vaults, reserved=frozenset(), switch=lambda tool: None
    )
    sources = registry.list_sources(files=tools.plugins, packages=tools.packages)
    if not sources:
        return Finding("System", "third-party code", "good", "none: no plugins and no packages with tools")
    found = list_some([str(source) for source in sources], most=20)
    advice = "It can do whatever you can. To leave it out, set tools.plugins or tools.packages to false."
    return Finding("System", "third-party code", "warning", found, advice)


def check_patterns(root: VaultFolder, files: list[str]) -> Iterator[Finding]:
    """Look for patterns of scopes that match nothing: a typing error there hides nothing."""
    vault = root.folder
    file = choose_config(os.environ)
    try:
        config = file.load()
        tokens = [
            token for token in TokenStore(file.path.parent).list_tokens() if token.covers(vault.name, vault)
        ]
    except VaultbridgeError:
        return  # reported above
    own = next((known for known in config.vaults if resolve_path(known.path) == str(vault)), None)
    patterns = [*list_patterns(config, own, vault.name, tokens), *_list_started_patterns(vault)]
    unused = find_unused(patterns, files, lambda: list_folders(root))
    for about in unused:
        if about.empty_folder:
            yield Finding("Vault", "scope", "unknown", str(about))
            continue
        advice = "Correct it, or leave it if the folder will be made later."
        yield Finding("Vault", "scope", "warning", str(about), advice)
    if patterns and not unused:
        yield Finding("Vault", "scope", "good", f"each of {len(patterns)} patterns matches something")


def _list_started_patterns(vault: Path) -> Iterator[ScopePattern]:
    """The patterns in the entries of ours in the assistants' files."""
    for assistant in ASSISTANTS:
        file = find_config_file(assistant, os.environ, here=Path.cwd())
        with suppress(VaultbridgeError):  # reported with the assistants
            for name, entry in list_servers(read_text(file) or "", assistant).items():
                if not starts_vaultbridge(entry) or find_entry_vault(entry) != vault:
                    continue
                words = parse_entry(entry)
                given: dict[str, list[str]] = {"--allow": [], "--deny": []}
                for word, following in zip(words, [*words[1:], ""], strict=True):
                    option, equals, value = word.partition("=")
                    if option in given:
                        given[option].append(value if equals else following)
                where = f" in {assistant.name} {name}"
                yield from list_scope_patterns(where, given["--allow"], given["--deny"])
