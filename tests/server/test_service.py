"""The definitions of the service: each is what its system reads, and says the same when we read it again."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.systemctl import read_unit
from support.waiting import BOUND
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.protocols.editor.endpoint_file import Endpoint, make_token, save_endpoint
from vaultbridge.server.config.model import Config, ServerConfig
from vaultbridge.server.service.definition import Service, make_service
from vaultbridge.server.service.install import (
    check_system,
    choose_port,
    end_temporary,
    find_kind,
    find_service,
)
from vaultbridge.server.service.launchd import Launchd
from vaultbridge.server.service.systemd import Systemd
from vaultbridge.server.service.task_scheduler import NAMESPACE, TaskScheduler

ODD = (
    "/home/me/My Notes",
    "/home/me/50 % done %h",
    "/home/me/$HOME ${HOME} $$",
    '/home/me/say "cheese"',
    "/home/me/back\\slash\\",
    "/home/me/日记 📓 näher",
    "/home/me/a'b;c|d&e <f> #g",
    "/home/me/-v",
)
SERVICE = Service(("/opt/pro gram 5 %/vaultbridge",), ODD, 3456, (("VAULTBRIDGE_CACHE", '/tmp/50 % "x" $y'),))
KINDS = [Systemd(), Launchd(), TaskScheduler()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_definition_is_read_as_it_was_meant(kind: Systemd | Launchd | TaskScheduler) -> None:
    windows = isinstance(kind, TaskScheduler)
    vaults = tuple(vault for vault in ODD if '"' not in vault) if windows else ODD
    service = Service(SERVICE.program, vaults, 3456, () if windows else SERVICE.environ)
    assert kind.parse(kind.render(service)) == service


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("data", [b"", b"x", b"\xff\xfe\0", b"[Service]\nExecStart=/bin/true\n", b"<a/>"])
def test_what_is_not_ours_is_not_read(kind: Systemd | Launchd | TaskScheduler, data: bytes) -> None:
    assert kind.parse(data) is None


def test_a_unit_has_the_words_that_systemd_reads() -> None:
    words, environ = read_unit(Systemd().render(SERVICE).decode())
    assert tuple(words) == SERVICE.command and environ == dict(SERVICE.environ)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """It also looks for the program, so that its path must have been understood."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    program = tmp_path / "pro gram 5 % é $HOME" / "vaultbridge"
    program.parent.mkdir()
    program.symlink_to("/bin/true")
    unit = tmp_path / "vaultbridge.service"

    def verify(service: Service) -> subprocess.CompletedProcess[str]:
        unit.write_bytes(Systemd().render(service))
        command = ["systemd-analyze", "verify", "--user", str(unit)]
        environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=BOUND, check=False, env=environ
        )

    missing = verify(Service((str(program.with_name("gone")),), ODD, 3456, SERVICE.environ))
    if "is not executable" not in missing.stderr:
        pytest.skip("systemd-analyze cannot verify a unit here")
    accepted = verify(Service((str(program),), ODD, 3456, SERVICE.environ))
    assert "vaultbridge.service" not in accepted.stderr, accepted.stderr


def test_a_launch_agent_is_a_property_list() -> None:
    agent = plistlib.loads(Launchd().render(SERVICE))
    assert agent["ProgramArguments"] == list(SERVICE.command)
    assert agent["EnvironmentVariables"] == dict(SERVICE.environ)
    assert agent["RunAtLoad"] is True and agent["KeepAlive"] == {"SuccessfulExit": False}


def test_a_task_is_xml_in_the_order_of_its_schema() -> None:
    service = Service(("C:\\pro gram\\vaultbridge.exe",), ("C:\\Notes & more\\",), 3456)
    data = TaskScheduler().render(service)
    assert data.startswith(b"\xff\xfe")
    task = ElementTree.fromstring(data)
    assert [child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in task] == [
        "RegistrationInfo", "Triggers", "Principals", "Settings", "Actions",
    ]  # fmt: skip
    place = f"./{{{NAMESPACE}}}Actions/{{{NAMESPACE}}}Exec/{{{NAMESPACE}}}"
    assert task.findtext(f"{place}Command") == "C:\\pro gram\\vaultbridge.exe"
    arguments = 'serve "C:\\Notes & more\\\\" --host 127.0.0.1 --port 3456 --require-token'
    assert task.findtext(f"{place}Arguments") == arguments
    assert TaskScheduler().parse(data) == service


