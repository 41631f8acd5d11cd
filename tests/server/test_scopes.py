"""Several scopes at once, and one that becomes another."""

from __future__ import annotations

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.model import Config, LimitsConfig, ScopeConfig, VaultConfig
from vaultbridge.server.config.scopes import make_scopes
from vaultbridge.tokens import AccessToken
from vaultbridge.vault.scope import LiveScope, Scope

TOKEN = AccessToken(
    id="a", name="a", hash="0" * 64, created=0, read_only=True, allow=("Work/",), deny=("*.key",)
)


def test_a_note_must_pass_every_part() -> None:
    scope = LiveScope(Scope(allow=("Work/", "Home/")), Scope(deny=("Work/Secret/",)), Scope(allow=("Work/",)))
    assert scope.visible("Work/a.md")
    assert not scope.visible("Home/a.md")
    assert not scope.visible("Work/Secret/a.md")
    assert not scope.unrestricted


def test_nothing_hidden_is_ever_visible() -> None:
    assert not LiveScope().visible(".obsidian/app.json")
    assert not LiveScope().visible("a/.trash/b.md")
    assert LiveScope().visible("a.md")
    assert LiveScope(Scope(), Scope()).unrestricted


def test_the_strictest_part_decides_about_writing_and_size() -> None:
    scope = LiveScope(Scope(read_only=True, max_note_bytes=10), Scope(max_note_bytes=20))
    assert scope.read_only
    assert scope.max_note_bytes == 10
    scope.update(Scope())
    assert not scope.read_only
    assert scope.max_note_bytes == Scope().max_note_bytes


def test_a_scope_becomes_another() -> None:
    scope = LiveScope()
    visible = scope.visible
    assert visible("Private/a.md")
    scope.update(Scope(deny=("Private/",)))
    assert not visible("Private/a.md")
    assert not scope.unrestricted


def test_configuration_vault_and_token_all_count() -> None:
    config = Config(scope=ScopeConfig(deny=("Old/",)), limits=LimitsConfig(note_bytes=2048))
    scope = LiveScope(*make_scopes(config, VaultConfig(path="x", deny=("Work/Secret/",)), TOKEN))
    assert scope.visible("Work/a.md")
    for hidden in ("Old/a.md", "Work/Secret/a.md", "Home/a.md", "Work/my.key"):
        assert not scope.visible(hidden)
    assert scope.read_only
    assert scope.max_note_bytes == 2048


def test_a_bad_pattern_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        make_scopes(Config(scope=ScopeConfig(deny=("../x",))), VaultConfig(path="x"))
