"""A link to a hidden note is as hidden as the note: every tool, every kind of link, every protocol.

Each question is asked twice, about a link that leads to a hidden note and about a name that is not there: the
answers may differ in nothing but the name. A new note in the link's place is refused as one in the hidden
folder itself would be. Nothing of the hidden note may stand in an answer, and nothing may be written to it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.callers import ask_mcp, make_bearer, open_session
from server.conftest import Served, Serving, build_index
from support.files import write_vault
from support.long_form import combine, mark_long_after
from support.vault import VaultProcess
from support.waiting import BOUND

TRACE = re.compile("zebra|private|diary", re.IGNORECASE)
"""Stands in the hidden folder's names and texts only."""

CANVAS = '{"nodes":[{"id":"1","type":"text","text":"zebra","x":0,"y":0,"width":1,"height":1}],"edges":[]}'
HIDDEN = {
    "Private/diary.md": "---\nzebraprop: 1\n---\n# zebra heading\nzebraword #zebratag ^zebrablock\n"
    "- [ ] zebratask\n",
    "Private/diary.canvas": CANVAS,
    "Private/diary.base": "views:\n  - type: table\n    name: zebraview\n",
    "Private/diary.png": b"zebra picture",
}
SEEN = {"Hello.md": "# Hello\n\nvisible [[Plan]]\n", "Pub/Plan.md": "plan\n"}

LINKS: dict[str, tuple[dict[str, str], str]] = {
    "file": ({"Pub/way{e}": "../Private/diary{e}"}, "Pub/way{e}"),
    "chain": (
        {"Pub/way{e}": "step{e}", "Pub/step{e}": "../Hop{e}", "Hop{e}": "Private/diary{e}"},
        "Pub/way{e}",
    ),
    "absolute": ({"Pub/way{e}": "{vault}/Private/diary{e}"}, "Pub/way{e}"),
    "folder": ({"Pub/way": "../Private"}, "Pub/way/diary{e}"),
    "folder chain": ({"Pub/way": "hop", "Pub/hop": "../Private"}, "Pub/way/diary{e}"),
    "other case": ({"Pub/WAY{e}": "../Private/diary{e}"}, "pub/way{e}"),
    "other form": (
        {"Pub/" + unicodedata.normalize("NFD", "wäy") + "{e}": "../Private/diary{e}"},
        "Pub/wäy{e}",
    ),
    "dangling": ({"Pub/way{e}": "../Private/nothing{e}"}, "Pub/way{e}"),
    "out and back": ({"Pub/way{e}": "../../back/diary{e}"}, "Pub/way{e}"),
}
LIMITS: dict[str, dict[str, Any]] = {
    "denied": {"deny": ("Private/",)},
    "not allowed": {"allow": ("Pub/", "Hop.*", "Hello.md")},
    "read-only": {"deny": ("Private/",), "read_only": True},
}
Ask = Callable[[str, dict[str, Any]], Awaitable[str]]


def make_vault(folder: Path, kind: str) -> str:
    """The vault with links of one kind; gives the path by which a hidden file is reached."""
    write_vault(folder, {**HIDDEN, **SEEN})
    return add_links(folder, kind)


def add_links(folder: Path, kind: str) -> str:
    links, way = LINKS[kind]
    if kind == "out and back":
        (folder.parent / "back").symlink_to(folder / "Private")
    for ending in (".md", ".canvas", ".base", ".png"):
        for path, target in links.items():
            place = folder / path.format(e=ending)
            if not place.is_symlink():
                place.symlink_to(target.format(e=ending, vault=folder))
    return way


def read_files(folder: Path) -> dict[str, bytes]:
    return {
        str(place.relative_to(folder)): place.read_bytes() for place in folder.rglob("*") if place.is_file()
    }


def rename_to_absent(path: str) -> str:
    """A path like this one where nothing is."""
    return path.replace("way", "wuy").replace("wäy", "wüy")


