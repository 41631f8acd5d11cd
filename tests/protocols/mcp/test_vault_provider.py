"""A vault over MCP: what the tools, prompts and resources of a real vault look like to a client."""

from __future__ import annotations

import asyncio
import base64
import os
import select
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from support.process import find_busy_child, read_children
from support.vault import (
    WITHOUT_LEADING,
    copy_sample_vault,
    make_isolated_environ,
    make_small_vault,
    vault_wire,
)
from support.waiting import BOUND
from support.wire import EVERY_VERSION, MODERN, Wire
from vaultbridge.engine import DirectEngine
from vaultbridge.index.query import regex
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.vault import loaded
from vaultbridge.protocols.mcp.vault import provider as vault_provider
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
from vaultbridge.server.wiring import open_engine
from vaultbridge.tools.base.answer import Answer, answer_text
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import ForeignTool, Profile, ToolContext
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.scope import Scope


class Gate:
    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, tool_context: ToolContext, arguments: dict[str, Any]) -> Answer:
        assert self.open.wait(60)
        return answer_text("late")


def with_tool(run: Any) -> Any:
    def make() -> Catalog:
        catalog = standard_catalog()
        tool = ForeignTool(
            name="extra", description="Extra", input_schema={"type": "object"}, run=run, group="x"
        )
        catalog.add(tool)
        return catalog

    return {"make_catalog": make, "settings": ProviderSettings(lead=False, quick_list=False)}


@pytest.mark.parametrize(
    ("tool", "arguments"), [("list_files", {}), ("search", {"query": "needle"}), ("tags", {})]
)
async def test_the_first_question_of_a_program_that_does_not_wait_is_answered_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    """Some clients start a process for every call: the index is then being built for the first time."""
    monkeypatch.setattr(loaded, "FIRST_BUILD_SECONDS", BOUND)
    vault = make_small_vault(tmp_path, {"A.md": "needle #tag"})
    async with vault_wire(tmp_path, vault, settings=ProviderSettings()) as wire:
        assert "still being built" not in await wire.text(tool, **arguments)


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_every_version_does_everything_with_a_real_vault(tmp_path: Path, version: str) -> None:
    """Each message is held to the schema of its version by the wire."""
    async with vault_wire(tmp_path, copy_sample_vault(tmp_path), version=version) as wire:
        tools = (await wire.result("tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == list(standard_catalog().names())
        assert "Nightjar Hill" in await wire.text("read_note", name="Home")
        made = await wire.result(
            "tools/call", {"name": "obsidian_create_note", "arguments": {"name": "New", "content": "x"}}
        )
        assert made["content"][0]["text"] == '{"success":true,"data":{"path":"Inbox/New.md","created":true}}'
        assert ("structuredContent" in made) is (version >= "2025-06-18")
        assert (tmp_path / "Sample Vault" / "Inbox" / "New.md").read_text() == "x"
        resources = (await wire.result("resources/list"))["resources"]
        note = next(resource for resource in resources if resource["name"] == "Targets/M82.md")
        content = (await wire.result("resources/read", {"uri": note["uri"]}))["contents"][0]
        assert content["text"].startswith("---")
        assert (await wire.result("resources/templates/list"))["resourceTemplates"]
        prompt = await wire.result(
            "prompts/get", {"name": "plan_a_night", "arguments": {"date": "2026-04-01"}}
        )
        assert "2026-04-01" in prompt["messages"][0]["content"]["text"]
        ref = {"type": "ref/prompt", "name": "summarize_note"}
        completed = await wire.result(
            "completion/complete", {"ref": ref, "argument": {"name": "note", "value": "m8"}}
        )
        assert completed["completion"]["values"][0] == "M82"


async def test_the_tools_are_listed_before_a_vault_is_opened_and_are_the_same_after(tmp_path: Path) -> None:
    catalog = standard_catalog()
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with vault_wire(tmp_path, vault, make_catalog=lambda: catalog) as wire:
        before = await wire.result("tools/list")
        assert wire.engines.opened() == {}
        await wire.text("read_note", name="A")
        await wire.settle()
        assert not [
            message
            for message in wire.messages
            if message.get("method") == "notifications/tools/list_changed"
        ]
        # After a change the list is made from the catalog.
        for on in (False, True):
            catalog.switch("canvas", on=on)
            await wire.notification("notifications/tools/list_changed")
            assert (await wire.result("tools/list") == before) is on


async def test_a_tool_that_comes_later_changes_the_list(tmp_path: Path) -> None:
    """The list at hand is the standard one; a plugin's tool appears when it is loaded."""
    options = with_tool(lambda tool_context, arguments: answer_text("from a plugin"))
    options["settings"] = WITHOUT_LEADING
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}), **options) as wire:
        assert "extra" not in {tool["name"] for tool in (await wire.result("tools/list"))["tools"]}
        await wire.text("read_note", name="A")
        await wire.notification("notifications/tools/list_changed")
        assert "extra" in {tool["name"] for tool in (await wire.result("tools/list"))["tools"]}
        called = await wire.result("tools/call", {"name": "extra", "arguments": {}})
        assert called["content"][0]["text"] == "from a plugin"


