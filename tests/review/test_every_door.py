"""Everything that can change a vault, taken from the catalog, the routers and the dialects themselves: under
`review = all` nothing on disk changes before a person has decided.

A new tool, route or method has to be entered here: with a call that shows that it waits, or with the reason
why it need not.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from server.conftest import Served, Serving
from server.conftest import serving as serving
from support.changing_calls import EDITS, FILES, TOOLS
from support.review import Reviewed
from support.reviewer import claude_code, person
from support.tools import ToolHarness
from vaultbridge.engine.operations import Append, Delete
from vaultbridge.engine.operations.vocabulary import list_offered
from vaultbridge.errors import PermissionDenied
from vaultbridge.protocols.claude_ide.dialect import _IdeDialect
from vaultbridge.protocols.claude_ide.tools import TOOLS as IDE_TOOLS
from vaultbridge.protocols.editor.server import _EditorDialect
from vaultbridge.protocols.mcp.methods import METHODS
from vaultbridge.review.gate import NonInteractiveCaller, ReviewGate
from vaultbridge.review.policy import Review, ReviewRules
from vaultbridge.tools.base.answer import Answer, answer_text
from vaultbridge.tools.base.schema import Arguments
from vaultbridge.tools.base.tool import ForeignTool, Tool, ToolContext, VaultContext
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.web.api.routes import PageApi

Make = Callable[..., Reviewed]
Call = tuple[str, dict[str, Any]]

IDE_METHODS = {
    "writeFile": "waits; see the test",
    "files/read": "reads",
    "readFile": "reads",
    "listFiles": "reads",
    "getWorkspaceInfo": "reads",
    "getOpenFiles": "reads",
    "getCurrentFile": "reads",
    "workspace/selection": "reads",
    "initialized": "changes nothing",
    "tools/list": "reads",
}

IDE_SHOWING = {
    "openFile": "shows a file in an editor",
    "openDiff": "asks a person; the client writes what it was allowed to",
    "close_tab": "closes a view",
    "closeAllDiffTabs": "closes views",
    "saveDocument": "writes nothing: an editor saves its own text",
}

MCP_METHODS = {
    "tools/call": "waits; see the tests of tools",
    "tools/list": "reads",
    "resources/list": "reads",
    "resources/templates/list": "reads",
    "resources/read": "reads",
    "prompts/list": "reads",
    "prompts/get": "reads",
    "completion/complete": "reads",
}

EDITOR_METHODS = {
    # All need the bridge's own token: this is where the person decides.
    "hello": "reads",
    "focus": "reports what is open",
    "openFiles": "reports what is open",
    "mention": "shows a note to an assistant",
    "select": "reports a selection",
    "shareSelection": "the person's setting",
    "status": "reads",
    "watchTrace": "reads",
    "activity": "reads",
    "controlAssistants": "the person's setting",
    "ping": "changes nothing",
    "proposals": "reads",
    "proposal": "reads",
    "preview": "reads",
    "decide": "the person's decision",
    "undoProposal": "the person's undo",
    "undoChange": "the person's undo",
    "change": "reads",
    "review": "reads",
    "setReview": "the person's setting",
}

OWNER_ROUTES = {
    "POST /tokens", "DELETE /tokens/{id}", "POST /assistants/{id}/{action}", "POST /assistants/{action}",
    "POST /undo", "POST /clients", "POST /code", "POST /browsers", "DELETE /browsers/{id}",
}  # fmt: skip
"""Only the bridge's own token opens them; other tokens get OWNER_ONLY."""

PAGE_CALLS: dict[str, dict[str, Any]] = {
    "PUT /note": {"path": "A.md", "text": "gone"},
    "POST /note": {"path": "New.md", "text": "new"},
    "POST /today": {},
    "POST /task": {"path": "A.md", "line": 9},
    "POST /move": {"path": "A.md", "to": "Z.md"},
    "POST /delete": {"path": "A.md"},
    "POST /attachment": {"path": "A.md", "name": "p.png", "data": base64.b64encode(b"\x89PNG").decode()},
}
"""What a token may ask for through the page's API; `expected` is added where the text of the file matters."""


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def open_tools(vault: Reviewed, review: Review, actor: str = "robot") -> ToolHarness:
    rules = ReviewRules(least=review, wait_seconds=0.0)
    gate = ReviewGate(lambda _: rules, "tool", NonInteractiveCaller(0.0), lambda *_: None)
    context = ToolContext(engines={vault.engine.name: vault.engine}, actor=actor, gate=gate)
    return ToolHarness(vault.engine, standard_catalog(), context)


