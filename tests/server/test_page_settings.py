"""The page's settings from outside: what is configured, tokens made and revoked, what the commands find."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from server.callers import open_page_api
from server.conftest import Serving, build_index, make_vault
from support.page_api import PageApi
from support.reviewer import person

CONFIG = """
[scope]
deny = ["Private/"]

[tokens]
required = true
"""


async def test_settings_show_what_is_in_force_and_what_to_do(serving: Serving, tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    build_index(tmp_path / "Notes")  # Its notes are counted.
    async with serving(CONFIG, "Notes", "Werkstatt é") as served:
        api = open_page_api(served)
        shown = await api.get("/settings")
        assert [vault["name"] for vault in shown["vaults"]] == ["Notes", "Werkstatt é"]
        first = shown["vaults"][0]
        assert (first["folder"], first["counts"]["notes"]) == (str(served.vault), 1)
        assert (first["readOnly"], first["allow"], first["deny"], first["advice"]) == (False, [], [], "")
        assert shown["scope"] == {"readOnly": False, "allow": [], "deny": ["Private/"]}
        assert (shown["server"]["port"], shown["server"]["tokensRequired"]) == (served.listening.port, True)
        assert shown["configFile"] == str(served.config_file) and shown["configExists"]
        assert all(str(served.config_file) in advice for advice in shown["advice"].values())
        served.configure(served.config_file.read_text().replace("required = true", "required = false"))
        await api.until(lambda: _is_optional(api))


async def _is_disconnected(api: PageApi) -> bool:
    return not (await api.get("/companion"))["connected"]


async def _is_optional(api: PageApi) -> bool:
    shown = await api.get("/settings")
    return not shown["server"]["tokensRequired"]


async def test_a_token_is_made_shown_once_and_revoked(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        made = await api.post("/tokens", name="Café laptop", deny=["Private/"], expires="30d", review="all")
        assert made["secret"].startswith("vbt_") and made["token"]["deny"] == ["Private/"]
        headers = {"Authorization": f"Bearer {made['secret']}"}
        assert (await served.call("read_note", headers, path="Hello.md"))["success"]
        assert not (await served.call("read_note", headers, path="Private/Diary.md"))["success"]
        listed = await api.get("/tokens")
        (token,) = listed["tokens"]
        assert (token["name"], token["inUse"], token["expired"], token["review"]) == (
            "Café laptop",
            1,
            False,
            "all",
        )
        assert made["secret"] not in json.dumps(listed) and "hash" not in token
        status, answer = await api.ask(f"/tokens/{token['id']}", method="DELETE")
        assert (status, answer["revoked"]["name"]) == (200, "Café laptop")
        assert (await api.get("/tokens"))["tokens"] == []
        assert await served.status(**headers) == 401
        assert await api.catch_refusal(f"/tokens/{token['id']}", method="DELETE") == (400, "INVALID_PARAMS")


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({}, ""),
    ({"name": ""}, "name"),
    ({"name": "x" * 81}, "name"),
    ({"name": "a", "expires": "soon"}, "expires"),
    ({"name": "a", "vaults": ["Nowhere"]}, "vaults"),
    ({"name": "a", "allow": ["../up"]}, "allow"),
    ({"name": "a", "deny": ["x"] * 101}, "deny"),
    ({"name": "a", "review": "sometimes"}, "review"),
    ({"name": "a", "readOnly": "yes"}, "readOnly"),
    ({"name": "a", "unknown": 1}, ""),
)


async def test_a_token_that_cannot_be_made_says_why(serving: Serving) -> None:
    async with serving() as served:
        for body, argument in WRONG:
            status, answer = await open_page_api(served).ask("/tokens", method="POST", json=body)
            assert (status, answer["error"]["code"]) == (400, "INVALID_PARAMS")
            assert answer["error"].get("argument", "") == argument, body
        assert served.tokens.list_tokens() == ()


async def test_connected_assistants_are_listed_with_their_vault(serving: Serving) -> None:
    async with serving() as served:
        cursor = served.home / ".cursor" / "mcp.json"
        cursor.parent.mkdir(parents=True)
        entry = {"command": "/opt/bin/vaultbridge", "args": ["stdio", str(served.vault)]}
        cursor.write_text(json.dumps({"mcpServers": {"notes": entry, "other": {"command": "x"}}}))
        broken = served.home / ".gemini" / "settings.json"
        broken.parent.mkdir()
        broken.write_text("{")
        rows = {row["name"]: row for row in (await open_page_api(served).get("/connections"))["assistants"]}
        assert rows["cursor"]["state"] == "connected"
        (server,) = rows["cursor"]["servers"]
        assert (server["name"], server["vault"]) == ("notes", "Notes")
        assert rows["gemini"]["state"] == "unreadable" and "JSON" in rows["gemini"]["detail"]
        assert rows["claude-desktop"]["state"] == "not installed"
        assert rows["claude-desktop"]["command"].startswith("vaultbridge connect claude-desktop ")
        assert rows["claude-desktop"]["then"]


async def test_doctor_and_companion_say_what_the_commands_say(serving: Serving, tmp_path: Path) -> None:
    async with serving() as served:
        api = open_page_api(served)
        (served.vault / ".obsidian").mkdir()
        state = await api.get("/companion")
        assert (state["installed"], state["connected"]) == (False, False)
        assert state["command"].startswith("vaultbridge companion install ")
        found = await api.get("/doctor")
        areas = {check["area"] for check in found["checks"]}
        assert {"System", "Vault", "Bridge", "Companion"} <= areas
        assert found["bad"] == sum(check["status"] == "bad" for check in found["checks"])
        bridge = [check for check in found["checks"] if check["area"] == "Bridge"]
        assert any(str(served.listening.port) in check["found"] for check in bridge)


async def test_looking_at_the_companion_is_no_connection_and_leaves_no_line_in_the_log(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as served:
        (served.vault / ".obsidian").mkdir()
        async with person(served.vault, app="obsidian"):
            caplog.clear()
            with caplog.at_level(logging.INFO, "vaultbridge"):
                assert (await open_page_api(served).get("/companion"))["connected"] is True
            assert [record.message for record in caplog.records if "onnect" in record.message] == []
        await open_page_api(served).until(lambda: _is_disconnected(open_page_api(served)))


async def test_settings_are_only_for_the_owner(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("full access")
        other = open_page_api(served).with_token(secret)
        for path in ("/settings", "/tokens", "/connections", "/doctor", "/companion"):
            assert await other.catch_refusal(path) == (403, "OWNER_ONLY")
        assert await other.catch_refusal("/tokens", method="POST", json={"name": "more"}) == (
            403,
            "OWNER_ONLY",
        )
        assert await other.catch_refusal("/clients", method="POST", json={}) == (403, "OWNER_ONLY")