async def test_errors_have_the_form_of_the_version_with_code_and_closest_names(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Moth.md": "a", "X/Same.md": "1", "Y/Same.md": "2"})
    async with vault_wire(tmp_path, vault, version="2024-11-05") as wire:
        call = {"name": "obsidian_read_note", "arguments": {"name": "Moht"}}
        missing = await wire.error("tools/call", call)
        assert (missing["code"], missing["data"]["errorCode"]) == (-32003, "FILE_NOT_FOUND")
        assert "Moth.md" in missing["message"]
        call["arguments"] = {"name": "Same"}
        several = await wire.error("tools/call", call)
        assert (several["code"], several["data"]["errorCode"]) == (-32004, "AMBIGUOUS_NAME")
        call["arguments"] = {"nam": "x"}
        wrong = await wire.error("tools/call", call)
        assert (wrong["code"], wrong["data"]["argument"]) == (-32602, "nam")
    async with vault_wire(tmp_path, vault) as wire:
        call["arguments"] = {"name": "Moht"}
        result = await wire.result("tools/call", call)
        assert result["isError"]
        assert "Moth.md" in result["content"][0]["text"]


async def test_every_tool_reports_a_missing_vault_until_it_exists(tmp_path: Path) -> None:
    async with vault_wire(tmp_path, tmp_path / "Notes", version="2024-11-05") as wire:
        assert (await wire.result("tools/list"))["tools"]
        call = {"name": "obsidian_read_note", "arguments": {"name": "A"}}
        error = await wire.error("tools/call", call)
        assert (error["code"], error["data"]["errorCode"]) == (-32002, "VAULT_NOT_FOUND")
        make_small_vault(tmp_path, {"A.md": "here"})
        assert "here" in await wire.text("read_note", name="A")


async def test_the_time_limit_is_reported_even_when_a_thread_is_stuck(tmp_path: Path) -> None:
    gate = Gate()
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with vault_wire(tmp_path, vault, version="2024-11-05", **with_tool(gate)) as wire:
        await wire.text("read_note", name="A")
        hurried = Wire(mcp_dialect(wire.server), version="2024-11-05", call_seconds=0.2)
        await hurried.initialize()
        stuck = [await hurried.start("tools/call", {"name": "extra", "arguments": {}}) for _ in range(6)]
        for id_ in stuck:
            answer = await hurried.until(lambda message, id_=id_: message.get("id") == id_)  # type: ignore[misc]
            assert (answer["error"]["code"], answer["error"]["data"]["errorCode"]) == (-32006, "TIMEOUT")
        assert "a" in await wire.text("read_note", name="A")
        gate.open.set()
        await hurried.connection.close()


async def test_progress_of_a_tool_reaches_the_client_who_asked(tmp_path: Path) -> None:
    found = threading.Event()

    def run(tool_context: ToolContext, arguments: dict[str, Any]) -> Answer:
        tool_context.progress(1, 3, "one")
        assert found.wait(60)
        tool_context.progress(3, 3, "")
        return answer_text("done")

    async with vault_wire(tmp_path, make_small_vault(tmp_path, {}), **with_tool(run)) as wire:
        params = {"name": "extra", "arguments": {}, "_meta": {"progressToken": "p"}}
        id_ = await wire.start("tools/call", params)
        first = await wire.notification("notifications/progress")
        assert first == {"progressToken": "p", "progress": 1, "total": 3, "message": "one"}
        found.set()
        answer = await wire.until(lambda message: message.get("id") == id_)
        assert answer["result"]["content"][0]["text"] == "done"


async def test_a_read_only_vault_offers_only_tools_that_read(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    settings = ProviderSettings(lead=False, read_only=True)
    async with vault_wire(tmp_path, vault, settings=settings, scope=Scope(read_only=True)) as wire:
        tools = (await wire.result("tools/list"))["tools"]
        assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
        assert "obsidian_create_note" not in {tool["name"] for tool in tools}
        call = {"name": "obsidian_create_note", "arguments": {"name": "B"}}
        refused = await wire.result("tools/call", call)
        assert refused["isError"]
        assert refused["structuredContent"]["errorCode"] == "PERMISSION_DENIED"
        assert "read-only" in refused["content"][0]["text"]
        error = await wire.error("tools/call", {"name": "obsidian_no_such_tool", "arguments": {}})
        assert error["code"] == -32602
        prompts = {prompt["name"] for prompt in (await wire.result("prompts/list"))["prompts"]}
        assert "tidy_inbox" not in prompts
        assert list(vault.iterdir()) == [vault / "A.md"]


@pytest.mark.parametrize("profile", ["core", "full", "read-only"])
async def test_a_profile_chooses_the_tools_and_only_those_can_be_called(
    tmp_path: Path, profile: Profile
) -> None:
    settings = ProviderSettings(lead=False, profile=profile)
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}), settings=settings) as wire:
        names = {tool["name"] for tool in (await wire.result("tools/list"))["tools"]}
        every = {f"obsidian_{tool.name}" for tool in standard_catalog().list_tools(prefix="")}
        assert names == every if profile == "full" else names < every
        for name in every - names:
            answer = await wire.ask("tools/call", {"name": name, "arguments": {}})
            if profile == "core":
                assert answer["error"]["code"] == -32602, name
            else:
                assert answer["result"]["structuredContent"]["errorCode"] == "PERMISSION_DENIED", name