def list_changing() -> dict[str, Tool]:
    catalog = standard_catalog()
    tools = [catalog.get(name) for name in catalog.names(prefix="")]
    return {tool.name: tool for tool in tools if isinstance(tool, Tool) and tool.effect != "reads"}


def test_every_tool_and_every_edit_has_its_calls_here() -> None:
    assert set(TOOLS) == set(list_changing())
    assert set(EDITS) == set(list_offered("edit_note"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(tool, arguments) for tool, calls in TOOLS.items() for arguments in calls],
    ids=lambda value: value if isinstance(value, str) else str(value)[:40],
)
def test_no_tool_changes_a_file_before_a_person_decides(
    reviewed: Make, tool: str, arguments: dict[str, Any]
) -> None:
    vault = reviewed(FILES)
    own = open_tools(vault, "off")
    own.call("edit_note", name="T", op="append", content="mine")
    before, history = read_files(vault.folder), vault.engine.history.changes()
    answer = open_tools(vault, "all").call(tool, **arguments)
    assert answer.data is not None
    assert answer.data["data"]["status"] == "pending"
    assert (read_files(vault.folder), vault.engine.history.changes()) == (before, history)
    # The call is one that changes something, and is written once it is accepted.
    assert vault.decider.accept(vault.store.waiting()[0].number, by="page").outcome == "accepted"
    assert read_files(vault.folder) != before


def test_no_reading_tool_gets_an_engine_that_can_change_anything(reviewed: Make) -> None:
    vault = reviewed(FILES)
    harness = open_tools(vault, "off")
    tried: list[str] = []

    def write(context: VaultContext, arguments: Arguments) -> Answer:
        for engine in (context.engine, context.tool_context.engines[context.engine.name]):
            with pytest.raises(PermissionDenied):
                engine.apply([Delete(note="A")])
            with pytest.raises(PermissionDenied):
                engine.undo(1, force=True)
            assert not {"transactor", "carry_out", "record"} & {*dir(engine)}
            tried.append("read")
        assert context.tool_context.gate is None
        return answer_text("done")

    harness.call("edit_note", name="T", op="append", content="mine")
    harness.catalog.add(Tool(name="sly", description="", arguments=Arguments, run=write, group="x"))
    before = read_files(vault.folder)
    assert harness.text("sly") == "done"
    assert (tried, read_files(vault.folder)) == (["read", "read"], before)


@pytest.mark.parametrize("effect", ["reads", "changes"])
def test_no_tool_of_ours_or_of_a_plugin_gets_past_the_gate(reviewed: Make, effect: str) -> None:
    """Whatever a plugin says of its tool."""
    vault = reviewed(FILES)
    harness = open_tools(vault, "all")

    def foreign(context: ToolContext, arguments: dict[str, Any]) -> Answer:
        engine = context.engines[vault.engine.name]
        assert not {"transactor", "carry_out", "record"} & {*dir(engine)}
        again = replace(context, gate=None).for_changing().engines[vault.engine.name]
        again.apply([Append(note="A", content="x")])
        return answer_text("done")

    harness.catalog.add(
        ForeignTool(name="plug", description="", input_schema={}, run=foreign, group="x", effect=effect)  # type: ignore[arg-type]
    )
    before = read_files(vault.folder)
    answer = harness.call("plug")
    assert answer.data is not None
    assert answer.data["data"]["status"] == "pending"
    assert read_files(vault.folder) == before


