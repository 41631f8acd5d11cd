"""What differs between two configurations."""

from __future__ import annotations

import pytest

from vaultbridge.server.config.follow import compare, merge
from vaultbridge.server.config.model import (
    Config,
    IdeConfig,
    ScopeConfig,
    ServerConfig,
    ToolsConfig,
    VaultConfig,
)

NOTES, WORK = VaultConfig(path="Notes"), VaultConfig(path="Work")


@pytest.mark.parametrize(
    ("before", "after", "keys"),
    [
        (Config(), Config(), []),
        (Config(), Config(ide=IdeConfig(name="x"), server=ServerConfig(port=1)), ["server.port", "ide.name"]),
        (Config(vaults=(NOTES,)), Config(vaults=(NOTES, WORK)), ["vaults.path"]),
        (Config(vaults=(NOTES, WORK)), Config(vaults=(WORK, NOTES)), ["vaults.path"]),
        (
            Config(vaults=(NOTES, WORK)),
            Config(
                vaults=(VaultConfig(path="Notes", read_only=True), VaultConfig(path="Work", read_only=True))
            ),
            ["vaults.read_only"],
        ),
    ],
)
def test_the_keys_that_differ_are_named_once(before: Config, after: Config, keys: list[str]) -> None:
    assert list(compare(before, after)) == keys


def test_only_the_named_keys_are_taken_over() -> None:
    wanted = Config(
        vaults=(NOTES,), tools=ToolsConfig(disable=("x",), profile="core"), scope=ScopeConfig(deny=("y",))
    )
    assert merge(Config(), wanted, ["tools.disable", "vaults.deny"]) == Config(
        vaults=(NOTES,), tools=ToolsConfig(disable=("x",))
    )
