"""The port and token that outlive the process."""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from vaultbridge.protocols.editor.endpoint_file import (
    FILE_NAME,
    Endpoint,
    find_running,
    list_running,
    load_endpoint,
    make_token,
    mark_stopped,
    remove_guest_endpoint,
    save_endpoint,
    save_guest_endpoint,
)

KNOWN = Endpoint(port=3000, token=str(uuid.UUID(int=7)), pid=12, vault="/vault")


def test_a_saved_endpoint_is_loaded_again(tmp_path: Path) -> None:
    save_endpoint(tmp_path, KNOWN)
    assert load_endpoint(tmp_path) == KNOWN


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    save_endpoint(tmp_path / "cache", KNOWN)
    assert stat.S_IMODE((tmp_path / "cache" / FILE_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [FILE_NAME]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"port": 3000}',
        b'{"port": 0, "token": "00000000-0000-0000-0000-000000000007"}',
        b'{"port": 70000, "token": "00000000-0000-0000-0000-000000000007"}',
        b'{"port": 3000, "token": "short"}',
        b'{"port": 3000, "token": "00000000-0000-0000-0000-000000000007", "certificate": "no"}',
        b'{"port": 3000, "token": "00000000-0000-0000-0000-000000000007", "certificate": "00ff"}',
        b"\xff\xfe",
        b" " * 100_000,
    ],
)
def test_a_broken_file_counts_as_missing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    assert load_endpoint(tmp_path) is None


@pytest.mark.parametrize(
    ("known", "url", "link"),
    [
        (KNOWN, "http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        (replace(KNOWN, host="::1"), "http://[::1]:3000", "http://[::1]:3000"),
        (
            replace(KNOWN, certificate="ab" * 32, name="vault.test"),
            "https://127.0.0.1:3000",
            "https://vault.test:3000",
        ),
    ],
)
def test_programs_use_the_address_and_people_the_name(known: Endpoint, url: str, link: str) -> None:
    assert (known.url, known.link) == (url, link)


def test_a_file_from_before_there_were_hosts_means_this_machine(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(f'{{"port": 3000, "token": "{KNOWN.token}"}}')
    known = load_endpoint(tmp_path)
    assert known is not None and known.url == "http://127.0.0.1:3000"


def test_without_a_saved_endpoint_none_is_loaded(tmp_path: Path) -> None:
    assert load_endpoint(tmp_path / "nowhere") is None


def test_a_clean_end_keeps_port_and_token(tmp_path: Path) -> None:
    save_endpoint(tmp_path, KNOWN)
    mark_stopped(tmp_path, 12)
    again = load_endpoint(tmp_path)
    assert again is not None
    assert (again.port, again.token, again.pid) == (KNOWN.port, KNOWN.token, 0)


def test_the_end_of_another_process_changes_nothing(tmp_path: Path) -> None:
    save_endpoint(tmp_path, KNOWN)
    mark_stopped(tmp_path, 99)
    assert load_endpoint(tmp_path) == KNOWN


def test_tokens_are_random_uuids_of_version_4() -> None:
    """Seed 000, Authentication Flow 1."""
    tokens = {make_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(uuid.UUID(token).version == 4 for token in tokens)


def make_endpoint(port: int, vault: str = "/vault") -> Endpoint:
    return Endpoint(port=port, token=make_token(), pid=os.getpid(), vault=vault)


def test_all_vaults_with_a_living_bridge_are_found_in_the_folder_of_caches(tmp_path: Path) -> None:
    save_endpoint(tmp_path / "b", make_endpoint(3))
    save_endpoint(tmp_path / "a", make_endpoint(2))
    save_endpoint(tmp_path / "ended", replace(KNOWN, pid=0))
    save_guest_endpoint(tmp_path / "g", make_endpoint(2, "/guest"))
    (tmp_path / "c").mkdir()
    found = [(known.port, known.vault) for known in list_running(tmp_path)]
    assert found == [(2, "/vault"), (3, "/vault"), (2, "/guest")]
    assert list(list_running(tmp_path / "nowhere")) == []


def test_a_guest_keeps_its_own_port_and_token(tmp_path: Path) -> None:
    own = replace(KNOWN, pid=0)
    save_endpoint(tmp_path, own)
    host = make_endpoint(4000)
    save_guest_endpoint(tmp_path, host)
    assert load_endpoint(tmp_path) == own and find_running(tmp_path) == host
    remove_guest_endpoint(tmp_path, os.getpid() + 1)
    assert find_running(tmp_path) == host
    remove_guest_endpoint(tmp_path, os.getpid())
    assert find_running(tmp_path) is None and load_endpoint(tmp_path) == own
    remove_guest_endpoint(tmp_path, os.getpid())


def test_a_vaults_own_running_bridge_comes_before_another_vaults(tmp_path: Path) -> None:
    save_guest_endpoint(tmp_path, make_endpoint(4000))
    save_endpoint(tmp_path, own := make_endpoint(5000))
    assert find_running(tmp_path) == own
