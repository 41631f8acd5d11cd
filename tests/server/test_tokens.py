"""Tokens: shown once, stored hashed in a private file, refused as soon as they are revoked."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.tokens import FILE_NAME, TOKENS, TokenStore


def test_a_token_is_recognised_by_its_text_only(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    token, secret = store.make("phone", read_only=True, allow=("Work/",), deny=("Work/x",), vaults=("Notes",))
    assert store.check(secret) == token
    assert store.check(secret + "x") is None
    assert store.check("") is None
    assert store.check(token.hash) is None
    assert not token.unrestricted
    assert secret.startswith("vbt_")


def test_the_file_contains_no_token_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "config")
    _, secret = store.make("phone")
    file = tmp_path / "config" / FILE_NAME
    assert secret not in file.read_text()
    assert secret.removeprefix("vbt_") not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_revoked_token_is_refused_at_once_by_every_store(tmp_path: Path) -> None:
    server, command = TokenStore(tmp_path), TokenStore(tmp_path)
    token, secret = command.make("phone")
    other, other_secret = command.make("laptop")
    assert server.check(secret) == token
    command.revoke("phone")
    assert server.check(secret) is None
    assert server.check(other_secret) == other
    command.revoke(other.id)
    assert server.list_tokens() == ()
    with pytest.raises(InvalidArgument, match="no token 'phone'"):
        command.revoke("phone")


def test_a_token_expires_when_it_should(tmp_path: Path) -> None:
    now = [1000.0]
    store = TokenStore(tmp_path, clock=lambda: now[0])
    token, secret = store.make("guest", seconds=60)
    now[0] = 1059.0
    assert store.check(secret) == token
    now[0] = 1060.0
    assert store.check(secret) is None
    assert store.is_expired(token)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 81])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match="name"):
        TokenStore(tmp_path).make(name)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    store.make("phone")
    with pytest.raises(InvalidArgument, match="already"):
        store.make("phone")


def test_a_bad_pattern_is_not_stored(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    with pytest.raises(InvalidArgument, match=r"'\.\.'"):
        store.make("phone", allow=("../x",))
    assert store.list_tokens() == ()


def test_a_damaged_file_lets_nobody_in(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    _, secret = store.make("phone")
    (tmp_path / FILE_NAME).write_text("[{]")
    with pytest.raises(EngineFailure, match="damaged"):
        store.check(secret)


def test_when_the_file_goes_so_do_the_tokens(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    _, secret = store.make("phone")
    assert store.check(secret)
    (tmp_path / FILE_NAME).unlink()
    assert store.check(secret) is None


def test_changes_at_the_same_time_all_count(tmp_path: Path) -> None:
    def make(number: int) -> None:
        TokenStore(tmp_path).make(f"t{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(16)))
    assert {token.name for token in TokenStore(tmp_path).list_tokens()} == {
        f"t{number}" for number in range(16)
    }


def test_the_number_of_tokens_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultbridge.tokens.TOKENS", 2)
    assert TOKENS > 2
    store = TokenStore(tmp_path)
    store.make("a")
    store.make("b")
    with pytest.raises(InvalidArgument, match="already 2 tokens"):
        store.make("c")
