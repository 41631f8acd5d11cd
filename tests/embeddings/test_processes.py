"""The configured model in real processes: a server sends what it may, and the doctor says how it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.files import write_vault
from support.model_server import ModelServer

KEY = "sk-process-secret"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def environ(tmp_path: Path, model: ModelServer) -> dict[str, str]:
    config = tmp_path / "config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[embeddings]\nurl = "{model.url}"\nmodel = "tiny"\nkey_env = "TINY_KEY"\nprivate = ["Diary/"]\n'
        '[scope]\ndeny = ["Denied/"]\n'
    )
    return {
        **os.environ,
        "VAULTBRIDGE_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TINY_KEY": KEY,
    }


def test_a_server_on_stdio_sends_what_it_may(
    tmp_path: Path, model: ModelServer, environ: dict[str, str]
) -> None:
    vault = write_vault(
        tmp_path / "Notes",
        {"Open.md": "public words", "Diary/Day.md": "private words", "Denied/No.md": "denied words"},
    )
    calls = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "obsidian_search", "arguments": {"query": "words"}},
        },
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "vaultbridge", "stdio", vault, "--log-level", "debug"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    ) as server:
        assert server.stdin is not None
        server.stdin.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
        server.stdin.flush()
        model.wait_for_text("public words")
        out, err = server.communicate(timeout=60)
    assert b"Open.md" in out
    assert {headers["Authorization"] for headers in model.headers} == {f"Bearer {KEY}"}
    assert not any("private" in text or "denied" in text for text in model.texts)
    assert KEY.encode() not in out + err


def run_doctor(vault: Path, environ: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "vaultbridge", "doctor", vault],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if "embeddings:" in line]


def test_the_doctor_asks_the_model(tmp_path: Path, model: ModelServer, environ: dict[str, str]) -> None:
    vault = write_vault(tmp_path / "Notes", {"Open.md": "public words"})
    assert run_doctor(vault, environ) == [
        "ok   embeddings: tiny: answers with 64 numbers; 0 notes and 0 passages are stored"
    ]
    model.status = 401
    assert run_doctor(vault, environ) == ["BAD  embeddings: tiny: it refuses the key (HTTP 401); see key_env"]
    assert run_doctor(vault, {**environ, "TINY_KEY": ""}) == [
        "BAD  embeddings: tiny: the environment variable TINY_KEY is not set"
    ]