async def test_several_vaults_are_distinguished_by_name(tmp_path: Path) -> None:
    first, second = (
        make_small_vault(tmp_path, {"A.md": "first"}, "One"),
        make_small_vault(tmp_path, {"A.md": "2nd"}, "Two"),
    )
    async with vault_wire(tmp_path, first, second) as wire:
        for tool in (await wire.result("tools/list"))["tools"]:
            assert tool["inputSchema"]["properties"]["vault"]["enum"] == ["One", "Two"], tool["name"]
        assert "first" in await wire.text("read_note", name="A", vault="One")
        assert "2nd" in await wire.text("read_note", name="A", vault="Two")
        failed = await wire.result("tools/call", {"name": "obsidian_read_note", "arguments": {"name": "A"}})
        assert failed["isError"]
        assert "One, Two" in failed["content"][0]["text"]
        templates = (await wire.result("resources/templates/list"))["resourceTemplates"]
        assert templates[0]["uriTemplate"] == "obsidian://vault/{vault}/{+path}"
        ref = {"type": "ref/resource", "uri": templates[0]["uriTemplate"]}
        params: dict[str, Any] = {"ref": ref, "argument": {"name": "vault", "value": "t"}}
        assert (await wire.result("completion/complete", params))["completion"]["values"] == ["Two"]
        params = {
            "ref": ref,
            "argument": {"name": "path", "value": "a"},
            "context": {"arguments": {"vault": "Two"}},
        }
        assert (await wire.result("completion/complete", params))["completion"]["values"] == ["A.md"]