@pytest.mark.parametrize(
    ("platform", "name"), [("linux", "systemd"), ("darwin", "launchd"), ("win32", "Task Scheduler")]
)
def test_each_system_has_its_own(platform: str, name: str) -> None:
    assert find_kind(platform).name == name


@pytest.mark.parametrize("vault", ["/a\nb", "/a\x7fb", "/a\udcffb"])
def test_a_path_that_no_definition_can_contain_is_refused(vault: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be given"):
        make_service(["vaultbridge"], [Path(vault)], 3000, {})


def test_it_listens_on_this_machine_only_and_needs_a_token() -> None:
    command = make_service(["vb"], [Path("/v")], 3000, {}).command
    assert command == ("vb", "serve", "/v", "--host", "127.0.0.1", "--port", "3000", "--require-token")


def test_a_shell_s_settings_of_where_things_are_go_with_it() -> None:
    made = make_service(["vb"], [Path("/v")], 1, {"XDG_CONFIG_HOME": "/conf", "VAULTBRIDGE_CACHE": "/cache"})
    assert made.environ == (
        ("XDG_CONFIG_HOME", "/conf"),
        ("VAULTBRIDGE_CACHE", "/cache"),
        ("VAULTBRIDGE_STATE", "/cache/state"),
    )
    # The file that is named has to be there; the one in a folder may be missing.
    both = {"XDG_CONFIG_HOME": "/conf", "VAULTBRIDGE_CONFIG": "/mine.toml"}
    assert make_service(["vb"], [Path("/v")], 1, both).environ == (("VAULTBRIDGE_CONFIG", "/mine.toml"),)
    # Naming the cache alone would move the state below it.
    made = make_service(["vb"], [Path("/v")], 1, {"XDG_CACHE_HOME": "/c", "HOME": "/h"})
    assert made.environ == (
        ("VAULTBRIDGE_CACHE", "/c/vaultbridge"),
        ("VAULTBRIDGE_STATE", "/h/.local/state/vaultbridge"),
    )
    made = make_service(["vb"], [Path("/v")], 1, {"HOME": "/h", "VAULTBRIDGE_DICTIONARIES": "/dicts"})
    assert made.environ == (("VAULTBRIDGE_DICTIONARIES", "/dicts"),)
    assert make_service(["vb"], [Path("/v")], 1, {"HOME": "/h", "SECRET": "x"}).environ == ()


def test_the_port_stays(tmp_path: Path) -> None:
    configured = Config(server=ServerConfig(port=4567))
    assert choose_port({}, configured, SERVICE) == 3456
    assert choose_port({}, configured, None) == 4567
    assert 0 < choose_port({"HOME": str(tmp_path)}, Config(), None) < 65536


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_without_systemd_it_says_what_works_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineFailure, match="systemd is not running for your user here") as refused:
        check_system(SERVICE, Systemd())
    assert "`vaultbridge page` starts a bridge whenever" in refused.value.hint
    assert "serve '/home/me/My Notes'" in refused.value.hint
    assert find_service({"HOME": str(tmp_path)}, Systemd()) is None


def test_a_process_that_got_the_number_of_a_killed_bridge_is_not_ended(tmp_path: Path) -> None:
    """The file of a bridge that was killed names a process that may be another one by now."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        folder = tmp_path / "vault"
        folder.mkdir()
        save_endpoint(folder, Endpoint(port=9, token=make_token(), pid=stranger.pid, temporary=True))
        assert end_temporary({"VAULTBRIDGE_CACHE": str(tmp_path)}) == []
        stranger.communicate(b"\n")
    assert stranger.returncode == 0