def list_calls_about(way: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that takes the name of something that is there. None of it may change anything."""
    note, canvas, base, picture = (way.format(e=e) for e in (".md", ".canvas", ".base", ".png"))
    for name in (note, note.removesuffix(".md"), f"/{note}", f"[[{note}]]"):
        yield "read_note", {"name": name}
    for name in (note, canvas, base):
        yield "read_note", {"name": name, "outline": True}
        yield "history", {"name": name}
        yield "delete_note", {"name": name}
        yield "move_note", {"name": name, "to": "Pub/Taken away"}
        yield "links", {"kind": "outgoing", "name": name}
    yield "read_note", {"names": [note, "Hello"]}
    yield "read_note", {"name": note, "heading": "zebra heading"}
    for edit in (
        {"op": "append", "content": "x"},
        {"op": "prepend", "content": "x"},
        {"op": "insert", "line": 1, "content": "x"},
        {"op": "replace_text", "old": "zebraword", "new": "x"},
        {"op": "replace_section", "heading": "zebra heading", "content": "x"},
        {"op": "apply_diff", "diff": "@@ -4 +4 @@\n-# zebra heading\n+# x\n"},
    ):
        yield "edit_note", {"name": note, **edit}
        yield "edit_note", {"name": note, **edit, "dry_run": True}
    for operation in (
        {"op": "write", "content": "x"},
        {"op": "delete"},
        {"op": "move", "to": "Pub/Taken away"},
        {"op": "set_property", "property": "a", "value": 1},
        {"op": "rename_heading", "heading": "zebra heading", "to": "x"},
    ):
        for dry_run in (True, False):
            yield "batch", {"operations": [{"name": note, **operation}], "dry_run": dry_run}
    for kind in ("backlinks", "neighbourhood"):
        yield "links", {"kind": kind, "name": note}
    yield "links", {"kind": "path", "name": "Hello", "to": note}
    yield "properties", {"name": note}
    yield "edit_note", {"op": "set_property", "name": note, "property": "a", "value": 1}
    yield "tags", {"action": "list", "name": note}
    yield "edit_note", {"op": "add_tag", "name": note, "tag": "a"}
    yield "tasks", {"name": note}
    yield "edit_note", {"op": "set_task", "name": note, "line": 6, "status": "done"}
    yield "template", {"template": note, "title": "x"}
    yield "create_note", {"name": "Pub/From template", "content": "", "template": note}
    yield "canvas", {"name": canvas}
    yield "edit_canvas", {"action": "add", "name": canvas, "text": "x"}
    yield "base_query", {"name": base}
    yield "base_query", {"base": "views: [{type: table, name: t}]", "this": note}
    yield "attachment", {"action": "get", "name": picture}
    yield "attachment", {"action": "info", "name": picture}
    yield "open", {"name": note}


def list_creating_calls(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that takes the name of something to be made, at this path."""
    note, canvas, _, picture = (path.format(e=e) for e in (".md", ".canvas", ".base", ".png"))
    for overwrite in (False, True):
        yield "create_note", {"name": note, "content": "x", "overwrite": overwrite}
        for dry_run in (True, False):
            create = {"op": "create", "name": note, "content": "x", "overwrite": overwrite}
            yield "batch", {"operations": [create], "dry_run": dry_run}
    yield "edit_canvas", {"action": "create", "name": canvas}
    yield "add_attachment", {"name": picture, "data": "eA=="}
    yield "move_note", {"name": "Hello", "to": note}
    yield "move_note", {"name": "Hello", "to": note, "dry_run": True}


OVERVIEWS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {"depth": 9}),
    ("search", {"query": "zebraword OR zebra"}),
    ("search", {"query": "path:Pub"}),
    ("properties", {}),
    ("tags", {"action": "list"}),
    ("tasks", {"status": "any"}),
    ("links", {"kind": "orphans"}),
    ("history", {}),
    ("vault_info", {"section": "summary"}),
    ("vault_info", {"section": "problems"}),
    ("base_query", {"base": "views: [{type: table, name: t, order: [file.path, file.backlinks]}]"}),
]


async def check_hidden(folder: Path, way: str, call_tool_text: Ask) -> None:
    """The whole matrix of one kind of link over one protocol."""
    before = read_files(folder)
    for (tool, linked), (_, missing) in zip(
        list_calls_about(way), list_calls_about(rename_to_absent(way)), strict=True
    ):
        answer, control = await call_tool_text(tool, linked), await call_tool_text(tool, missing)
        assert rename_to_absent(answer) == control, (tool, linked)
        for value in sorted(_list_texts(linked), key=len, reverse=True):
            answer = answer.replace(json.dumps(value)[1:-1], "").replace(value, "")
        assert not TRACE.search(answer), (tool, linked, answer)
    for (tool, linked), (_, there) in zip(
        list_creating_calls(way), list_creating_calls("Private/diary{e}"), strict=True
    ):
        answer, control = await call_tool_text(tool, linked), await call_tool_text(tool, there)
        same = [
            text.replace(way.format(e=""), "*").replace("Private/diary", "*") for text in (answer, control)
        ]
        assert same[0] == same[1], (tool, linked)
        assert not TRACE.search(answer.replace(way.format(e=""), "")), (tool, linked, answer)
    for tool, arguments in OVERVIEWS:
        answer = await call_tool_text(tool, arguments)
        asked = str(arguments.get("query", ""))
        assert not TRACE.search(answer.replace(asked, "") if asked else answer), (tool, arguments, answer)
    assert read_files(folder) == before


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield value.removesuffix(".md")
        yield value.strip("/[]")
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_texts(inner)


