"""A path that spells the file which is left out, at every door of a real server and on the command line.

Two files of one name lie beside each other, composed and decomposed (`tests/tools/test_two_spellings.py`).
Every door refuses the exact path of the second, says how both are spelled and how to rename it, and neither
file is touched.
"""

from __future__ import annotations

import base64
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from server.callers import ask_mcp, ask_page, ide, make_owner_headers, open_session
from server.conftest import Serving, build_index
from support.commands import run_command
from support.editor import Failed
from support.files import write_vault
from support.vault import make_isolated_environ
from vaultbridge.protocols.mcp.vault.resources import make_uri
from vaultbridge.vault.paths import VaultPath

NOTE = "Café.md"
TWIN = unicodedata.normalize("NFD", NOTE)

EXPLAINED = ("'Caf\\u00e9.md', which is in the vault", "'Cafe\\u0301.md', which is left out", "mv -n $'")


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    write_vault(folder, {NOTE: "note\n", "B.md": "b [[Café]]\n"})
    (folder / TWIN).write_text("twin\n")
    if (folder / NOTE).read_text() == "twin\n":
        pytest.skip("this disk does not tell the two Unicode forms apart")
    build_index(folder)
    return folder


def check(folder: Path, answer: str, *, private: bool = True) -> None:
    text = answer.replace("\\\\", "\\").replace("\\'", "'")
    assert all(part in text for part in EXPLAINED), answer
    assert not private or str(folder) not in answer
    assert (folder / NOTE).read_text() == "note\n" and (folder / TWIN).read_text() == "twin\n"
    assert len(list(folder.glob("*.md"))) == 3


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
async def test_bridge_v1_and_mcp(serving: Serving, twins: Path, *, absolute: bool) -> None:
    name = str(twins / TWIN) if absolute else TWIN
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_note", {"name": name}),
        ("edit_note", {"name": name, "op": "append", "content": "x"}),
        ("create_note", {"name": name, "content": "x", "overwrite": True}),
        ("delete_note", {"name": name}),
    ]
    async with serving() as served:
        headers = await open_session(served)
        for tool, arguments in calls:
            answer = await served.call(tool, **arguments)
            assert answer["success"] is False
            check(twins, str(answer))
            _, over_mcp = await ask_mcp(
                served, headers, "tools/call", name=f"obsidian_{tool}", arguments=arguments
            )
            assert over_mcp["result"]["isError"] is True
            check(twins, str(over_mcp))
        # There is no such resource: the other one has no address.
        uri = make_uri("Notes", VaultPath(TWIN))
        _, resource = await ask_mcp(served, headers, "resources/read", uri=uri)
        assert resource["error"]["data"]["uri"] == uri
        _, resource = await ask_mcp(served, headers, "resources/read", uri=make_uri("Notes", VaultPath(NOTE)))
        assert resource["result"]["contents"][0]["text"] == "note\n"


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
async def test_claude_code(serving: Serving, twins: Path, *, absolute: bool) -> None:
    name = str(twins / TWIN) if absolute else TWIN
    async with serving() as served, ide(served) as client:
        for method, params in (
            ("readFile", {"path": name}),
            ("files/read", {"path": name}),
            ("writeFile", {"path": name, "content": "x"}),
            ("tools/call", {"name": "openFile", "arguments": {"filePath": name}}),
            ("tools/call", {"name": "checkDocumentDirty", "arguments": {"filePath": name}}),
            ("tools/call", {"name": "saveDocument", "arguments": {"filePath": name}}),
            (
                "tools/call",
                {
                    "name": "openDiff",
                    "arguments": {
                        "old_file_path": name,
                        "new_file_path": name,
                        "new_file_contents": "x",
                        "tab_name": "t",
                    },
                },
            ),
        ):
            try:
                answer = str(await client.request(method, **params))
            except Failed as failed:
                answer = f"{failed.message} {failed.data}"
            check(twins, answer)


async def test_the_page(serving: Serving, twins: Path) -> None:
    async with serving() as served:
        headers = make_owner_headers(served)
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", f"/note?path={TWIN}", {}),
            ("GET", f"/links?path={TWIN}", {}),
            ("PUT", "/note", {"path": TWIN, "text": "x", "expected": "0" * 16}),
            ("POST", "/note", {"path": TWIN, "text": "x"}),
            ("POST", "/task", {"path": TWIN, "line": 1, "expected": "0" * 16}),
            ("POST", "/move", {"path": TWIN, "to": "C.md"}),
            ("POST", "/move", {"path": "B.md", "to": TWIN}),
            ("POST", "/delete", {"path": TWIN, "expected": "0" * 16}),
            (
                "POST",
                "/attachment",
                {"path": TWIN, "name": "p.png", "data": base64.b64encode(b"\x89PNG").decode()},
            ),
        ]
        for method, path, body in calls:
            options = {"json": body} if body else {}
            status, answer = await ask_page(served, path, headers, method=method, **options)
            assert status == 400, (method, path, answer)
            check(twins, str(answer))


def test_the_command_line(twins: Path, tmp_path: Path) -> None:
    env = make_isolated_environ(tmp_path)
    for words in (
        ("read", TWIN),
        ("append", TWIN, "x"),
        ("rename", TWIN, "C.md"),
        ("rename", "B.md", TWIN),
        ("set", TWIN, "a=1"),
        ("history", TWIN),
        ("links", TWIN),
        ("new", TWIN, "x"),
    ):
        run = run_command(words[0], twins, *words[1:], env=env)
        assert run.returncode != 0, words
        check(twins, run.stderr)


def test_doctor_names_both_and_says_how_to_rename_one(twins: Path, tmp_path: Path) -> None:
    env = make_isolated_environ(tmp_path)
    check(twins, run_command("doctor", twins, env=env).stdout, private=False)
