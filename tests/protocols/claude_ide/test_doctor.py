"""The diagnosis against real lock files and a real server, sound and broken in every way of seed 001."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.editor import TOKEN, Bridge, running
from support.ports import held_port
from vaultbridge.protocols.claude_ide.doctor import Check, diagnose
from vaultbridge.protocols.claude_ide.lock_files import LockFiles, list_lock_folders, make_lock


class Patient:
    def __init__(self, bridge: Bridge, home: Path, vault: Path) -> None:
        self.bridge = bridge
        self.home = home
        self.vault = vault
        self.environ: dict[str, str] = {}
        (self.lock,) = LockFiles(list_lock_folders({}, home)).write(make_lock(bridge.port, TOKEN, [vault]))

    def change(self, **fields: object) -> None:
        self.lock.write_text(json.dumps({**json.loads(self.lock.read_text()), **fields}))

    async def examine(self, *, port: int | None = None, working: Path | None = None) -> list[Check]:
        return await asyncio.to_thread(
            lambda: diagnose(
                self.vault,
                self.bridge.port if port is None else port,
                environ=self.environ,
                home=self.home,
                working_folder=working,
            )
        )

    async def find_complaint(self, name: str, **options: int | Path) -> Check:
        """The one check of that name, which must not be good."""
        checks = await self.examine(**options)  # type: ignore[arg-type]
        (check,) = [check for check in checks if name in check.name]
        assert check.status != "good", check
        assert check.advice
        return check


@pytest.fixture
async def patient(tmp_path: Path) -> AsyncIterator[Patient]:
    vault, home = tmp_path / "vault", tmp_path / "home"
    vault.mkdir()
    home.mkdir()
    async with running(vault) as bridge:
        yield Patient(bridge, home, vault)


async def test_a_healthy_bridge_passes_every_check(patient: Patient) -> None:
    checks = await patient.examine(working=patient.vault)
    assert [check for check in checks if check.status != "good"] == []
    assert len(checks) == 10


async def test_no_finding_contains_a_token(patient: Patient) -> None:
    patient.change(authToken="another-secret")
    report = repr(await patient.examine())
    assert TOKEN not in report
    assert "another-secret" not in report


async def test_a_missing_lock(patient: Patient) -> None:
    patient.lock.unlink()
    assert (await patient.find_complaint("lock file in the folder")).status == "bad"


async def test_a_second_lock_in_another_place_that_the_client_scans(patient: Patient, tmp_path: Path) -> None:
    """As an older version of this bridge left it: the client lists the vault twice."""
    patient.environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")}
    assert (await patient.examine())[0].status == "good", "the newest client looks in both places"
    second = tmp_path / "conf" / "ide" / patient.lock.name
    second.parent.mkdir(parents=True, mode=0o700)
    second.write_bytes(patient.lock.read_bytes())
    second.chmod(0o600)
    assert "twice" in (await patient.find_complaint("lock file in the folder")).found


async def test_a_lock_that_is_not_json(patient: Patient) -> None:
    patient.lock.write_text("{")
    assert "JSON" in (await patient.find_complaint("lock file in the folder")).found


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"transport": "sse"}, "transport"),
        ({"pid": 2**22 + 7}, "pid"),
        ({"pid": "12"}, "pid"),
        ({"authToken": ""}, "authToken"),
        ({"port": 1}, "port"),
        ({"workspaceFolders": []}, "empty"),
        ({"workspaceFolders": ["vault"]}, "relative"),
        ({"workspaceFolders": ["/elsewhere"]}, "real folder"),
    ],
)
async def test_a_lock_with_a_wrong_field(patient: Patient, fields: dict[str, object], words: str) -> None:
    patient.change(**fields)
    assert words in (await patient.find_complaint("content of")).found


async def test_a_lock_that_others_can_read(patient: Patient) -> None:
    patient.lock.chmod(0o644)
    assert "chmod" in (await patient.find_complaint("privacy")).advice


async def test_a_port_without_a_listener(patient: Patient) -> None:
    with held_port() as port:
        assert str(port) in (await patient.find_complaint("listening", port=port)).found
        assert (await patient.find_complaint("handshake", port=port)).status == "bad"


async def test_another_program_has_the_port(patient: Patient) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Who only looks whether somebody listens sends nothing. A close before all is read would be a reset.
        while (await reader.readline()).strip():
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert "200" in (await patient.find_complaint("handshake", port=port)).found
    server.close()
    await server.wait_closed()


async def test_the_locks_token_is_not_the_servers(patient: Patient) -> None:
    patient.change(authToken="00000000-0000-4000-8000-000000000000")
    assert "401" in (await patient.find_complaint("handshake")).found


async def test_locks_of_dead_processes_are_reported(patient: Patient) -> None:
    (patient.lock.parent / "4999.lock").write_text(json.dumps({"pid": 2**22 + 7}))
    assert "4999" in (await patient.find_complaint("dead processes")).found


async def test_another_editor_claims_the_vault(patient: Patient) -> None:
    rival = {"pid": os.getpid(), "ideName": "Neovim", "workspaceFolders": [str(patient.vault.parent)]}
    (patient.lock.parent / "4998.lock").write_text(json.dumps(rival))
    assert "Neovim on port 4998" in (await patient.find_complaint("no other editor")).found


async def test_an_environment_that_misleads(patient: Patient) -> None:
    patient.environ = {"CLAUDE_CODE_SSE_PORT": "1234"}
    assert "1234" in (await patient.find_complaint("environment")).found


async def test_claude_code_is_started_elsewhere(patient: Patient, tmp_path: Path) -> None:
    assert "outside" in (await patient.find_complaint("working directory", working=tmp_path)).found