async def test_pictures_and_files_come_as_content_a_client_can_use(tmp_path: Path) -> None:
    picture = (Path(__file__).parents[3] / "examples/sample-vault/Attachments/m81-sketch.png").read_bytes()
    vault = make_small_vault(tmp_path, {"p.png": picture, "d.pdf": b"%PDF-1.4\n"})
    async with vault_wire(tmp_path, vault) as wire:
        call = {"name": "obsidian_attachment", "arguments": {"name": "p.png"}}
        shown = (await wire.result("tools/call", call))["content"]
        (image,) = [block for block in shown if block["type"] == "image"]
        assert base64.b64decode(image["data"]) == picture
        call = {"name": "obsidian_attachment", "arguments": {"name": "d.pdf"}}
        (file,) = [b for b in (await wire.result("tools/call", call))["content"] if b["type"] == "resource"]
        assert file["resource"]["uri"] == "obsidian://vault/Notes/d.pdf"
        again = await wire.result("resources/read", {"uri": file["resource"]["uri"]})
        assert again["contents"][0]["blob"] == file["resource"]["blob"]


async def test_the_journal_names_the_client_that_changed_something(tmp_path: Path) -> None:
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"})) as wire:
        await wire.text("create_note", name="B", content="b")
        assert wire.engines["Notes"].history.changes()[0].actor == "test"


async def test_an_unknown_resource_has_the_code_of_its_version(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    for version, code in (("2025-11-25", -32002), (MODERN, -32602)):
        async with vault_wire(tmp_path, vault, version=version) as wire:
            error = await wire.error("resources/read", {"uri": "obsidian://vault/Notes/B.md"})
            assert (error["code"], error["data"]["uri"]) == (code, "obsidian://vault/Notes/B.md")


async def test_a_vault_is_loaded_in_advance_and_kept_up_to_date(tmp_path: Path) -> None:
    make_small_vault(tmp_path, {"A.md": "a"})
    settings = ProviderSettings(lead=True)
    loop = asyncio.get_running_loop()
    opened = loop.create_future()

    def open_slowly() -> DirectEngine:
        engine = open_engine(str(tmp_path / "Notes"), environ=make_isolated_environ(tmp_path))
        loop.call_soon_threadsafe(opened.set_result, engine)
        return engine

    engines = VaultEngines({"Notes": open_slowly})
    async with vault_wire(tmp_path, tmp_path / "Notes", settings=settings, engines=engines) as wire:
        async with asyncio.timeout(BOUND):
            engine = await opened
        await wire.result("resources/subscribe", {"uri": "obsidian://vault/Notes/A.md"})
        (tmp_path / "Notes" / "A.md").write_text("b")
        await wire.notification("notifications/resources/updated")
        assert engine.index_sync.is_leader


async def test_closing_does_not_wait_for_a_stuck_thread(tmp_path: Path) -> None:
    gate = Gate()
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}), **with_tool(gate)) as wire:
        await wire.text("read_note", name="A")
        await wire.start("tools/call", {"name": "extra", "arguments": {}})
        await wire.settle()
        async with asyncio.timeout(BOUND):
            await wire.connection.close()
            await wire.server.close()
    gate.open.set()


async def test_a_vault_that_is_slow_to_close_is_left_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A busy machine is no fault: what the log says while all is well makes people look for one."""
    monkeypatch.setattr(vault_provider, "CLOSE_SECONDS", 0)
    with caplog.at_level("DEBUG"):
        async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"})) as wire:
            await wire.text("read_note", name="A")
    levels = {record.levelname for record in caplog.records if "did not close in time" in record.message}
    assert levels == {"DEBUG"}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
async def test_a_cancelled_search_stops_computing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread waits for the child process that matches the pattern."""
    monkeypatch.setattr(regex, "REGEX_SECONDS", 10 * BOUND)
    vault = make_small_vault(tmp_path, {"A.md": "x" * 200})
    others = read_children(os.getpid())
    async with vault_wire(tmp_path, vault) as wire, asyncio.timeout(BOUND):
        assert "A.md" in await wire.text("search", query="file:A")
        search = {"name": "obsidian_search", "arguments": {"query": "/(x+x+)+y/"}}
        id_ = await wire.start("tools/call", search)
        while not (child := find_busy_child(os.getpid(), besides=others)):
            await wire.settle()
        ended = os.pidfd_open(child)
        await wire.notify("notifications/cancelled", requestId=id_)
        try:
            assert (await asyncio.to_thread(select.select, [ended], [], [], BOUND))[0], "it goes on"
        finally:
            os.close(ended)
        assert "A.md" in await wire.text("search", query="file:A")
