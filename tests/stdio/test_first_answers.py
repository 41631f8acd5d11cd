"""What is loaded before the first answers of `vaultbridge stdio`: the list that keeps its start fast."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from support.first_answers import FIRST_MODULES, FIRST_OTHERS
from support.process import ROOT
from support.vault import make_isolated_environ, make_small_vault
from support.waiting import BOUND

RECORD = """
import os, sys
record = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
class Recorder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        os.write(record, name.encode() + b"\\n")
sys.meta_path.insert(0, Recorder)
"""
"""Writes the name of each module that is looked for because it is not loaded yet."""

LEAST = f"{RECORD}\nimport asyncio, msgspec"

START = f"""{RECORD}
from vaultbridge.protocols.mcp.vault import provider
provider.WARM_SECONDS = 600.0
from vaultbridge.__main__ import main
sys.exit(main(["stdio", *sys.argv[1:]]))
"""
"""The command itself; only the moment when the rest is loaded is put off, so that it cannot come too early on
a busy machine."""

LIST_TOOLS = 2


def make_request(id_: int, method: str, **params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + b"\n"


MESSAGES = (
    make_request(
        1,
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    + make_request(LIST_TOOLS, "tools/list")
)


def make_environ(base: Path) -> dict[str, str]:
    """Without other variables of ours: they are configuration, which is then read before the first answer."""
    return make_isolated_environ(base, PATH=os.environ["PATH"], PYTHONPATH=str(ROOT / "src"))


def list_first(base: Path, *arguments: str) -> set[str]:
    """The modules that a process has loaded when it answers the first list of tools."""
    record = base / "imports"
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(record), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=make_environ(base),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin:
        process.stdin.write(MESSAGES)
        process.stdin.flush()
        answers = map(msgspec.json.decode, process.stdout)
        listed = next(answer for answer in answers if answer.get("id") == LIST_TOOLS)
        assert len(listed["result"]["tools"]) > 1
        # Nothing is loaded until the next message, or the end of input.
        return set(record.read_text().split())


def test_the_first_answers_load_exactly_what_is_on_the_list(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    loaded = list_first(tmp_path, str(vault))
    ours = {name for name in loaded if name.split(".")[0] == "vaultbridge"}
    assert ours - FIRST_MODULES == set(), "a client would wait for these, too"
    assert FIRST_MODULES - ours == set(), "not loaded, and need not be on the list"
    least = tmp_path / "least"
    subprocess.run(
        [sys.executable, "-c", LEAST, str(least)], env=make_environ(tmp_path), check=True, timeout=BOUND
    )
    others = loaded - ours - set(least.read_text().split())
    assert others <= FIRST_OTHERS, "a client would wait for these, too"
