"""The timeline, one change with its undo, the protocol view and the counters, over a real port."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from server.callers import editor, ide, open_page_api, read_page_token
from server.conftest import Served, Serving
from support.page_api import PageApi


async def work(served: Served, seed: int, calls: int) -> None:
    """Reads, searches and changes in a drawn order, by two programs."""
    draw = random.Random(seed)
    for number in range(calls):
        headers = {"User-Agent": draw.choice(["one/1", "two/2"])}
        match draw.randrange(4):
            case 0:
                await served.call("read_note", headers, path="Hello.md", vault="Notes")
            case 1:
                await served.call("search", headers, query=f"text {number}", vault="Notes")
            case 2:
                await served.call(
                    "create_note", headers, name=f"Notiz {number} 語", content="x\n", vault="Notes"
                )
            case _:
                await served.call(
                    "edit_note", headers, op="append", name="Hello.md", content=f"{number}\n", vault="Notes"
                )


async def read_all(api: PageApi, limit: int, **query: Any) -> list[dict[str, Any]]:
    """Every page of a list, as a person scrolls through it."""
    entries: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = await api.get("/activity", limit=limit, before=cursor, **query)
        assert len(answer["entries"]) <= limit
        entries += answer["entries"]
        if answer["next"] is None:
            return entries
        cursor = answer["next"]


@pytest.mark.parametrize("seed", range(2))
async def test_pages_of_any_size_give_every_entry_once_newest_first(serving: Serving, seed: int) -> None:
    async with serving("", "Notes", "Second") as served:
        await work(served, seed, 20)
        api = open_page_api(served)
        whole = await read_all(api, 200)
        assert [entry["at"] for entry in whole] == sorted((e["at"] for e in whole), reverse=True)
        ids = [entry["id"] for entry in whole]
        assert len(set(ids)) == len(ids)
        for limit in (1, 3, 7):
            assert [entry["id"] for entry in await read_all(api, limit)] == ids
        calls = [entry for entry in whole if entry["kind"] in ("read", "search", "change")]
        assert len(calls) == 20 and all(entry["ok"] for entry in calls)
        for kind in ("read", "search", "change"):
            wanted = [entry["id"] for entry in whole if entry["kind"] == kind]
            assert [entry["id"] for entry in await read_all(api, 4, kind=kind)] == wanted
        someone = calls[0]["assistant"]["id"]
        mine = [entry["id"] for entry in whole if entry["assistant"]["id"] == someone]
        assert [entry["id"] for entry in await read_all(api, 5, assistant=someone)] == mine
        middle = calls[len(calls) // 2]["at"]
        later = [entry["id"] for entry in whole if entry["at"] >= middle]
        assert [entry["id"] for entry in await read_all(api, 6, since=repr(middle))] == later
        earlier = [entry["id"] for entry in whole if entry["at"] < middle]
        assert [entry["id"] for entry in await read_all(api, 6, until=repr(middle))] == earlier
        noted = {"Hello.md"} & {path for entry in whole for path in entry["paths"]}
        about = await read_all(api, 3, note="Hello", vault="Notes")
        assert {path for entry in about for path in entry["paths"]} == noted
        assert await read_all(api, 5, vault="Second") == []


async def test_polling_gives_what_is_new(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        await served.call("read_note", path="Hello.md")
        newest = (await api.get("/activity"))["newest"]
        assert (await api.get("/activity", after=newest))["entries"] == []
        await served.call("create_note", name="New", content="x\n")
        await served.call("search", query="text")
        found = await api.get("/activity", after=newest)
        assert [entry["text"] for entry in found["entries"]] == ["searched for “text”", "created New.md"]
        assert (await api.get("/activity", after=found["newest"]))["entries"] == []


async def test_a_change_is_shown_with_both_texts_and_undone(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        await served.call("edit_note", op="append", name="Hello.md", content="一行\n")
        (entry,) = await read_all(api, 10, kind="change")
        assert (entry["change"], entry["paths"], entry["canUndo"]) == (1, ["Hello.md"], True)
        change = await api.get("/change", vault=entry["vault"], change=entry["change"])
        (file,) = change["files"]
        assert (file["path"], file["change"]) == ("Hello.md", "changed")
        assert (
            file["before"] == "# Hello\n\nsome text\n"
            and file["after"] == served.vault.joinpath("Hello.md").read_text()
        )
        assert "+一行" in change["diff"] and change["canUndo"]
        undone = await api.post("/undo", vault="Notes", change=1)
        assert undone["change"] == 2 and undone["files"][0]["path"] == "Hello.md"
        assert (served.vault / "Hello.md").read_text() == "# Hello\n\nsome text\n"
        entries = await read_all(api, 10, kind="change,undo")
        assert [(e["kind"], e["undoOf"], e["undoneBy"], e["canUndo"]) for e in entries] == [
            ("undo", 1, None, True),
            ("change", None, 2, False),
        ]
        assert entries[0]["assistant"] == {"id": None, "name": "You"}


async def test_an_undo_over_a_later_change_is_refused_and_can_be_forced(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        await served.call("edit_note", op="append", name="Hello.md", content="one\n")
        (served.vault / "Hello.md").write_text("something else\n")
        assert await api.catch_refusal("/undo", method="POST", json={"vault": "Notes", "change": 1}) == (
            409,
            "SERVER_ERROR",
        )
        assert (served.vault / "Hello.md").read_text() == "something else\n"
        await api.post("/undo", vault="Notes", change=1, force=True)
        assert (served.vault / "Hello.md").read_text() == "# Hello\n\nsome text\n"
        for body in (
            {},
            {"vault": "Notes"},
            {"vault": "Notes", "change": "1"},
            {"vault": "Notes", "change": 99},
        ):
            assert await api.catch_refusal("/undo", method="POST", json=body) == (400, "INVALID_PARAMS")
        assert await api.catch_refusal("/undo", method="POST", json={"vault": "No", "change": 1}) == (
            404,
            "VAULT_NOT_FOUND",
        )


async def test_changes_from_before_this_start_are_there_without_an_assistant(serving: Serving) -> None:
    async with serving() as served:
        await served.call("create_note", name="Before", content="x\n")
    async with serving() as served:
        api = open_page_api(served)
        (entry,) = await read_all(api, 10, kind="change")
        assert (entry["paths"], entry["assistant"]["id"], entry["ms"]) == (["Before.md"], None, None)
        assert entry["canUndo"]


async def test_a_note_that_becomes_private_leaves_the_timeline(serving: Serving) -> None:
    async with serving("[scope]\n") as served:
        api = open_page_api(served)
        await served.call("read_note", path="Private/Diary.md")
        await served.call("edit_note", op="append", name="Private/Diary.md", content="more\n")
        await served.call("read_note", path="Hello.md")
        assert "Diary" in json.dumps(await api.get("/activity"))
        served.configure(
            served.config_file.read_text().replace("[scope]\n", '[scope]\ndeny = ["Private/"]\n')
        )

        async def is_gone() -> bool:
            return "Diary" not in json.dumps([await api.get("/activity"), await api.get("/assistants")])

        await api.until(is_gone)
        assert (await api.assistant())["summary"] == "read Hello.md"
        assert await api.catch_refusal("/change", params={"change": 1}) == (400, "INVALID_PARAMS")


WRONG = (
    {"kind": "nonsense"},
    {"limit": "0"},
    {"limit": "201"},
    {"before": "zz"},
    {"after": "7b7d00"},
    {"before": "ab" * 2000},
    {"since": "yesterday"},
    {"until": "nan"},
)


async def test_a_wrong_question_names_the_argument(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        for query in WRONG:
            status, body = await api.ask("/activity", params=query)
            assert (status, body["error"]["argument"]) == (400, next(iter(query)))
        assert await api.catch_refusal("/activity", params={"vault": "No"}) == (404, "VAULT_NOT_FOUND")
        assert await api.catch_refusal("/activity", params={"note": "No"}) == (404, "FILE_NOT_FOUND")


async def test_the_protocol_view_has_every_message_and_json_only_on_demand(serving: Serving) -> None:
    async with serving() as served, editor(served, activity=True) as watcher:
        api = open_page_api(served)
        async with ide(served) as claude:
            await claude.request("readFile", path="Hello.md")
            shown = await api.get("/trace")
            got = [(m["direction"], m["type"], m["method"]) for m in shown["messages"]]
            assert got[:2] == [("in", "request", "initialize"), ("out", "response", "initialize")]
            assert ("in", "notification", "ide_connected") in got
            assert got[-2:] == [("in", "request", "readFile"), ("out", "response", "readFile")]
            answer = shown["messages"][-1]
            assert answer["ms"] > 0 and answer["bytes"] > len("# Hello") and answer["rpc"] == "2"
            kept = await api.get(f"/trace/{answer['n']}")
            assert kept["json"] is None and "was not recorded" in kept["why"]
            assert "some text" not in json.dumps(shown)
            assert await watcher.request("watchTrace", on=True, json=True) == {"on": True, "json": True}
            secret = f"vbt_{'x' * 43}"
            await claude.request("readFile", path="Hello.md", also=secret, and_=read_page_token(served))
            later = (await api.get("/trace", after=answer["n"], method="readFile"))["messages"]
            assert [m["json"] for m in later] == [True, True]
            texts = [(await api.get(f"/trace/{m['n']}"))["json"] for m in later]
            assert "some text" in texts[1] and '"path":"Hello.md"' in texts[0]
            assert secret not in texts[0] and read_page_token(served) not in texts[0]
            await watcher.request("watchTrace", on=False)
            assert (await api.get(f"/trace/{later[0]['n']}"))["json"] is None
        assert await api.catch_refusal("/trace/999999") == (404, "NOT_FOUND")
        assert await api.catch_refusal("/trace", params={"direction": "up"}) == (400, "INVALID_PARAMS")


async def test_the_counters_add_up(serving: Serving) -> None:
    async with serving() as served:
        await work(served, 7, 12)
        await served.call("read_note", name="Nothing there")
        stats = await open_page_api(served).get("/stats")
        assert (stats["calls"], stats["failed"]) == (13, 1)
        assert sum(row["calls"] for row in stats["tools"]) == sum(stats["minutes"]["calls"]) == 13
        assert all(sum(row["counts"]) == row["calls"] for row in stats["methods"] + stats["tools"])
        assert [row["name"] for row in stats["methods"]] == ["tools/call"]
        assert len(stats["methods"][0]["counts"]) == len(stats["buckets"]) + 1
        assert stats["bytesIn"] > 0 < stats["bytesOut"] and stats["connected"] == len(stats["assistants"])