def make_bridge_caller(served: Served, headers: dict[str, str]) -> Ask:
    async def call_tool_text(tool: str, arguments: dict[str, Any]) -> str:
        url = f"{served.url}/bridge/v1/tools/{tool}/call"
        async with served.http.post(url, json={"arguments": arguments}, headers=headers) as response:
            return f"{response.status} {await response.text()}"

    return call_tool_text


def make_mcp_caller(served: Served, session: dict[str, str]) -> Ask:
    async def call_tool_text(tool: str, arguments: dict[str, Any]) -> str:
        named = {"name": f"obsidian_{tool}", "arguments": arguments}
        _, answer = await ask_mcp(served, session, "tools/call", **named)
        answer.pop("id", None)
        return json.dumps(answer, ensure_ascii=False)

    return call_tool_text


@pytest.mark.parametrize(("kind", "limits"), combine([*LINKS], [*LIMITS]))
async def test_no_tool_over_http_opens_a_hidden_note_by_a_link(
    serving: Serving, tmp_path: Path, kind: str, limits: str
) -> None:
    folder = tmp_path / "Notes"
    way = make_vault(folder, kind)
    build_index(folder)
    async with serving("", "Notes") as served:
        # The owner has written through the link: what the journal holds of that is hidden as well.
        await served.call("edit_note", name=way.format(e=".md"), op="append", content="zebra")
        _, secret = served.tokens.make("phone", **LIMITS[limits])
        # Both protocols ask the same provider: over Bridge v1 each kind of link meets one limit in turn.
        if list(LINKS).index(kind) % len(LIMITS) == list(LIMITS).index(limits):
            await check_hidden(folder, way, make_bridge_caller(served, make_bearer(secret)))
        session = await open_session(served, **make_bearer(secret))
        await check_hidden(folder, way, make_mcp_caller(served, session))
        await _check_resources_and_prompts(served, session, way)


async def _check_resources_and_prompts(served: Served, session: dict[str, str], way: str) -> None:
    for method in ("resources/list", "prompts/list"):
        _, answer = await ask_mcp(served, session, method)
        assert "result" in answer and not TRACE.search(json.dumps(answer)), method
    for ending in (".md", ".canvas", ".png"):
        uri = f"obsidian://vault/Notes/{way.format(e=ending)}"
        for method in ("resources/read", "resources/subscribe"):
            _, linked = await ask_mcp(served, session, method, uri=uri)
            _, missing = await ask_mcp(served, session, method, uri=rename_to_absent(uri))
            texts = [json.dumps({**item, "id": 0}, ensure_ascii=False) for item in (linked, missing)]
            assert "error" in linked and rename_to_absent(texts[0]) == texts[1], (method, uri)
    note = way.format(e=".md")
    _, prompt = await ask_mcp(served, session, "prompts/get", name="summarize_note", arguments={"note": note})
    assert "error" in prompt and not TRACE.search(json.dumps(prompt).replace(note, ""))
    for argument in ("", "w", "Pub/"):
        ref = {"type": "ref/prompt", "name": "summarize_note"}
        value = {"name": "note", "value": argument}
        _, completed = await ask_mcp(served, session, "completion/complete", ref=ref, argument=value)
        assert not re.search("way|wäy|diary", json.dumps(completed, ensure_ascii=False), re.IGNORECASE)


