"""A configuration file is read again when it has changed and nobody is writing it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from vaultbridge.server.config.follow import FollowedChange, FollowedConfig, warn_if_inside_vault
from vaultbridge.server.config.model import LIVE, Config, load_config


class Follower:
    def __init__(self, file: Path, *unused: str) -> None:
        self.file = file
        self.followed = FollowedConfig(
            file,
            read=lambda: load_config(file),
            config=load_config(file),
            live=LIVE,
            unused=frozenset(unused),
        )

    def look(self) -> FollowedChange | None:
        return self.followed.read() if self.followed.has_changed() else None

    def write(self, text: str) -> FollowedChange | None:
        passing = self.file.with_suffix(".new")
        passing.write_text(text, "utf-8")
        passing.replace(self.file)
        return self.look()


@pytest.fixture
def file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    caplog.set_level(logging.INFO, "vaultbridge")
    return tmp_path / "config.toml"


def test_live_settings_are_distinguished_from_those_that_wait(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    follower = Follower(file)
    change = follower.write("[scope]\nread_only = true\n[server]\nport = 4000\n[[vaults]]\npath = 'New'\n")
    assert change is not None
    assert change.keys == ("scope.read_only",)
    assert change.config.scope.read_only
    assert change.config.server.port is None
    assert "Now in effect: scope.read_only" in caplog.text
    assert "These take effect at the next start: vaults.path, server.port" in caplog.text


def test_a_file_is_read_once(file: Path) -> None:
    follower = Follower(file)
    assert follower.write("[scope]\nread_only = true\n") is not None
    assert not follower.followed.has_changed()


def test_a_change_between_the_start_and_the_first_look_is_not_lost(file: Path) -> None:
    file.write_text("")
    follower = Follower(file)
    file.write_text("[log]\nlevel = 'debug'\n")
    change = follower.look()
    assert change is not None
    assert change.keys == ("log.level",)


def test_without_a_file_there_is_nothing_to_follow(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert Follower(file).look() is None
    assert caplog.text == ""


def test_a_file_that_is_being_written_is_left_until_it_is_whole(file: Path) -> None:
    """Emptied before it is written, it hides nothing for a moment; that moment must not count."""
    file.write_text("[scope]\ndeny = ['Private/']\n")
    follower = Follower(file)
    assert follower.look() is None
    file.write_text("")
    assert follower.followed.has_changed()
    file.write_text("[scope]\ndeny = ['Private/', 'Diary/']\n")
    assert follower.followed.read() is None
    change = follower.look()
    assert change is not None
    assert change.config.scope.deny == ("Private/", "Diary/")


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_a_file_that_changes_just_before_it_is_read_hides_as_much_as_before(file: Path, how: str) -> None:
    """Between the last look at it and the reading: what was read then was an empty configuration."""
    file.write_text("[scope]\ndeny = ['Private/']\n")
    replaced: list[str] = []

    def read() -> Config:
        if replaced:
            replaced.clear()
            if how == "emptied":
                file.write_text("")
            else:
                file.unlink()
        return load_config(file)

    followed = FollowedConfig(file, read=read, config=load_config(file), live=LIVE)
    assert followed.has_changed() and followed.read() is None
    file.write_text("[scope]\ndeny = ['Private/', 'Diary/']\n")
    replaced.append(how)
    assert followed.has_changed() and followed.read() is None
    assert followed.in_force.scope.deny == ("Private/",)
    file.write_text("[scope]\ndeny = ['Private/', 'Diary/', 'More/']\n")
    assert followed.has_changed()
    change = followed.read()
    assert change is not None
    assert change.config.scope.deny == ("Private/", "Diary/", "More/")


def test_a_deleted_configuration_file_leaves_its_settings_in_force(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text("[scope]\ndeny = ['Private/']\n")
    follower = Follower(file)
    follower.look()
    file.unlink()
    assert follower.look() is None
    assert follower.look() is None
    assert caplog.text.count("The configuration file is gone") == 1
    change = follower.write("[scope]\ndeny = ['Other/']\n")
    assert change is not None
    assert change.config.scope.deny == ("Other/",)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (b"[scope]\nreadonly = true\n", "line 2: scope.readonly is not a known key. Did you mean read_only?"),
        (b"[scope\n", "line 1: this line is not TOML"),
        (b"\xff", "line 1: this line is not UTF-8 text"),
    ],
)
def test_a_file_with_an_error_changes_nothing_and_is_reported_once(
    file: Path, caplog: pytest.LogCaptureFixture, fault: bytes, says: str
) -> None:
    file.write_text("[scope]\ndeny = ['Private/']\n")
    follower = Follower(file)
    follower.look()
    file.write_bytes(fault)
    assert follower.look() is None
    assert follower.look() is None
    assert caplog.text.count(f"The changed configuration is invalid and not used: config.toml, {says}") == 1
    change = follower.write("[scope]\nread_only = true\n")
    assert change is not None
    assert set(change.keys) == {"scope.read_only", "scope.deny"}


def test_a_section_that_means_nothing_here_is_not_mentioned(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    follower = Follower(file, "server", "tokens")
    assert follower.write("[server]\nport = 1\n[tokens]\nrequired = true\n") is None
    assert caplog.text == ""


def test_settings_that_wait_are_not_applied_with_live_ones(file: Path) -> None:
    follower = Follower(file)
    follower.write("[tools]\nprofile = 'core'\n")
    change = follower.write("[tools]\nprofile = 'core'\ndisable = ['search']\n")
    assert change is not None
    assert change.config == Config(tools=change.config.tools)
    assert (change.config.tools.profile, change.config.tools.disable) == ("full", ("search",))


def test_a_configuration_that_an_assistant_could_change_is_reported(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_if_inside_vault(file, [file.parent / "Notes"])
    warn_if_inside_vault(file.parent / ".config" / "vaultbridge" / "config.toml", [file.parent])
    assert caplog.text == ""
    warn_if_inside_vault(file, [file.parent])
    assert f"config.toml is inside the vault {file.parent.name}" in caplog.text
