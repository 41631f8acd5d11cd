"""The conversation of seed 004 with `vaultbridge stdio` on a real vault, word for word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.vault import VaultProcess, make_small_vault


async def test_the_handshake_the_list_and_the_first_note(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        answer = await process.initialize("2024-11-05")
        assert answer["result"]["protocolVersion"] == "2024-11-05"
        assert "tools" in answer["result"]["capabilities"]
        assert answer["result"]["serverInfo"]["name"] == "obsidian-mcp"
        tools = {tool["name"]: tool for tool in (await process.result("tools/list"))["tools"]}
        schema = tools["obsidian_create_note"]["inputSchema"]
        assert tools["obsidian_create_note"]["description"] == "Create a new note in the vault"
        shown = {
            "name": {"type": "string", "description": "Note name (without .md extension) or exact path"},
            "content": {"type": "string", "description": "Initial note content (markdown)"},
            "overwrite": {"type": "boolean", "description": "Overwrite if file exists"},
        }
        assert {name: schema["properties"][name] for name in shown} == shown
        assert schema["required"] == ["name"]
        arguments = {"name": "Meeting Notes", "content": "# Meeting Notes\n\n- Agenda item 1"}
        made = await process.text("create_note", **arguments)
        assert made == '{"success":true,"data":{"path":"Meeting Notes.md","created":true}}'
        assert (vault / "Meeting Notes.md").read_text() == arguments["content"]
        await process.send({"jsonrpc": "2.0", "method": "exit"})
        assert await process.wait() == 0


async def test_the_application_errors_have_the_codes_of_the_table(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "X/S.md": "", "Y/S.md": ""})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin("2024-11-05")
        for tool, arguments, code, word in (
            ("open", {"name": "A"}, -32001, "OBSIDIAN_NOT_RUNNING"),
            ("read_note", {"name": "Nope"}, -32003, "FILE_NOT_FOUND"),
            ("read_note", {"name": "S"}, -32004, "AMBIGUOUS_NAME"),
        ):
            answer = await process.ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
            assert (answer["error"]["code"], answer["error"]["data"]["errorCode"]) == (code, word), answer
    async with VaultProcess(tmp_path, str(tmp_path / "missing")) as process:
        await process.begin("2024-11-05")
        answer = await process.ask("tools/call", {"name": "obsidian_tags", "arguments": {}})
        assert (answer["error"]["code"], answer["error"]["data"]["errorCode"]) == (-32002, "VAULT_NOT_FOUND")
    async with VaultProcess(tmp_path, str(vault), "--read-only") as process:
        await process.begin("2024-11-05")
        call = {"name": "obsidian_delete_note", "arguments": {"name": "A"}}
        answer = await process.ask("tools/call", call)
        assert (answer["error"]["code"], answer["error"]["data"]["errorCode"]) == (
            -32005,
            "PERMISSION_DENIED",
        )


async def test_calls_before_the_handshake_are_refused(tmp_path: Path) -> None:
    async with VaultProcess(tmp_path, str(make_small_vault(tmp_path, {"A.md": "a"}))) as process:
        answer = await process.ask("tools/call", {"name": "obsidian_read_note", "arguments": {"name": "A"}})
        assert answer["error"]["code"] == -32600
        await process.begin()
        assert "a" in await process.text("read_note", name="A")


@pytest.mark.parametrize("how", ["exit", "end of input"])
async def test_what_is_in_flight_at_the_end_is_written_and_answered(tmp_path: Path, how: str) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin("2024-11-05")
        for number in range(5):
            arguments = {"name": f"N{number}", "content": "x"}
            params = {"name": "obsidian_create_note", "arguments": arguments}
            await process.send(
                {"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": params}
            )
        if how == "exit":
            await process.send({"jsonrpc": "2.0", "method": "exit"})
        code, out, err = await process.end()
    assert code == 0, err
    answered = {json.loads(line)["id"] for line in out.splitlines() if b'"id"' in line}
    assert answered == {100, 101, 102, 103, 104}
    assert {place.name for place in vault.iterdir()} == {"A.md", *(f"N{number}.md" for number in range(5))}


async def test_the_time_limit_is_answered_and_the_server_lives_on(tmp_path: Path) -> None:
    """A plugin's tool that never comes back holds a thread, and nothing else."""
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    tools = tmp_path / "home" / ".config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "stuck.py").write_text(
        "import threading\nfrom vaultbridge.plugins import tool\n"
        "@tool(effect='reads')\ndef stuck() -> str:\n    'Never ends.'\n"
        "    threading.Event().wait()\n    return ''\n"
    )

    def is_timeout(answer: dict[str, Any]) -> bool:
        error = answer.get("error", {"code": 0, "data": {}})
        return (error["code"], error["data"].get("errorCode")) == (-32006, "TIMEOUT")

    async with VaultProcess(tmp_path, str(vault), "--timeout", "1") as process:

        async def ask_answered(method: str, params: dict[str, Any] | None = None) -> Any:
            # On a machine that is busy for a second the limit may be met by any call.
            while is_timeout(answer := await process.ask(method, params)):
                pass
            return answer["result"]

        await process.begin("2024-11-05")
        while "stuck" not in {tool["name"] for tool in (await ask_answered("tools/list"))["tools"]}:
            await process.notification("notifications/tools/list_changed")
        assert is_timeout(await process.ask("tools/call", {"name": "stuck", "arguments": {}}))
        read = await ask_answered("tools/call", {"name": "obsidian_read_note", "arguments": {"name": "A"}})
        assert "a" in read["content"][0]["text"]
        code, _, _ = await process.end()
        assert code == 0


@pytest.mark.parametrize(
    ("query", "where", "what"),
    [
        ('foo "bar baz', 'At character 5 of the query, at "bar baz', "never closed"),
        ("a (b OR c", "At character 3 of the query, at (b OR c", "never closed"),
        ("done status:done", "At character 6 of the query, at status:done", "not an operator"),
        ("a OR", "At character 3 of the query, at OR", "nothing after it"),
        ("", "At character 1, the end of the query", "empty"),
        ("x /a(/", "/a(/", "unterminated"),
    ],
)
async def test_a_query_that_cannot_be_read_is_a_wrong_argument(
    tmp_path: Path, query: str, where: str, what: str
) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    call = {"name": "obsidian_search", "arguments": {"query": query, "match": "all"}}
    for version in ("2024-11-05", "2025-11-25"):
        async with VaultProcess(tmp_path, str(vault)) as process:
            await process.begin(version)
            answer = await process.ask("tools/call", call)
        if version == "2024-11-05":
            code, text, data = answer["error"]["code"], answer["error"]["message"], answer["error"]["data"]
        else:
            data = answer["result"]["structuredContent"]
            code, text = data["code"], answer["result"]["content"][0]["text"]
        assert (code, data["errorCode"], data["argument"]) == (-32602, "INVALID_PARAMS", "query")
        assert where in text and what in text


async def test_a_name_that_begins_like_a_question_is_no_drive(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Q: why?.md": "because", "A.md": "[[Q: why?]]"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        assert "because" in await process.text("read_note", name="Q: why?")
        assert "Q: why?.md" in await process.text("search", query="Q: why?")
        assert "A.md" in await process.text("links", name="Q: why?")
        refused = await process.text("create_note", name="Q: new?", content="x")
        assert "contains ':'" in refused and "drive" not in refused
        for drive in ("Z:/x", "Z:\\x"):
            assert "drive" in await process.text("create_note", name=drive, content="x")