@pytest.mark.parametrize("kind", mark_long_after(2, LINKS))
async def test_no_tool_over_stdio_opens_a_hidden_note_by_a_link(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "Notes"
    way = make_vault(folder, kind)
    build_index(folder)
    async with VaultProcess(tmp_path, str(folder), "--deny", "Private/") as process:
        await process.begin()

        async def call_tool_text(tool: str, arguments: dict[str, Any]) -> str:
            answer = await process.ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
            answer.pop("id", None)
            return json.dumps(answer, ensure_ascii=False)

        await check_hidden(folder, way, call_tool_text)
        # Nor does it stand in the way of what may be done: a link to a hidden base stopped every move.
        moved = await call_tool_text("move_note", {"name": "Plan", "to": "Plan B"})
        assert "isError" not in moved and not TRACE.search(moved)
        assert (folder / "Hello.md").read_text() == "# Hello\n\nvisible [[Plan B]]\n"


async def test_a_link_that_comes_while_the_server_runs_is_hidden_too(
    serving: Serving, tmp_path: Path
) -> None:
    folder = tmp_path / "Notes"
    make_vault(folder, "absolute")
    for link in [place for place in folder.rglob("*") if place.is_symlink()]:
        link.unlink()
    build_index(folder)
    async with serving("", "Notes") as served:
        _, secret = served.tokens.make("phone", deny=("Private/",))
        call_tool_text = make_bridge_caller(served, make_bearer(secret))
        await call_tool_text("read_note", {"name": "Hello"})
        # In the place of a note that was visible, and was read.
        (folder / "Pub/wax.md").write_text("visible")
        assert "visible" in await call_tool_text("read_note", {"name": "Pub/wax"})
        (folder / "Pub/wax.md").unlink()
        (folder / "Pub/wax.md").symlink_to("../Private/diary.md")
        answer = await call_tool_text("read_note", {"name": "Pub/wax.md"})
        assert '"success":false' in answer and not TRACE.search(answer)
        (folder / "Pub/wax.md").unlink()
        await check_hidden(folder, add_links(folder, "file"), call_tool_text)


async def test_the_sockets_of_editors_do_not_open_a_hidden_note_by_a_link(
    serving: Serving, tmp_path: Path
) -> None:
    folder = tmp_path / "Notes"
    way = make_vault(folder, "file")
    for kind in ("folder chain",):
        for path, target in LINKS[kind][0].items():
            (folder / f"{path}-folder").symlink_to(target if target != "hop" else "hop-folder")
    build_index(folder)
    async with serving('[scope]\ndeny = ["Private/"]\n', "Notes") as served:
        before = read_files(folder)
        lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
        headers = {"X-Claude-Code-Ide-Authorization": lock["authToken"]}
        async with served.http.ws_connect(f"{served.url}/", headers=headers, protocols=("mcp",)) as socket:

            async def request_text(method: str, params: dict[str, Any]) -> str:
                await socket.send_json({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
                while (answer := await socket.receive_json(timeout=BOUND)).get("id") != 7:
                    pass
                return json.dumps(answer, ensure_ascii=False)

            for note in (way.format(e=".md"), way.format(e=".png"), "Pub/way-folder/diary.md"):
                spelled = (note, f"/{note}", f"{folder}/{note}")
                for name in spelled:
                    for method, params in _list_editor_calls(name):
                        linked = await request_text(method, params)
                        missing = await request_text(method, json.loads(rename_to_absent(json.dumps(params))))
                        assert rename_to_absent(linked) == missing, (method, params)
                        assert not TRACE.search(linked.replace(note, "")), (method, linked)
                    for method in ("writeFile",):
                        answer = await request_text(method, {"path": name, "content": "x"})
                        assert "error" in answer and not TRACE.search(answer.replace(note, ""))
                    diff = {"old_file_path": name, "new_file_path": name, "new_file_contents": "x"}
                    shown = {"name": "openDiff", "arguments": {**diff, "tab_name": "t"}}
                    answer = await request_text("tools/call", shown)
                    assert "error" in answer and not TRACE.search(answer.replace(note, ""))
            listed = await request_text("listFiles", {})
            assert not re.search("way|diary", listed), listed
        async with served.http.ws_connect(f"{served.url}/editor") as editor:
            hello = {"app": "test", "token": lock["authToken"], "abilities": {}}
            for number, (method, params) in enumerate(
                [
                    ("hello", hello),
                    ("select", {"note": "Pub/way.md", "start": [1], "end": [2]}),
                    ("focus", {"path": "Pub/way.md"}),
                ]
            ):
                await editor.send_json({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                while (answer := await editor.receive_json(timeout=BOUND)).get("id") != number:
                    pass
                assert not TRACE.search(json.dumps(answer)), answer
            active = await make_bridge_caller(served, {})("active", {})
            assert not TRACE.search(active) and "way" not in active
        assert read_files(folder) == before


def _list_editor_calls(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "readFile", {"path": name}
    yield "files/read", {"path": name}
    for tool, arguments in (
        ("openFile", {"filePath": name}),
        ("getDiagnostics", {"uri": name}),
        ("getDiagnostics", {"uri": f"file://{name}"}),
        ("checkDocumentDirty", {"filePath": name}),
        ("saveDocument", {"filePath": name}),
    ):
        yield "tools/call", {"name": tool, "arguments": arguments}
