"""Views within a chat (MCP Apps): which clients get them, and what they receive. How a browser shows
them is in tests/browser/test_chat_views.py.

The claims about messages are of SEP-1865 as of 2026-01-26; that clients without the extension see no
difference is our own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.extension import ClientExtension

from server.conftest import Serving
from server.conftest import serving as serving
from support.vault import VaultProcess, VaultWire, make_small_vault, open_engines, vault_wire
from support.wire import EVERY_VERSION, MODERN, make_meta
from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.apps import EXTENSION, MEDIA_TYPE, VIEW_KEY, can_show
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.vault.apps import DECIDE, DECIDING, GRAPH, RESULTS, REVIEW
from vaultbridge.protocols.mcp.vault.listing import load_tool_list
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
from vaultbridge.protocols.mcp.vault.resources import PAGE_ITEMS
from vaultbridge.protocols.mcp.versions import VERSIONS
from vaultbridge.review.policy import ReviewRules
from vaultbridge.review.store import store_of
from vaultbridge.tools.search import split_marked

SHOWS: dict[str, Any] = {"extensions": {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}}
REVIEWED = {"review": lambda engine: ReviewRules(least="all")}
FILES = {
    "Hello.md": "# Hello\n\nstars and <b>more</b> stars, see [[Other]]\n",
    "Other.md": "# Other\n\nback to [[Hello]] and on to [[Third]]\n",
    "Sub/Third.md": "about stars #tag\n",
}

WITHOUT = [
    {"extensions": {}},
    {"extensions": []},
    {"extensions": {EXTENSION: {}}},
    {"extensions": {EXTENSION: None}},
    {"extensions": {EXTENSION: {"mimeTypes": []}}},
    {"extensions": {EXTENSION: {"mimeTypes": MEDIA_TYPE}}},
    {"extensions": {EXTENSION: {"mimeTypes": ["text/html", {}]}}},
    {"extensions": {"io.example/ui": {"mimeTypes": [MEDIA_TYPE]}}},
    {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}},
]
"""Clients that do not show our views, however near they come to saying so."""

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", {"name": "obsidian_search", "arguments": {"query": "stars"}}),
    ("tools/call", {"name": "obsidian_context", "arguments": {"question": "stars"}}),
    ("tools/call", {"name": "obsidian_links", "arguments": {"name": "Hello"}}),
    ("tools/call", {"name": "obsidian_related", "arguments": {"name": "Hello"}}),
    ("tools/call", {"name": DECIDE.name, "arguments": {"id": "p1", "code": "x", "action": "accept"}}),
    (
        "tools/call",
        {"name": "obsidian_edit_note", "arguments": {"name": "Hello", "op": "append", "content": "x"}},
    ),
    ("resources/read", {"uri": REVIEW}),
]


def make_vault(base: Path, name: str = "Notes") -> Path:
    """The same bytes and times wherever it lies."""
    base.mkdir(exist_ok=True)
    folder = make_small_vault(base, FILES, name)
    for file in FILES:
        os.utime(folder / file, (1_700_000_000, 1_700_000_000))
    return folder


async def record_transcript(
    base: Path, version: str, capabilities: dict[str, Any], **options: Any
) -> list[bytes]:
    async with vault_wire(
        base, make_vault(base), version=version, capabilities=capabilities, **options
    ) as wire:
        if version == MODERN:
            await wire.ask("server/discover")
        for method, params in CALLS:
            await wire.ask(method, params)
        return [data for data in wire.raw_messages if b'"id"' in data]


@pytest.mark.parametrize("review", [{}, REVIEWED], ids=["writes", "reviewed"])
@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_client_that_shows_no_views_gets_the_same_bytes(
    tmp_path: Path, version: str, review: dict[str, Any]
) -> None:
    plain = await record_transcript(tmp_path / "plain", version, {}, **review)
    assert len(plain) == len(CALLS) + 1
    assert b"ui://" not in b"".join(plain[:-1])
    assert VIEW_KEY.encode() not in b"".join(plain)
    # Each version meets some of them, and all of them meet one.
    for number, capabilities in enumerate(WITHOUT[EVERY_VERSION.index(version) :: len(EVERY_VERSION)]):
        assert await record_transcript(tmp_path / str(number), version, capabilities, **review) == plain
    assert await record_transcript(tmp_path / "shows", version, SHOWS, **review) != plain


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_whatever_else_a_client_declares_it_shows_no_views(junk: Any) -> None:
    for capabilities in (
        {"extensions": junk},
        {"extensions": {EXTENSION: junk}},
        {"extensions": {EXTENSION: {"mimeTypes": junk}}},
    ):
        assert not can_show(capabilities)
    assert can_show({"extensions": {EXTENSION: {"mimeTypes": ["other", MEDIA_TYPE]}, "more": junk}})


def render_expected_tools(version: str) -> bytes:
    listed = load_tool_list("full", read_only=False, vaults=("Notes",))
    assert listed is not None
    return msgspec.json.encode([mcp_wire.render_item(tool, VERSIONS[version]) for tool in listed])


def extract_tools(answer: bytes) -> bytes:
    """The list of tools exactly as it was sent."""
    result = msgspec.json.decode(answer, type=dict[str, msgspec.Raw])["result"]
    return bytes(msgspec.json.decode(result, type=dict[str, msgspec.Raw])["tools"])


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_over_stdio_the_tools_have_the_bytes_of_the_catalog(tmp_path: Path, version: str) -> None:
    folder = make_vault(tmp_path)
    async with VaultProcess(tmp_path, str(folder)) as process:
        params: dict[str, Any] = {"_meta": make_meta()} if version == MODERN else {}
        if version != MODERN:
            await process.begin(version)
        await process.send({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params})
        assert process.inner.stdout is not None
        while b'"id":7' not in (line := await process.inner.stdout.readline()):
            assert line
    assert extract_tools(line) == render_expected_tools(version)


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_over_http_the_tools_have_the_bytes_of_the_catalog(serving: Serving, version: str) -> None:
    async with serving("[tools]\npackages = false\nplugins = false\n") as served:
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}

        async def post(message: dict[str, Any]) -> tuple[bytes, aiohttp.ClientResponse]:
            method = {"Mcp-Method": message["method"]} if version == MODERN else {}
            async with served.http.post(
                f"{served.url}/mcp", json={"jsonrpc": "2.0", **message}, headers={**headers, **method}
            ) as response:
                assert response.status == (200 if "id" in message else 202), await response.text()
                return await response.read(), response

        if version != MODERN:
            info = {"name": "test", "version": "1"}
            params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
            _, opened = await post({"id": 1, "method": "initialize", "params": params})
            headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
            await post({"method": "notifications/initialized"})
        params = {"_meta": make_meta()} if version == MODERN else {}
        data, _ = await post({"id": 2, "method": "tools/list", "params": params})
    assert extract_tools(data.removeprefix(b"data: ")) == render_expected_tools(version)


# Clients that show views.


class ShowsViews(ClientExtension):
    """The extension as the official client declares one."""

    identifier = EXTENSION

    def settings(self) -> dict[str, Any]:
        return {"mimeTypes": [MEDIA_TYPE]}


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_decisions_in_chats_can_be_switched_off(serving: Serving, mode: Any) -> None:
    found = {}
    for disabled in ([], [DECIDING]):
        config = f'[tools]\nreview = "all"\ndisable = {json.dumps(disabled)}\n'
        async with (
            serving(config) as served,
            Client(f"{served.url}/mcp", mode=mode, extensions=[ShowsViews()]) as client,
        ):
            tools = {tool.name: tool.meta or {} for tool in (await client.list_tools()).tools}
        found[len(disabled)] = (DECIDE.name in tools, "ui" in tools["obsidian_edit_note"])
        assert "ui" in tools["obsidian_search"]
    assert found == {0: (True, True), 1: (False, False)}


async def list_ui(wire: VaultWire) -> dict[str, dict[str, Any]]:
    tools = (await wire.result("tools/list"))["tools"]
    return {tool["name"]: tool["_meta"]["ui"] for tool in tools if "_meta" in tool}


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_client_that_shows_views_learns_which_tool_has_one(tmp_path: Path, version: str) -> None:
    folder = make_vault(tmp_path)
    async with vault_wire(tmp_path, folder, version=version, capabilities=SHOWS) as wire:
        found = await list_ui(wire)
        assert found == {
            "obsidian_search": {"resourceUri": RESULTS, "visibility": ["model", "app"]},
            "obsidian_context": {"resourceUri": RESULTS, "visibility": ["model", "app"]},
            "obsidian_links": {"resourceUri": GRAPH, "visibility": ["model", "app"]},
            "obsidian_related": {"resourceUri": GRAPH, "visibility": ["model", "app"]},
            # Clients must not offer it to their model.
            DECIDE.name: {"visibility": ["app"]},
        }


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_the_views_are_resources_that_can_be_listed_and_read(tmp_path: Path, version: str) -> None:
    folder = make_vault(tmp_path)
    async with vault_wire(tmp_path, folder, version=version, capabilities=SHOWS) as wire:
        listed = (await wire.result("resources/list"))["resources"]
        views = [entry for entry in listed if entry["uri"].startswith("ui://")]
        assert (
            [resource["uri"] for resource in listed[:3]]
            == [view["uri"] for view in views]
            == [RESULTS, GRAPH, REVIEW]
        )
        for view in views:
            assert view["mimeType"] == MEDIA_TYPE
            (content,) = (await wire.result("resources/read", {"uri": view["uri"]}))["contents"]
            assert (content["uri"], content["mimeType"]) == (view["uri"], MEDIA_TYPE)
            assert content["text"].startswith("<!doctype html>")
            assert all(allowed == [] for allowed in content["_meta"]["ui"]["csp"].values())
        missing = await wire.error("resources/read", {"uri": "ui://vaultbridge/nothing"})
        assert "nothing" in missing["message"]


async def test_a_view_asks_for_no_permission_and_says_whether_it_wants_a_border(tmp_path: Path) -> None:
    async with vault_wire(tmp_path, make_vault(tmp_path), capabilities=SHOWS) as wire:
        listed = (await wire.result("resources/list"))["resources"][:3]
        for view in listed:
            (content,) = (await wire.result("resources/read", {"uri": view["uri"]}))["contents"]
            for meta in (view["_meta"]["ui"], content["_meta"]["ui"]):
                assert set(meta) == {"csp", "prefersBorder"}
                assert meta["prefersBorder"] is True
            assert view["name"] and view["title"] and view["description"]


async def test_every_view_that_a_tool_names_can_be_read(tmp_path: Path) -> None:
    settings = ProviderSettings(lead=False, reviewed=True)
    options: dict[str, Any] = {"capabilities": SHOWS, "settings": settings, **REVIEWED}
    async with vault_wire(tmp_path, make_vault(tmp_path), **options) as wire:
        named = {ui["resourceUri"] for ui in (await list_ui(wire)).values() if "resourceUri" in ui}
        assert named == {RESULTS, GRAPH, REVIEW}
        for uri in named:
            (content,) = (await wire.result("resources/read", {"uri": uri}))["contents"]
            assert content["text"].rstrip().endswith("</html>")


async def test_the_views_are_on_the_first_page_alone(tmp_path: Path) -> None:
    folder = make_small_vault(tmp_path, {f"{n}.md": "" for n in range(PAGE_ITEMS + 1)})
    async with vault_wire(tmp_path, folder, capabilities=SHOWS) as wire:
        first = await wire.result("resources/list")
        assert len(first["resources"]) == PAGE_ITEMS + 3
        second = await wire.result("resources/list", {"cursor": first["nextCursor"]})
        (last,) = second["resources"]
        assert last["name"] == max(f"{n}.md" for n in range(PAGE_ITEMS + 1))


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_the_server_says_that_it_has_the_extension_to_a_client_that_has_it(
    tmp_path: Path, version: str
) -> None:
    async with vault_wire(tmp_path, make_vault(tmp_path), version=version, capabilities=SHOWS) as wire:
        if version == MODERN:
            capabilities = (await wire.result("server/discover"))["capabilities"]
        else:
            capabilities = json.loads(wire.raw_messages[0])["result"]["capabilities"]
        assert capabilities["extensions"] == {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}


async def test_where_changes_wait_the_tools_that_change_something_have_the_view_of_a_change(
    tmp_path: Path,
) -> None:
    folder = make_vault(tmp_path)
    settings = ProviderSettings(lead=False, reviewed=True)
    async with vault_wire(tmp_path, folder, capabilities=SHOWS, settings=settings, **REVIEWED) as wire:
        tools = {tool["name"]: tool for tool in (await wire.result("tools/list"))["tools"]}
        shown = {name for name, ui in (await list_ui(wire)).items() if ui.get("resourceUri") == REVIEW}
        changing = {name for name, tool in tools.items() if not tool["annotations"].get("readOnlyHint")}
        assert shown == changing - {DECIDE.name}
        assert len(shown) == 9


async def test_a_policy_that_was_set_on_the_page_counts(tmp_path: Path) -> None:
    folder = make_vault(tmp_path)
    rules = {"review": lambda engine: ReviewRules()}
    async with vault_wire(tmp_path, folder, capabilities=SHOWS, **rules) as wire:
        assert (await list_ui(wire)).get("obsidian_edit_note") is None
        store_of(wire.engines["Notes"]).set_policy("destructive")
        assert (await list_ui(wire))["obsidian_edit_note"]["resourceUri"] == REVIEW


async def connect(wire: VaultWire, capabilities: dict[str, Any]) -> VaultWire:
    """Another client of the same server, which hears of changes of the list."""
    other = VaultWire(mcp_dialect(wire.server), version=wire.version)
    other.capabilities = capabilities
    if wire.version == MODERN:
        await other.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await other.notification("notifications/subscriptions/acknowledged")
    else:
        await other.initialize()
    return other


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_switching_the_review_notifies_clients_whose_list_changes(tmp_path: Path, version: str) -> None:
    changed = "notifications/tools/list_changed"
    options: dict[str, Any] = {"version": version, "review": lambda engine: ReviewRules()}
    async with vault_wire(tmp_path, make_vault(tmp_path), **options) as plain:
        shows, without = await connect(plain, SHOWS), await connect(plain, {})
        before = await without.result("tools/list")
        store = store_of(plain.engines["Notes"])
        assert "obsidian_edit_note" not in await list_ui(shows)
        for policy in ("all", "destructive", "off"):
            store.set_policy(policy)
            if policy != "destructive":  # Changes wait already: the list stays as it is.
                await shows.notification(changed)
            assert ("obsidian_edit_note" in await list_ui(shows)) == (policy != "off")
        assert await without.result("tools/list") == before
        announced = [message for message in without.messages if message.get("method") == changed]
        assert announced == []
        assert changed not in [message.get("method") for message in shows.messages]
        for wire in (shows, without):
            await wire.connection.close()


async def test_over_stdio_a_switch_in_another_process_is_announced(tmp_path: Path) -> None:
    folder = make_vault(tmp_path)
    async with VaultProcess(tmp_path, str(folder)) as process:
        params = {"capabilities": SHOWS, "clientInfo": {"name": "test", "version": "1"}}
        await process.result("initialize", {"protocolVersion": "2025-11-25", **params})
        await process.result("tools/list")
        store_of(open_engines(tmp_path, folder)[folder.name]).set_policy("all")
        await process.notification("notifications/tools/list_changed")
        tools = {tool["name"]: tool for tool in (await process.result("tools/list"))["tools"]}
        assert tools["obsidian_edit_note"]["_meta"]["ui"]["resourceUri"] == REVIEW


@pytest.mark.parametrize(
    "settings",
    [
        ProviderSettings(lead=False, read_only=True, reviewed=True),
        ProviderSettings(lead=False, profile="read-only", reviewed=True),
    ],
)
async def test_where_nothing_may_be_changed_nothing_can_be_decided(
    tmp_path: Path, settings: ProviderSettings
) -> None:
    folder = make_vault(tmp_path)
    async with vault_wire(tmp_path, folder, capabilities=SHOWS, settings=settings, **REVIEWED) as wire:
        assert set(await list_ui(wire)) == {
            "obsidian_search", "obsidian_context", "obsidian_links", "obsidian_related",
        }  # fmt: skip
        call = {"name": DECIDE.name, "arguments": {"id": "p1", "code": "x", "action": "accept"}}
        assert "Unknown tool" in (await wire.error("tools/call", call))["message"]


# What the views receive.


async def call_with_view(
    wire: VaultWire, tool: str, **arguments: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the model gets, and what the view gets besides."""
    result = await wire.result("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
    seen: dict[str, Any] = result["_meta"][VIEW_KEY]
    return {key: value for key, value in result.items() if key != "_meta"}, seen


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "stars"}),
        ("search", {"query": "stars OR nothing"}),
        ("search", {"query": "stars", "sort": "name"}),
        ("context", {"question": "stars"}),
        ("links", {"name": "Hello"}),
        ("links", {"name": "Hello", "kind": "neighbourhood", "depth": 2}),
        ("related", {"name": "Sub/Third"}),
    ],
)
async def test_the_model_gets_what_it_would_get_without_the_view(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with vault_wire(tmp_path, make_vault(tmp_path), capabilities=SHOWS) as wire:
        with_view, seen = await call_with_view(wire, tool, **arguments)
        assert seen["vault"] == "Notes"
    async with vault_wire(tmp_path / "x", make_vault(tmp_path / "x")) as wire:
        plain = await wire.result("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
    assert with_view == plain


async def test_the_view_of_results_gets_the_places_with_the_words_that_matter(tmp_path: Path) -> None:
    async with vault_wire(tmp_path, make_vault(tmp_path), capabilities=SHOWS) as wire:
        for query in ("stars", "stars OR moon"):
            _, seen = await call_with_view(wire, "search", query=query)
            rows = {row["path"]: row["places"] for row in seen["rows"]}
            assert (seen["kind"], seen["query"], seen["total"]) == ("results", query, len(rows))
            assert {"Hello.md", "Sub/Third.md"} <= set(rows)
            (place,) = rows["Hello.md"]
            assert place["line"] == 3
            assert "".join(place["parts"]) == "stars and <b>more</b> stars, see [[Other]]"
            assert {part.lower() for part in place["parts"][1::2]} == {"stars"}
        _, seen = await call_with_view(wire, "context", question="what about stars?")
        assert "stars" in seen["rows"][0]["places"][0]["parts"][0]


@given(st.text(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10))))
def test_marking_words_loses_no_character(text: str, places: list[tuple[int, int]]) -> None:
    from vaultbridge.markdown.text import replace_surrogates

    spans = sorted((min(start, len(text)), min(start + size, len(text))) for start, size in places)
    parts = split_marked(text, spans)
    assert "".join(parts) == replace_surrogates(text)
    assert len(parts) % 2 == 1


