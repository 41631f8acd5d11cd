"""A cache folder that cannot be made or written: reading and searching go on, and changes are refused."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from support.files import mounted
from support.process import Process, make_process_environ

NOTE = "# Moth\n\nattracted by light\n"


VAULT = {"Moth.md": NOTE}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A file stands where the folder should be, which stops even root."""
    place = tmp_path / "cache"
    place.write_text("not a folder")
    passing = tmp_path / "tmp"
    passing.mkdir()
    return make_process_environ(
        VAULTBRIDGE_CACHE=str(place),
        HOME=str(tmp_path / "home"),
        TMPDIR=str(passing),
        PYTHONWARNINGS="ignore",
    )


@pytest.mark.parametrize("free", [8, 200, 600])
async def test_where_the_cache_has_no_room_for_a_new_index_notes_are_found_all_the_same(
    vault: Path, environ: dict[str, str], tmp_path: Path, free: int
) -> None:
    """A disk that is nearly full: a folder could still be made there, but no index."""
    place = tmp_path / "small"
    with mounted(place, f"{free}k"):
        environ = {**environ, "VAULTBRIDGE_CACHE": str(place)}
        command = [sys.executable, "-m", "vaultbridge", "stdio", str(vault)]
        async with Process(command, env=environ) as process:
            await process.initialize()
            good, text = await call(process, "search", query="light")
            assert good and "Moth" in text
            good, text = await call(process, "vault_info")
            assert good and "No space left on device" in text and "temporary" in text
            good, text = await call(process, "edit_note", name="Moth", op="append", content="more")
            assert not good and "Nothing can be changed" in text


def list_names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def call(process: Process, tool: str, **arguments: Any) -> tuple[bool, str]:
    answer = await process.ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
    if "error" in answer:
        return False, answer["error"]["message"]
    result = answer["result"]
    return not result.get("isError"), result["content"][0]["text"]


async def test_over_stdio_notes_are_read_and_found_and_not_changed(
    vault: Path, environ: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "vaultbridge", "stdio", str(vault)]
    async with Process(command, env=environ) as process:
        await process.initialize()
        good, text = await call(process, "read_note", name="Moth")
        assert good and "attracted by light" in text
        good, text = await call(process, "search", query="light")
        assert good and "Moth" in text
        good, text = await call(process, "vault_info")
        assert good and "cache folder cannot be used" in text and "temporary" in text
        good, text = await call(process, "edit_note", name="Moth", op="append", content="more")
        assert not good and "Nothing can be changed" in text and "VAULTBRIDGE_CACHE" in text
        good, text = await call(process, "create_note", name="New", content="x")
        assert not good and "Nothing can be changed" in text
        code, _, err = await process.end()
    assert code == 0
    assert b"The index is temporary" in err
    assert (vault / "Moth.md").read_text("utf-8") == NOTE
    assert list_names(vault) == ["Moth.md"]
    assert list_names(Path(environ["TMPDIR"])) == []


def test_commands_read_and_search_too(vault: Path, environ: dict[str, str]) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vaultbridge", *args]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    assert "attracted" in run("read", str(vault), "Moth").stdout
    assert "Moth" in run("search", str(vault), "light").stdout
    refused = run("rename", str(vault), "Moth", "Butterfly")
    assert refused.returncode == 1
    assert "Nothing can be changed" in refused.stderr
    assert (vault / "Moth.md").read_text("utf-8") == NOTE


def test_a_cache_inside_the_vault_is_still_refused(vault: Path, environ: dict[str, str]) -> None:
    from vaultbridge.errors import EngineFailure
    from vaultbridge.server.wiring import open_engine

    with pytest.raises(EngineFailure, match="inside the vault"):
        open_engine(vault, environ={**environ, "VAULTBRIDGE_CACHE": str(vault / "cache")})


def test_without_a_temporary_folder_the_first_problem_is_reported(
    vault: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vaultbridge.errors import EngineFailure
    from vaultbridge.server.wiring import open_engine

    monkeypatch.setattr(tempfile, "tempdir", str(vault.parent / "missing"))
    with pytest.raises(EngineFailure, match="folder cannot be used"):
        open_engine(vault, environ=environ)
    assert list_names(vault) == ["Moth.md"]