async def test_every_method_of_the_other_protocols_is_known_here(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[type, set[str]] = {}
    for kind, table in ((_IdeDialect, "_methods"), (_EditorDialect, "_requests")):

        def note(
            self: Any, *given: Any, _init: Any = kind.__init__, _table: str = table, **more: Any
        ) -> None:
            _init(self, *given, **more)
            seen[type(self)] = set(getattr(self, _table))

        monkeypatch.setattr(kind, "__init__", note)
    async with serving() as served, claude_code(served.vault), person(served.vault):
        assert seen == {_IdeDialect: set(IDE_METHODS), _EditorDialect: set(EDITOR_METHODS)}
    assert set(METHODS) == set(MCP_METHODS)
    assert {tool.name for tool, _ in IDE_TOOLS.values() if not _only_reads(tool)} == set(IDE_SHOWING)


def _only_reads(tool: Any) -> bool:
    return bool(tool.annotations and tool.annotations.read_only_hint)


async def test_claude_codes_own_write_waits(serving: Serving) -> None:
    async with serving('[tools]\nreview = "all"\n') as served, claude_code(served.vault) as claude:
        before = read_files(served.vault)
        for path in ("Hello.md", "New.md"):
            answer = await claude.request("writeFile", path=path, content="gone")
            assert answer["status"] == "pending"
        assert read_files(served.vault) == before


async def test_over_bridge_v1_every_changing_tool_waits(serving: Serving, tmp_path: Path) -> None:
    async with serving('[tools]\nreview = "all"\n') as served:
        for name, text in FILES.items():
            (served.vault / name).write_text(text, "utf-8")
        # A change by the owner, which an assistant may ask to undo, and none of its own.
        assert await ask_page(served, "POST /note", {"path": "Mine.md", "text": "x"}, served.own_token) == (
            200,
            "",
        )
        before = read_files(served.vault)
        for tool, calls in TOOLS.items():
            for arguments in calls:
                answer = await served.call(tool, **arguments)
                if (tool, arguments) == ("undo", {}):
                    assert "no change of yours" in str(answer)
                else:
                    assert '"pending"' in str(answer).replace("'", '"'), (tool, answer)
        assert read_files(served.vault) == before


async def test_no_route_of_the_page_changes_a_file_for_a_token_that_must_wait(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes: dict[str, bool] = {}
    add = PageApi._add

    def note(self: PageApi, method: str, path: str, handler: Any, *, owner: bool) -> None:
        routes[f"{method} {path}"] = owner
        add(self, method, path, handler, owner=owner)

    monkeypatch.setattr(PageApi, "_add", note)
    async with serving() as served:
        for name, text in FILES.items():
            (served.vault / name).write_text(text, "utf-8")
        changing = {route: owner for route, owner in routes.items() if not route.startswith("GET ")}
        assert {route for route, owner in changing.items() if owner} == OWNER_ROUTES
        assert {route for route, owner in changing.items() if not owner} == set(PAGE_CALLS)
        _, secret = served.tokens.make("robot", review="all")
        _, free = served.tokens.make("free")
        before = read_files(served.vault)
        for route, body in PAGE_CALLS.items():
            assert await ask_page(served, route, body, secret) == (409, "PENDING"), route
        for route in OWNER_ROUTES:
            assert await ask_page(served, route, {}, secret) == (403, "OWNER_ONLY"), route
        assert read_files(served.vault) == before
        for route, body in PAGE_CALLS.items():
            # Each of these calls is one that changes something.
            (served.vault / "A.md").write_text(FILES["A.md"], "utf-8")
            before = read_files(served.vault)
            assert (await ask_page(served, route, body, free))[0] == 200, route
            assert read_files(served.vault) != before, route


async def ask_page(served: Served, route: str, body: dict[str, Any], secret: str) -> tuple[int, str]:
    """The status and the code of the answer to a change of the page's API."""
    headers = {"Authorization": f"Bearer {secret}"}
    method, path = route.replace("{id}", "x").replace("{action}", "pause").split()
    url = f"{served.url}/page/api"
    # A picture is added for a note, which stays as it is.
    if "path" in body and "data" not in body and (served.vault / body["path"]).exists():
        async with served.http.get(f"{url}/note", params={"path": body["path"]}, headers=headers) as response:
            body = {**body, "expected": (await response.json())["hash"]}
    async with served.http.request(method, f"{url}{path}", json=body, headers=headers) as response:
        answer = await response.json()
        return response.status, answer.get("error", {}).get("code", "") if isinstance(answer, dict) else ""
