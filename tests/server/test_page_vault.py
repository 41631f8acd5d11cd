"""The Vault view's API on a real port: what a person sees of files, and what becomes of their changes."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from server.callers import ask_page, make_bearer, make_owner_headers
from server.conftest import Served, Serving, build_index
from support.files import write_vault
from support.plain_texts import FILES as PLAIN_FILES
from support.plain_texts import draw_texts
from support.reviewer import person
from support.waiting import BOUND
from vaultbridge.index.ranking.forms import stem_word
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.web.api.vault import FILES_CHANGED, QUERY_CHARS, FileTimes, find_changes
from vaultbridge.web.page import CODES

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

NOTE = """---
tags: [plan]
due: 2026-05-01
with: "[[People/Ada]]"
---
# Plan

- [ ] buy seeds
- [x] call [[Ada]] and [[Nobody]]

![[sky.png]] and ![[Ada#Life]]

## Later

text ^later
"""


def make_vault(folder: Path) -> None:
    write_vault(folder, {"Plan.md": NOTE, "People/Ada.md": "# Ada\n\n## Life\n\nshort\n\n## Work\n\nlong\n"})
    write_vault(folder, {"Crlf.md": "one\r\ntwo\r\nthree\r\n", "Mixed.md": "one\r\ntwo\nthree\r\nfour"})
    write_vault(
        folder, {"Private/Diary.md": "a secret about [[Plan]]\n", "page.html": "<script>1</script>\n"}
    )
    (folder / "sky.png").write_bytes(PICTURE)
    (folder / "bad.bin").write_bytes(b"\xff\xfe\x00")
    build_index(folder)


async def get(served: Served, path: str, headers: dict[str, str] | None = None) -> Any:
    status, body = await ask_page(served, path, headers or make_owner_headers(served))
    assert status == 200, body
    return body


async def send(served: Served, method: str, path: str, body: Any) -> tuple[int, Any]:
    return await ask_page(served, path, make_owner_headers(served), method=method, json=body)


async def test_a_note_comes_with_all_that_its_view_shows(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        note = await get(served, "/note?path=Plan.md")
        assert (note["kind"], note["text"], note["bodyLine"], note["readOnly"]) == ("note", NOTE, 6, "")
        assert [property_["name"] for property_ in note["properties"]] == ["tags", "due", "with"]
        assert [(entry["text"], entry["line"]) for entry in note["outline"]] == [("Plan", 6), ("Later", 13)]
        assert note["tasks"] == [{"line": 8, "status": " "}, {"line": 9, "status": "x"}]
        assert note["links"]["Ada"] == {"path": "People/Ada.md"}
        assert note["links"]["People/Ada"] == {"path": "People/Ada.md"}
        assert note["links"]["Nobody"] == {"path": None, "target": "Nobody"}
        assert note["links"]["sky.png"]["media"].startswith("/page/media/")
        assert note["blocks"] == {"later": 15}
        assert await get(served, f"/note?path=Plan.md&known={note['hash']}") == {"unchanged": True}
        part = await get(served, "/note?path=People/Ada.md&subpath=%23Life")
        assert (part["text"], part["firstLine"]) == ("## Life\n\nshort", 3)
        block = await get(served, "/note?path=Plan&subpath=%23%5Elater")
        assert (block["text"], block["firstLine"]) == ("text ^later", 15)
        status, body = await ask_page(served, "/note?path=Nowhere.md", make_owner_headers(served))
        assert (status, body["error"]["code"]) == (404, "FILE_NOT_FOUND")


async def test_opening_the_page_loads_what_a_search_needs(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        stem_word.cache_clear()
        await get(served, "/note?path=Plan.md")
        assert not stem_word.cache_info().currsize
        assert (await get(served, "/home"))["index"]["complete"]
        async with asyncio.timeout(BOUND):
            while not stem_word.cache_info().currsize:
                await get(served, "/note?path=Plan.md")


@pytest.mark.parametrize("name", ["Nightjar Hill", 'two "words"', "日記 и заметки", "a,b;c=d", "🌱"])
async def test_a_vault_may_have_any_name(serving: Serving, name: str, tmp_path: Path) -> None:
    """Names end up in headers, addresses and keys."""
    make_vault(tmp_path / name)
    async with serving("", name) as served:
        for path in (
            "/files",
            "/home",
            "/note?path=Plan.md",
            "/links?path=Plan.md",
            "/graph",
            "/search?q=text",
        ):
            url = f"{served.url}/page/api{path}"
            async with served.http.get(url, headers=make_owner_headers(served), params={}) as response:
                assert response.status == 200, (path, await response.text())
                tag = response.headers.get("ETag")
            assert (tag is not None) == (path in ("/files", "/graph")), path
            if tag is not None:
                async with served.http.get(
                    url, headers={**make_owner_headers(served), "If-None-Match": tag}
                ) as again:
                    assert again.status == 304, path


async def test_a_change_to_a_hidden_note_does_not_show_to_a_page_that_asks_again(
    serving: Serving, tmp_path: Path
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        _, secret = served.tokens.make("phone", deny=("Private/",))
        urls = [f"{served.url}/page/api{path}" for path in ("/files", "/graph", "/graph?note=Plan")]
        tags: dict[str, str] = {}

        async def is_settled() -> bool:
            """Whether nothing changes any more: at first the index is compared with the disk."""
            before = dict(tags)
            for url in urls:
                async with served.http.get(url, headers=make_bearer(secret)) as response:
                    tags[url] = response.headers["ETag"]
            return before == tags

        await served.until(is_settled)
        change = await served.call("edit_note", op="append", name="Private/Diary", content="more [[Plan]]")
        assert change["success"], change
        # What was written is indexed before the next query.
        await served.call("list_files")
        for url, tag in tags.items():
            async with served.http.get(
                url, headers={**make_bearer(secret), "If-None-Match": tag}
            ) as response:
                assert response.status == 304, url
        made = await served.call("create_note", name="New", content="x")
        assert made["success"], made
        await served.call("list_files")
        for url in urls[:2]:
            headers = {**make_bearer(secret), "If-None-Match": tags[url]}
            async with served.http.get(url, headers=headers) as response:
                assert response.status == 200, url


async def test_an_error_may_quote_a_note_whose_bytes_are_not_utf_8(serving: Serving, tmp_path: Path) -> None:
    folder = tmp_path / "bytes"
    folder.mkdir()
    (folder / "Note.md").write_bytes(b"# Head \xff\n")
    (folder / "Board.canvas").write_bytes(
        b'{"nodes":[{"id":"a\xff","type":"text","text":"x","x":0,"y":0,"width":9,"height":9}],"edges":[]}'
    )
    async with serving("", "bytes") as served:
        answer = await served.call("read_note", name="Note", heading="nope")
        assert "Head \ufffd" in answer["content"][0]["text"]
        answer = await served.call("edit_canvas", name="Board", action="remove", id="nope")
        assert "a\ufffd" in answer["content"][0]["text"]
        status, body = await ask_page(
            served, "/note?path=Note.md&subpath=%23nope", make_owner_headers(served)
        )
        assert (status, body["error"]["reason"]) == (409, "edit-refused")
        assert "Head \ufffd" in str(body)


async def test_backlinks_and_links_of_a_note_name_their_lines(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        links = await get(served, "/links?path=People/Ada.md")
        (source,) = links["backlinks"]
        assert source["path"] == "Plan.md"
        assert {"line": 9, "text": "- [x] call [[Ada]] and [[Nobody]]"} in source["lines"]
        plan = await get(served, "/links?path=Plan.md")
        assert [backlink["path"] for backlink in plan["backlinks"]] == ["Private/Diary.md"]
        assert {link["path"] for link in plan["outgoing"]} == {"People/Ada.md", "sky.png"}
        assert [entry["target"] for entry in plan["unresolved"]] == ["Nobody"]


@pytest.mark.parametrize(
    ("name", "edited", "expected"),
    [
        ("Plan.md", NOTE + "more\n", (NOTE + "more\n").encode()),
        ("Crlf.md", "one\n2\nthree\nfour\n", b"one\r\n2\r\nthree\r\nfour\r\n"),
        ("Mixed.md", "one\ntwo\n3\nfour", b"one\r\ntwo\n3\r\nfour"),
        # Somebody who types may save half a property; only an assistant's change is refused.
        ("Plan.md", "---\nkind: [\n---\n", b"---\nkind: [\n---\n"),
    ],
)
async def test_saving_writes_what_was_edited_and_can_be_undone(
    serving: Serving, tmp_path: Path, name: str, edited: str, expected: bytes
) -> None:
    make_vault(tmp_path / "Notes")
    before = (tmp_path / "Notes" / name).read_bytes()
    async with serving() as served:
        note = await get(served, f"/note?path={name}")
        body = {"path": name, "text": edited, "expected": note["hash"]}
        status, saved = await send(served, "PUT", "/note", body)
        assert status == 200
        assert (served.vault / name).read_bytes() == expected
        assert saved["hash"] == (await get(served, f"/note?path={name}"))["hash"] != note["hash"]
        shown = await served.call("history", name=name)
        assert "page" in shown["content"][0]["text"]
        # An assistant cannot take back what a person wrote on the page, without that person.
        asked = await served.call("undo", id=saved["change"])
        assert "pending" in str(asked)
        assert (served.vault / name).read_bytes() == expected
        body = {"vault": "Notes", "change": saved["change"], "force": False}
        assert (await send(served, "POST", "/undo", body))[0] == 200
        assert (served.vault / name).read_bytes() == before


@pytest.mark.parametrize("before", [b"caf\xe9\n", "Hi\n".encode("utf-16"), "Hi\n".encode("utf-16-le")])
async def test_a_note_that_is_not_utf8_is_not_saved_as_a_text(
    serving: Serving, tmp_path: Path, before: bytes
) -> None:
    make_vault(tmp_path / "Notes")
    (tmp_path / "Notes" / "Old.md").write_bytes(before)
    async with serving() as served:
        note = await get(served, "/note?path=Old.md")
        assert "not UTF-8" in note["readOnly"]
        body = {"path": "Old.md", "text": note["text"], "expected": note["hash"]}
        status, answer = await send(served, "PUT", "/note", body)
        assert (status, answer["error"]["reason"]) == (409, "edit-refused")
        assert (served.vault / "Old.md").read_bytes() == before


async def test_a_note_that_changed_meanwhile_is_not_overwritten(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        seen = (await get(served, "/note?path=Plan.md"))["hash"]
        (served.vault / "Plan.md").write_text("by hand\n", "utf-8")
        status, body = await send(
            served, "PUT", "/note", {"path": "Plan.md", "text": "mine\n", "expected": seen}
        )
        assert (status, body["error"]["reason"]) == (409, "stale")
        assert body["error"]["current"] == (await get(served, "/note?path=Plan.md"))["hash"]
        status, body = await send(served, "POST", "/task", {"path": "Plan.md", "line": 8, "expected": seen})
        assert (status, body["error"]["reason"]) == (409, "stale")
        assert (served.vault / "Plan.md").read_text("utf-8") == "by hand\n"


async def test_a_picture_is_added_where_the_settings_put_it_and_the_note_is_not_written(
    serving: Serving, tmp_path: Path
) -> None:
    folder = tmp_path / "Notes"
    write_vault(folder, {".obsidian/app.json": json.dumps({"attachmentFolderPath": "./Pictures"})})
    write_vault(folder, {"Trips/Alps.md": "# Alps\n", "Private/Diary.md": "mine\n"})
    build_index(folder)
    content = {"name": "peak.png", "data": base64.b64encode(PICTURE).decode()}
    async with serving() as served:
        for name in ("peak.png", "peak 1.png"):
            status, done = await send(served, "POST", "/attachment", {"path": "Trips/Alps.md", **content})
            assert (status, done["path"], done["embed"]) == (200, f"Trips/Pictures/{name}", f"![[{name}]]")
            assert (folder / "Trips" / "Pictures" / name).read_bytes() == PICTURE
        assert (folder / "Trips" / "Alps.md").read_text("utf-8") == "# Alps\n"
        _, undone = await send(served, "POST", "/undo", {"vault": "Notes", "change": done["change"]})
        assert not (folder / "Trips" / "Pictures" / "peak 1.png").exists(), undone
        _, reader = served.tokens.make("reader", read_only=True)
        _, part = served.tokens.make("part", deny=("Private/**",))
        for token, path, expected in ((reader, "Trips/Alps.md", 403), (part, "Private/Diary.md", 404)):
            body = {"path": path, **content}
            status, _ = await ask_page(served, "/attachment", make_bearer(token), method="POST", json=body)
            assert status == expected
    assert sorted(file.name for file in folder.rglob("*.png")) == ["peak.png"]


async def test_a_task_is_ticked_and_only_it(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        seen = (await get(served, "/note?path=Plan.md"))["hash"]
        status, done = await send(served, "POST", "/task", {"path": "Plan.md", "line": 8, "expected": seen})
        assert status == 200
        assert (served.vault / "Plan.md").read_text("utf-8") == NOTE.replace("- [ ] buy", "- [x] buy")
        again = {"path": "Plan.md", "line": 8, "expected": done["hash"]}
        assert (await send(served, "POST", "/task", again))[0] == 200
        assert (served.vault / "Plan.md").read_text("utf-8") == NOTE


@pytest.mark.parametrize(
    ("method", "path", "body", "argument"),
    [
        ("PUT", "/note", {"path": "Plan.md", "text": "x", "expected": ""}, "expected"),
        ("PUT", "/note", {"path": "Plan.md", "text": "x"}, ""),
        ("PUT", "/note", {"path": "Plan.md", "text": "x", "expected": "y", "more": 1}, ""),
        ("PUT", "/note", {"path": "sky.png", "text": "x", "expected": "y"}, "path"),
        ("POST", "/task", {"path": "Plan.md", "line": "x", "expected": "y"}, "line"),
        ("POST", "/attachment", {"path": "Plan.md", "name": "a.png", "data": "???"}, "data"),
        ("POST", "/attachment", {"path": "Plan.md", "name": "a.png", "data": ""}, "data"),
        ("POST", "/attachment", {"path": "Plan.md", "name": "../a.png", "data": "YQ=="}, "name"),
        ("POST", "/attachment", {"path": "Plan.md", "name": "picture", "data": "YQ=="}, "name"),
        ("GET", "/note", None, "path"),
        ("GET", "/links", None, "path"),
        ("GET", "/canvas", None, "path"),
        ("GET", "/base", None, "path"),
        ("GET", "/search?q=x&kind=magic", None, "kind"),
        ("GET", "/search?q=x&limit=1000000", None, "limit"),
    ],
)
async def test_a_wrong_request_gets_the_reason(
    serving: Serving, method: str, path: str, body: Any, argument: str
) -> None:
    async with serving() as served:
        write_vault(served.vault, {"Plan.md": "x\n"})
        (served.vault / "sky.png").write_bytes(PICTURE)
        status, answer = await ask_page(served, path, make_owner_headers(served), method=method, json=body)
        assert (status, answer["error"].get("argument", "")) == (400, argument), answer


@pytest.mark.parametrize(
    "query",
    [
        "user:password",
        "the password (roughly",
        "grep -n",
        "[[Plan",
        "#password",
        '"password',
        ":)",
        "(",
        "sswor",
    ],
)
async def test_plain_words_find_what_has_them_whatever_signs_there_are(
    serving: Serving, tmp_path: Path, query: str
) -> None:
    write_vault(tmp_path / "Notes", {"A.md": "The password of a Plan :) (so far), found by grep.\n"})
    build_index(tmp_path / "Notes")
    async with serving() as served:
        _, found = await ask_json(served, f"/search?q={quote(query)}", make_owner_headers(served))
        assert [hit["path"] for hit in found["hits"]] == ["A.md"]


@pytest.mark.parametrize(
    ("query", "paths", "reason"),
    [
        ("tag:#plan", ["Tagged.md"], ""),
        ("path:Work roof", ["Work/Roof.md"], ""),
        ("roof -slates", ["Work/Roof.md"], ""),
        ("[status:open]", ["Tagged.md"], ""),
        ("roof slates", ["Home.md", "Work/Roof.md"], ""),
        ("tag:#nowhere", [], "no note matches all of it"),
        ("roof tag:#nowhere", ["Home.md", "Work/Roof.md"], "no note matches all of it"),
    ],
)
async def test_operators_mean_what_they_mean_on_the_command_line(
    serving: Serving, tmp_path: Path, query: str, paths: list[str], reason: str
) -> None:
    notes = {
        "Tagged.md": "---\ntags: [plan]\nstatus: open\n---\nThe path, the tag and the status\n",
        "Work/Roof.md": "The roof\n",
        "Home.md": "The roof and its slates\n",
    }
    write_vault(tmp_path / "Notes", notes)
    build_index(tmp_path / "Notes")
    async with serving() as served:
        _, found = await ask_json(served, f"/search?q={quote(query)}", make_owner_headers(served))
    assert sorted(hit["path"] for hit in found["hits"]) == paths
    assert found["total"] == len(paths)
    assert found["reason"] == reason


async def test_drawn_texts_find_the_notes_that_have_their_words(serving: Serving, tmp_path: Path) -> None:
    write_vault(tmp_path / "Notes", PLAIN_FILES)
    build_index(tmp_path / "Notes")
    async with serving() as served:
        headers = make_owner_headers(served)
        for text, _ in draw_texts(93, 60):
            status, found = await ask_json(served, f"/search?q={quote(text)}", headers)
            assert status == 200 and found["hits"], text
        pasted = "a password is kept safe, " * 50
        assert len(pasted) > QUERY_CHARS
        _, found = await ask_json(served, f"/search?q={quote(pasted)}", headers)
        assert found["hits"][0]["path"] == "English.md"


async def test_what_a_token_does_not_show_does_not_exist(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    write_vault(tmp_path / "Notes", {"B.base": "views:\n  - type: table\n    name: All\n"})
    write_vault(tmp_path / "Notes", {"To.md": "[[Diary]] ![[Private/Diary]]\n"})
    build_index(tmp_path / "Notes")
    async with serving() as served:
        _, secret = served.tokens.make("phone", deny=("Private/**",))
        headers = make_bearer(secret)
        for path in ("/files", "/home", "/links?path=Plan.md", "/base?path=B.base", "/note?path=To.md"):
            status, body = await ask_json(served, path, headers)
            # What a link of a visible note says is no secret; nothing says that there is such a file.
            links = body.pop("links", {})
            assert all(found["path"] is None for found in links.values())
            body.pop("text", "")
            assert status == 200 and "Private" not in json.dumps(body), path
        for kind in ("ranked", "exact"):
            _, found = await ask_json(served, f"/search?q=secret&kind={kind}", headers)
            assert (found["hits"], found["total"]) == ([], 0)
        for path in ("/note?path=Private/Diary.md", "/note?path=Diary", "/links?path=Diary"):
            status, body = await ask_json(served, path, headers)
            assert status == 404, path
            assert "secret" not in json.dumps(body)
        home = (await ask_json(served, "/home", headers))[1]
        everything = (await ask_json(served, "/home", make_owner_headers(served)))[1]
        assert everything["counts"]["notes"] - home["counts"]["notes"] == 1


async def test_todays_note_is_found_created_from_its_template_and_kept(
    serving: Serving, tmp_path: Path
) -> None:
    folder = tmp_path / "Notes"
    settings = {"folder": "Journal", "format": "[today]", "template": "Day"}
    write_vault(folder, {".obsidian/daily-notes.json": json.dumps(settings), "Day.md": "# {{title}}\n\n- \n"})
    build_index(folder)
    async with serving() as served:
        today = {"path": "Journal/today.md", "exists": False}
        assert (await get(served, "/home"))["today"] == today
        _, secret = served.tokens.make("phone", deny=("Journal/**",))
        _, reader = served.tokens.make("reader", read_only=True)
        assert (await get(served, "/home", make_bearer(secret)))["today"] is None
        for token in (secret, reader):
            status, _ = await ask_page(served, "/today", make_bearer(token), method="POST", json={})
            assert status == 403
        assert not (folder / "Journal").exists()
        status, made = await ask_page(served, "/today", make_owner_headers(served), method="POST", json={})
        assert (status, made["path"], made["change"]) == (200, "Journal/today.md", 1)
        file = folder / "Journal" / "today.md"
        assert file.read_text("utf-8") == "# today\n\n- \n"
        file.write_text("my day\n", "utf-8")
        status, again = await ask_page(served, "/today", make_owner_headers(served), method="POST", json={})
        assert (status, again["path"], again["change"]) == (200, "Journal/today.md", None)
        assert file.read_text("utf-8") == "my day\n"
        assert (await get(served, "/home"))["today"] == {**today, "exists": True}


@pytest.mark.parametrize(
    "settings", [{"core-plugins.json": {"daily-notes": False}}, {"daily-notes.json": {"format": "../[x]"}}]
)
async def test_a_vault_without_daily_notes_has_no_note_of_today(
    serving: Serving, tmp_path: Path, settings: dict[str, Any]
) -> None:
    write_vault(tmp_path / "Notes", {"A.md": "a\n"})
    write_vault(
        tmp_path / "Notes" / ".obsidian", {name: json.dumps(content) for name, content in settings.items()}
    )
    async with serving() as served:
        assert (await get(served, "/home"))["today"] is None


async def ask_json(served: Served, path: str, headers: dict[str, str]) -> tuple[int, Any]:
    async with served.http.get(served.url + "/page/api" + path, headers=headers) as response:
        return response.status, await response.json()


async def test_the_list_of_files_is_asked_for_again_only_when_it_changed(
    serving: Serving, tmp_path: Path
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        url, headers = f"{served.url}/page/api/files", make_owner_headers(served)
        async with served.http.get(url, headers=headers) as response:
            etag = response.headers["ETag"]
            assert (await response.json())["paths"] == sorted(
                str(file.relative_to(served.vault)) for file in served.vault.rglob("*") if file.is_file()
            )
        async with served.http.get(url, headers={**headers, "If-None-Match": etag}) as response:
            assert response.status == 304
        await send(served, "POST", "/note", {"path": "New/Note.md", "text": "new\n"})
        async with served.http.get(url, headers={**headers, "If-None-Match": etag}) as response:
            assert response.status == 200
            assert "New/Note.md" in (await response.json())["paths"]


BASE = """views:
  - type: cards
    name: Faces
    image: note.picture
    filters: file.hasProperty("picture")
    order: [file.name, friend]
"""

CANVAS = {
    "nodes": [
        {"id": "a", "type": "file", "file": "sky.png", "x": 0, "y": 0, "width": 9, "height": 9},
        {"id": "b", "type": "file", "file": "Private/Diary.md", "x": 0, "y": 0, "width": 9, "height": 9},
        {"id": "c", "type": "text", "text": "[[Ada]]", "x": 0, "y": 0, "width": 9, "height": 9},
    ],
    "edges": [{"id": "e", "fromNode": "a", "toNode": "c", "label": "to"}],
}


async def test_a_base_gives_values_and_a_canvas_cards_with_what_they_lead_to(
    serving: Serving, tmp_path: Path
) -> None:
    make_vault(tmp_path / "Notes")
    write_vault(
        tmp_path / "Notes",
        {
            "B.base": BASE,
            "C.canvas": json.dumps(CANVAS),
            "X.md": '---\npicture: "[[sky.png]]"\nfriend: "[[Ada]]"\n---\n',
        },
    )
    build_index(tmp_path / "Notes")
    async with serving() as served:
        shown = await get(served, "/base?path=B.base")
        assert (shown["type"], shown["views"]) == ("cards", [{"name": "Faces", "type": "cards"}])
        assert [column["name"] for column in shown["columns"]] == ["file name", "friend"]
        (row,) = shown["rows"]
        assert row["path"] == "X.md" and len(row["cells"]) == 2
        assert row["cells"][1] == {"kind": "link", "text": "Ada", "path": "People/Ada.md"}
        assert row["image"]["media"].startswith("/page/media/")
        status, refused = await ask_page(served, "/base?path=B.base&view=None", make_owner_headers(served))
        assert (status, refused["error"]["argument"]) == (400, "view")
        drawn = await get(served, "/canvas?path=C.canvas")
        assert [card.get("path") for card in drawn["cards"]] == ["sky.png", "Private/Diary.md", None]
        assert drawn["links"]["Ada"] == {"path": "People/Ada.md"}
        assert drawn["edges"][0]["toArrow"] is True and drawn["edges"][0]["fromArrow"] is False
        _, secret = served.tokens.make("phone", deny=("Private/**",))
        _, hidden = await ask_json(served, "/canvas?path=C.canvas", make_bearer(secret))
        assert hidden["cards"][1]["path"] is None


# Files for elements that cannot send a token.


async def fetch(served: Served, address: str, **headers: str) -> tuple[int, CIMultiDict[str], bytes]:
    async with served.http.get(served.url + address, headers=headers) as response:
        return response.status, CIMultiDict(response.headers), await response.read()


async def test_a_picture_is_served_by_its_ticket_under_a_policy_that_runs_nothing(
    serving: Serving, tmp_path: Path
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        address = (await get(served, "/note?path=sky.png"))["media"]
        assert address == (await get(served, "/note?path=Plan.md"))["links"]["sky.png"]["media"]
        status, headers, body = await fetch(served, address)
        assert (status, body, headers["Content-Type"]) == (200, PICTURE, "image/png")
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "sandbox" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        status, headers, body = await fetch(served, address, Range="bytes=2-5")
        assert (status, body, headers["Content-Range"]) == (206, PICTURE[2:6], f"bytes 2-5/{len(PICTURE)}")
        assert (await fetch(served, address, Range="bytes=-3"))[2] == PICTURE[-3:]
        assert (await fetch(served, address, Range=f"bytes={len(PICTURE)}-"))[0] == 416
        assert (await fetch(served, address, **{"If-None-Match": headers["ETag"]}))[0] == 304
        assert (await fetch(served, address.replace("/page/media/", "/page/media/x")))[0] == 404
        assert (await fetch(served, address, Host="evil.example"))[0] == 403


async def test_a_page_of_the_vault_is_saved_and_not_shown(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        shown = await get(served, "/note?path=page.html")
        assert (shown["kind"], shown["text"]) == ("text", "<script>1</script>\n")
        _, headers, _ = await fetch(served, shown["media"])
        assert headers["Content-Type"] == "application/octet-stream"
        assert headers["Content-Disposition"].startswith("attachment")
        assert "text" not in await get(served, "/note?path=bad.bin")


async def test_a_ticket_ends_with_its_token_and_with_its_scope(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        token, secret = served.tokens.make("phone")
        _, shown = await ask_json(served, "/note?path=sky.png", make_bearer(secret))
        assert (await fetch(served, shown["media"]))[0] == 200
        (served.vault / "sky.png").rename(served.vault / "moon.png")
        assert (await fetch(served, shown["media"]))[0] == 404
        (served.vault / "moon.png").rename(served.vault / "sky.png")
        served.tokens.revoke(token.id)
        assert (await fetch(served, shown["media"]))[0] == 404


# Links that work once.


async def test_a_code_opens_the_page_once(serving: Serving) -> None:
    async with serving() as served:
        code = served.listening.open_once.partition("#code=")[2]
        token = served.listening.page.partition("#token=")[2]
        for expected in (200, 403, 403):
            async with served.http.post(f"{served.url}/page/code", json={"code": code}) as response:
                body = await response.json()
                assert response.status == expected
                assert (body.get("token") == token) is (expected == 200)
        assert "vaultbridge page" in body["error"]["message"]
        status, made = await send(served, "POST", "/code", {})
        assert status == 200 and made["code"] != code
        async with served.http.post(
            f"{served.url}/page/code", json=made, headers={"Origin": "https://evil.example"}
        ) as response:
            assert response.status == 403
        for _ in range(CODES):
            await send(served, "POST", "/code", {})
        async with served.http.post(f"{served.url}/page/code", json=made) as response:
            assert response.status == 403  # newer ones have taken its place
        for bad in (b"", b"[]", b'{"code": 1}', b"\xff"):
            async with served.http.post(f"{served.url}/page/code", data=bad) as response:
                assert response.status == 400


async def test_only_the_owner_makes_codes(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone")
        status, body = await ask_page(served, "/code", make_bearer(secret), method="POST", json={})
        assert (status, body["error"]["code"]) == (403, "OWNER_ONLY")


FILES = st.dictionaries(st.text("ab/\udc80", min_size=1, max_size=4), st.integers(0, 3), max_size=12)


def apply_changes(before: FileTimes, changes: dict[str, Any]) -> list[list[Any]]:
    """As the page does (web/src/vault/files.ts)."""
    rows = [[path, time] for place, (path, time) in enumerate(before) if place not in changes["removed"]]
    for place, path, time in changes["added"]:
        rows.insert(place, [path, time])
    for place, time in changes["touched"]:
        rows[place][1] = time
    return rows


@given(FILES, FILES)
def test_the_changes_of_a_list_of_files_make_the_next_one(old: dict[str, int], new: dict[str, int]) -> None:
    before, after = sorted(old.items()), sorted(new.items())
    changes = find_changes(before, after)
    assert changes is not None
    shown = [[replace_surrogates(path), time] for path, time in apply_changes(before, changes)]
    assert shown == [[replace_surrogates(path), time] for path, time in after]
    assert find_changes([], [(f"{n}.md", 0) for n in range(FILES_CHANGED + 1)]) is None


async def test_a_page_that_has_the_list_of_files_gets_its_changes(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:

        async def ask_files(tag: str, query: str = "?delta=1", **headers: str) -> tuple[Any, str]:
            headers = {**make_owner_headers(served), **headers, **({"If-None-Match": tag} if tag else {})}
            async with served.http.get(f"{served.url}/page/api/files{query}", headers=headers) as response:
                body = None if response.status == 304 else await response.json()
                return body, response.headers["ETag"]

        whole, tag = await ask_files("")
        assert "Plan.md" in whole["paths"]
        assert await ask_files(tag) == (None, tag)
        status, made = await send(served, "POST", "/note", {"path": "Aaa.md", "text": "new"})
        assert status == 200, made
        plan = await get(served, "/note?path=Plan.md")
        await send(served, "POST", "/delete", {"path": "Plan.md", "expected": plan["hash"]})
        changes, newer = await ask_files(tag)
        assert changes["removed"] == [whole["paths"].index("Plan.md")]
        assert [(place, path) for place, path, _ in changes["added"]] == [(0, "Aaa.md")]
        before = list(zip(whole["paths"], whole["modified"], strict=True))
        now, _ = await ask_files("", "")
        assert apply_changes(before, changes) == [
            [path, time] for path, time in zip(now["paths"], now["modified"], strict=True)
        ]
        # Another tab that has the same list gets the same answer.
        assert (await ask_files(tag))[0] == changes
        # Whoever does not ask for changes, or has a list that is not known any more, gets all of it.
        assert "paths" in (await ask_files(tag, ""))[0]
        assert "paths" in (await ask_files('"other"'))[0]
        assert await ask_files(newer) == (None, newer)


# Review: a token that an assistant may have is no way around it.


@pytest.mark.parametrize("where", ["token", "vault"])
async def test_what_a_token_changes_waits_for_a_person_as_a_tool_does(
    serving: Serving, tmp_path: Path, where: str
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving('[tools]\nreview = "all"\n' if where == "vault" else "") as served:
        _, secret = served.tokens.make("robot", review="all" if where == "token" else "off")
        headers = make_bearer(secret)
        before = {file: file.read_bytes() for file in served.vault.rglob("*.md")}
        note = await get(served, "/note?path=Plan.md", headers)
        changes: list[tuple[str, str, dict[str, Any]]] = [
            ("PUT", "/note", {"path": "Plan.md", "text": "gone", "expected": note["hash"]}),
            ("POST", "/note", {"path": "New.md", "text": "new"}),
            ("POST", "/task", {"path": "Plan.md", "line": 8, "expected": note["hash"]}),
            ("POST", "/move", {"path": "Plan.md", "to": "Other.md", "expected": note["hash"]}),
            ("POST", "/delete", {"path": "Plan.md", "expected": note["hash"]}),
        ]
        for number, (method, path, body) in enumerate(changes, 1):
            status, answer = await ask_page(served, path, headers, method=method, json=body)
            assert (status, answer["error"]["code"]) == (409, "PENDING"), path
            assert f"p{number}" in answer["error"]["message"]
        assert {file: file.read_bytes() for file in served.vault.rglob("*.md")} == before
        # The owner is the person who decides: their own changes need no second look.
        assert (await send(served, *changes[1][:2], changes[1][2]))[0] == 200
        async with person(served.vault) as page:
            waiting = (await page.request("proposals"))["proposals"]
            assert [proposal["token"] for proposal in waiting] == ["robot"] * len(changes)
            await page.request("decide", id="p1", action="accept")
        assert (served.vault / "Plan.md").read_text("utf-8") == "gone"


# Moving and deleting.


async def test_a_note_is_renamed_with_its_links_and_the_change_undone(
    serving: Serving, tmp_path: Path
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        ada = await get(served, "/note?path=People/Ada.md")
        wanted = {"path": "People/Ada.md", "to": "Friends/Ada Lovelace.md", "expected": ada["hash"]}
        status, moved = await send(served, "POST", "/move", wanted)
        assert (status, moved["path"], moved["was"]) == (200, "Friends/Ada Lovelace.md", "People/Ada.md")
        assert moved["links"] == 1
        text = (served.vault / "Plan.md").read_text("utf-8")
        assert text == NOTE.replace("[[People/Ada", "[[Ada").replace("[[Ada", "[[Ada Lovelace")
        assert not (served.vault / "People" / "Ada.md").exists()
        undo = {"vault": "Notes", "change": moved["change"], "force": False}
        assert (await send(served, "POST", "/undo", undo))[0] == 200
        assert (served.vault / "Plan.md").read_text("utf-8") == NOTE
        assert (served.vault / "People" / "Ada.md").exists()


async def test_a_note_is_deleted_into_the_trash_and_comes_back(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    write_vault(tmp_path / "Notes", {".obsidian/app.json": '{"trashOption": "local"}'})
    async with serving() as served:
        plan = await get(served, "/note?path=Plan.md")
        status, gone = await send(served, "POST", "/delete", {"path": "Plan.md", "expected": plan["hash"]})
        assert (status, gone["path"], gone["wentTo"]) == (200, "Plan.md", ".trash in the vault")
        assert not (served.vault / "Plan.md").exists()
        undo = {"vault": "Notes", "change": gone["change"], "force": False}
        assert (await send(served, "POST", "/undo", undo))[0] == 200
        assert (served.vault / "Plan.md").read_text("utf-8") == NOTE


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"path": "Plan.md", "to": "", "expected": "x"}, 400, "INVALID_PARAMS"),
        ({"path": "Plan.md", "to": "../Out.md", "expected": ""}, 400, "INVALID_PARAMS"),
        ({"path": "Plan.md", "to": "People/Ada.md", "expected": ""}, 409, "SERVER_ERROR"),
        ({"path": "Plan.md", "to": "X.md", "expected": "0123456789abcdef"}, 409, "SERVER_ERROR"),
        ({"path": "Nowhere.md", "to": "X.md", "expected": ""}, 404, "FILE_NOT_FOUND"),
        ({"path": "Plan.md", "expected": ""}, 400, "INVALID_PARAMS"),
        ({"path": "Plan.md", "to": "X.md", "force": True}, 400, "INVALID_PARAMS"),
    ],
)
async def test_an_impossible_move_changes_nothing(
    serving: Serving, tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    make_vault(tmp_path / "Notes")
    async with serving() as served:
        before = {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()}
        got, answer = await send(served, "POST", "/move", body)
        assert (got, answer["error"]["code"]) == (status, code), answer
        assert {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()} == before