async def test_the_view_of_a_graph_gets_the_notes_and_the_links_among_them(tmp_path: Path) -> None:
    async with vault_wire(tmp_path, make_vault(tmp_path), capabilities=SHOWS) as wire:
        _, seen = await call_with_view(wire, "links", name="Other", kind="backlinks")
        assert seen["nodes"] == ["Other.md", "Hello.md", "Sub/Third.md"]
        assert (seen["edges"], seen["suggested"], seen["more"]) == ([[0, 1], [0, 2]], {}, False)
        _, seen = await call_with_view(wire, "related", name="Sub/Third")
        assert seen["nodes"][:2] == ["Sub/Third.md", "Hello.md"]
        assert seen["edges"] == []
        assert "stars" in seen["suggested"]["Hello.md"]
        result = await wire.result("tools/call", {"name": "obsidian_links", "arguments": {"kind": "orphans"}})
        assert "_meta" not in result


async def test_what_is_denied_is_in_no_view(tmp_path: Path) -> None:
    from vaultbridge.vault.scope import Scope

    folder = make_vault(tmp_path)
    async with vault_wire(tmp_path, folder, capabilities=SHOWS, scope=Scope(deny=("Sub/",))) as wire:
        for tool, arguments in (
            ("search", {"query": "stars"}),
            ("context", {"question": "stars"}),
            ("links", {"name": "Other"}),
            ("related", {"name": "Hello"}),
        ):
            result = await wire.result("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
            assert "Third" not in json.dumps(result.get("_meta", {})), tool
