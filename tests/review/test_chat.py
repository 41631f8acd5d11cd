"""Deciding within a chat: the person's view has a code for the change it shows, and nobody else has.

That a result's `_meta` reaches the view and not the model is what SEP-1865 says of it ("not intended for
model context"); everything else here is our own rule.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vault import VaultWire, make_small_vault, vault_wire
from support.wire import EVERY_VERSION
from vaultbridge.errors import PermissionDenied
from vaultbridge.protocols.mcp.apps import EXTENSION, MEDIA_TYPE, VIEW_KEY
from vaultbridge.protocols.mcp.vault.apps import CODE_SECONDS, CODES_KEPT, DECIDE, VIEW_CHARS, Codes
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
from vaultbridge.review.policy import ReviewRules
from vaultbridge.review.store import store_of
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.standard import standard_catalog

HELLO = "".join(f"line {n}\n" for n in range(20))
SHOWS: dict[str, Any] = {"extensions": {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}}


class Chat(VaultWire):
    """A client that shows views: what the model and what the view does."""

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.result("tools/call", {"name": name, "arguments": arguments})

    async def propose(self, content: str = "more", **arguments: Any) -> dict[str, Any]:
        """What the view gets for a change that the model asks for."""
        given = arguments or {"op": "append", "content": content}
        result = await self.call("obsidian_edit_note", {"name": "Hello", **given})
        shown: dict[str, Any] = result["_meta"][VIEW_KEY]
        data = json.loads(result["content"][0]["text"])["data"]
        assert (data["status"], data["id"]) == ("pending", shown["id"])
        assert "in this conversation" in data["message"]
        # The model must not see it.
        assert shown["code"] not in json.dumps({key: result[key] for key in result if key != "_meta"})
        return shown

    async def decide(self, shown: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        arguments = {"id": shown["id"], "code": shown["code"], "action": action, **more}
        result = await self.call(DECIDE.name, arguments)
        assert not result.get("isError"), result
        found: dict[str, Any] = result["_meta"][VIEW_KEY]
        return found

    async def catch_refusal(self, **arguments: Any) -> str:
        result = await self.call(DECIDE.name, arguments)
        assert result["isError"], result
        assert VIEW_KEY not in result.get("_meta", {})
        return str(result["content"][0]["text"])

    async def history(self) -> list[tuple[str, str]]:
        return [(change.actor, change.label) for change in self.engines["Notes"].history.changes()]


@asynccontextmanager
async def chat(base: Path, text: str = HELLO, *, lists: bool = True, **options: Any) -> AsyncIterator[Chat]:
    folder = base / "Notes"
    if not folder.exists():
        make_small_vault(base, {"Hello.md": text})
    options = {
        "capabilities": SHOWS,
        "settings": ProviderSettings(lead=False, reviewed=True),
        "review": lambda engine: ReviewRules(least="all"),
        **options,
    }
    async with vault_wire(base, folder, **options) as wire:
        wire.__class__ = Chat
        assert isinstance(wire, Chat)
        if lists:
            await wire.result("tools/list")
        yield wire


def read(base: Path) -> str:
    return (base / "Notes" / "Hello.md").read_text("utf-8")


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_person_accepts_in_the_view(tmp_path: Path, version: str) -> None:
    async with chat(tmp_path, version=version) as wire:
        shown = await wire.propose()
        (file,) = shown["files"]
        assert (shown["kind"], shown["status"], shown["whole"]) == ("review", "waiting", True)
        assert (file["path"], file["change"], file["text"]) == ("Hello.md", "changed", HELLO + "more\n")
        assert file["hunks"][0]["lines"][-1] == "+more"
        assert read(tmp_path) == HELLO
        after = await wire.decide(shown, "accept")
        assert (after["outcome"], after["status"]) == ("accepted", "accepted")
        assert after["decision"] == f"accepted by a person (chat) as change {after['change']}"
        assert "code" not in after
        assert read(tmp_path) == HELLO + "more\n"
        assert await wire.history() == [("test", "append")]
        undone = await wire.decide({**shown, "code": after["undo"]}, "undo")
        assert (undone["message"], undone["undo"]) == ("Undone: the notes are as they were.", "")
        assert read(tmp_path) == HELLO
        assert await wire.history() == [("chat", "Undo: append"), ("test", "append")]


async def test_only_the_view_can_undo_without_asking(tmp_path: Path) -> None:
    """The model's undo of the same change waits; a code for a decision undoes nothing, nor the other way."""
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        other = await wire.propose("else")
        after = await wire.decide(shown, "accept")
        pending = await wire.call("obsidian_undo", {"id": after["change"]})
        assert json.loads(pending["content"][0]["text"])["data"]["status"] == "pending"
        waiting = pending["_meta"][VIEW_KEY]
        assert (waiting["label"], waiting["reason"]) == (f"undo change {after['change']}: append", "all")
        for code in ("", shown["code"], other["code"], waiting["code"]):
            await wire.catch_refusal(id=shown["id"], code=code, action="undo")
        await wire.catch_refusal(id=other["id"], code=after["undo"], action="accept")
        await wire.catch_refusal(id=shown["id"], code=after["undo"], action="reject")
        assert read(tmp_path) == HELLO + "more\n"
        await wire.decide(waiting, "accept")
        assert read(tmp_path) == HELLO
        assert (await wire.history())[0] == ("test", "Undo: append")


async def test_an_accepted_change_offers_no_undo_without_that_tool(tmp_path: Path) -> None:
    def make_catalog() -> Catalog:
        catalog = standard_catalog()
        catalog.switch("undo", on=False)
        return catalog

    settings = ProviderSettings(lead=False, reviewed=True, quick_list=False)
    async with chat(tmp_path, settings=settings, make_catalog=make_catalog) as wire:
        after = await wire.decide(await wire.propose(), "accept")
        assert after["change"]
        names = {tool["name"] for tool in (await wire.result("tools/list"))["tools"]}
        assert "obsidian_undo" not in names
        assert after["undo"] == ""


async def test_a_person_rejects_in_the_view_and_says_why(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        after = await wire.decide(shown, "reject", reason="Not there.")
        assert (after["outcome"], after["status"]) == ("rejected", "rejected")
        assert (read(tmp_path), await wire.history()) == (HELLO, [])
        text = await wire.text("history", id=shown["id"])
        assert text.startswith(f"{shown['id']}  rejected: rejected by a person (chat): Not there.")


async def test_a_person_edits_first_or_takes_one_hunk(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        after = await wire.decide(shown, "accept", files=[{"path": "Hello.md", "text": HELLO + "mine\n"}])
        assert after["status"] == "edited"
        assert read(tmp_path) == HELLO + "mine\n"
        changes = [
            {"op": "replace_text", "name": "Hello", "old": f"line {n}\n", "new": f"LINE {n}\n"}
            for n in (2, 17)
        ]
        result = await wire.call("obsidian_batch", {"operations": changes})
        shown = result["_meta"][VIEW_KEY]
        assert len(shown["files"][0]["hunks"]) == 2
        await wire.decide(shown, "accept", files=[{"path": "Hello.md", "hunks": [1]}])
        assert "LINE 17\n" in read(tmp_path)
        assert "line 2\n" in read(tmp_path)


@given(code=st.text(max_size=40), action=st.sampled_from(["accept", "reject", "look"]))
def test_no_text_is_a_code_that_was_not_issued(code: str, action: str) -> None:
    codes = Codes(lambda: 0.0)
    issued = issue(codes)
    if code != issued:
        with pytest.raises(PermissionDenied):
            codes.find(code, 1, "")


async def test_a_model_that_calls_the_tool_itself_is_refused(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        for code in ("", "guess", shown["code"][:-1], shown["code"] + "x", shown["id"]):
            for action in ("accept", "reject", "look"):
                message = await wire.catch_refusal(id=shown["id"], code=code, action=action)
                assert message.startswith(
                    "The code is not that of the view in which the person sees the change."
                )
        message = await wire.catch_refusal(id=shown["id"], action="accept")
        assert "Nothing was decided." in message
        assert "page" in message
        assert (read(tmp_path), await wire.history()) == (HELLO, [])
        assert (await wire.decide(shown, "accept"))["status"] == "accepted"


async def test_a_code_decides_once_and_on_its_own_change_alone(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        one, other = await wire.propose("one"), await wire.propose("other")
        assert one["id"] != other["id"]
        await wire.catch_refusal(id=other["id"], code=one["code"], action="accept")
        await wire.decide(one, "reject")
        for action in ("accept", "reject"):
            message = await wire.catch_refusal(id=one["id"], code=one["code"], action=action)
            assert message.startswith("The code of this view has been used.")
        # It still says what became of it.
        assert (await wire.decide(one, "look"))["decision"] == "rejected by a person (chat)"
        assert read(tmp_path) == HELLO
        assert (await wire.decide(other, "accept"))["status"] == "accepted"


async def test_a_decision_that_makes_no_sense_leaves_the_code(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        given = {"id": shown["id"], "code": shown["code"]}
        assert "no file" in await wire.catch_refusal(
            **given, action="accept", files=[{"path": "No.md", "text": ""}]
        )
        assert "hunks 0 to 0" in await wire.catch_refusal(
            **given, action="accept", files=[{"path": "Hello.md", "hunks": [3]}]
        )
        assert "action" in await wire.catch_refusal(**given, action="apply")
        assert "force" in await wire.catch_refusal(**given, action="accept", force=True)
        assert "is not a proposal" in await wire.catch_refusal(code=shown["code"], id="12", action="accept")
        assert (read(tmp_path), await wire.history()) == (HELLO, [])
        assert (await wire.decide(shown, "accept"))["status"] == "accepted"


async def test_what_changed_meanwhile_is_shown_again_with_a_new_code(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose(op="replace_text", old="line 2\n", new="LINE 2\n")
        conflicting = HELLO.replace("line 2\n", "mine\n")
        (tmp_path / "Notes" / "Hello.md").write_text(conflicting, "utf-8")
        again = await wire.decide(shown, "accept")
        assert (again["outcome"], again["status"]) == ("shown-again", "waiting")
        assert again["conflict"]
        assert again["message"].startswith("Nothing was written.")
        assert again["code"] not in ("", shown["code"])
        assert read(tmp_path) == conflicting
        await wire.catch_refusal(id=shown["id"], code=shown["code"], action="accept")
        text = HELLO.replace("line 2\n", "both\n")
        assert (await wire.decide(again, "accept", files=[{"path": "Hello.md", "text": text}]))[
            "status"
        ] == "edited"
        assert read(tmp_path) == text


async def test_a_view_that_looks_again_has_a_code_for_what_it_sees_then(
    tmp_path: Path,
) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        assert (await wire.decide(shown, "look"))["code"] == shown["code"]
        (tmp_path / "Notes" / "Hello.md").write_text(HELLO.replace("line 2\n", "mine\n"), "utf-8")
        now = await wire.decide(shown, "look")
        assert now["code"] != shown["code"]
        assert now["files"][0]["text"] == HELLO.replace("line 2\n", "mine\n") + "more\n"
        await wire.catch_refusal(id=shown["id"], code=shown["code"], action="accept")
        # A look with the old one gives no new one.
        assert (await wire.decide(shown, "look"))["code"] == ""
        assert (await wire.decide(now, "accept"))["status"] == "accepted"


async def test_what_was_decided_elsewhere_is_shown_and_cannot_be_decided_again(tmp_path: Path) -> None:
    from vaultbridge.review.decide import Decider

    async with chat(tmp_path) as wire:
        shown = await wire.propose()
        engine = wire.engines["Notes"]
        Decider(engine, store_of(engine)).reject(int(shown["id"][1:]), by="page")
        message = await wire.catch_refusal(id=shown["id"], code=shown["code"], action="accept")
        assert "rejected by a person (page)" in message
        assert (await wire.decide(shown, "look"))["decision"] == "rejected by a person (page)"
        assert read(tmp_path) == HELLO


async def test_a_code_ends_with_its_process(tmp_path: Path) -> None:
    async with chat(tmp_path) as wire:
        shown = await wire.propose()
    async with chat(tmp_path) as wire:
        await wire.catch_refusal(id=shown["id"], code=shown["code"], action="accept")
        # Asking for the same again shows the same proposal, with a code of this process.
        again = await wire.propose()
        assert again["id"] == shown["id"]
        assert (await wire.decide(again, "accept"))["status"] == "accepted"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def issue(codes: Codes, number: int = 1, principal: str = "") -> str:
    no_engine: Any = None  # A code only remembers it.
    return codes.issue(no_engine, number, principal, seen="h", whole=True)


def test_a_code_expires() -> None:
    clock = Clock()
    codes = Codes(clock)
    code = issue(codes)
    clock.now += CODE_SECONDS
    assert codes.find(code, 1, "").seen == "h"
    clock.now += 1
    for take in (codes.find, codes.use):
        with pytest.raises(PermissionDenied, match="has expired"):
            take(code, 1, "")


def test_a_code_is_for_one_caller() -> None:
    codes = Codes(Clock())
    code = issue(codes, principal="token a")
    for number, principal in ((1, ""), (1, "token b"), (2, "token a")):
        with pytest.raises(PermissionDenied):
            codes.use(code, number, principal)
    assert codes.use(code, 1, "token a").number == 1


def test_the_oldest_codes_make_room() -> None:
    codes = Codes(Clock())
    issued = [issue(codes, number) for number in range(CODES_KEPT + 1)]
    assert len(set(issued)) == CODES_KEPT + 1
    with pytest.raises(PermissionDenied):
        codes.find(issued[0], 0, "")
    for number in (1, CODES_KEPT):
        assert codes.find(issued[number], number, "").number == number


@given(st.lists(st.sampled_from(["use", "give_back"]), max_size=12))
def test_a_code_is_taken_once_until_it_is_given_back(steps: list[str]) -> None:
    codes = Codes(Clock())
    code = issue(codes)
    is_free = True
    for step in steps:
        if step == "give_back":
            codes.give_back(code)
            is_free = True
        elif is_free:
            codes.use(code, 1, "")
            is_free = False
        else:
            with pytest.raises(PermissionDenied, match="has been used"):
                codes.use(code, 1, "")


async def test_a_change_too_long_to_show_is_not_accepted_unseen(tmp_path: Path) -> None:
    long = HELLO * (VIEW_CHARS // len(HELLO) // 2 + 1)
    async with chat(tmp_path, long) as wire:
        shown = await wire.propose()
        assert not shown["whole"]
        assert shown["files"] == [
            {"path": "Hello.md", "was": "", "change": "changed", "conflict": "", "fits": False}
        ]
        message = await wire.catch_refusal(id=shown["id"], code=shown["code"], action="accept")
        assert "too long to be shown here" in message
        assert read(tmp_path) == long
        assert (await wire.decide(shown, "reject"))["status"] == "rejected"


async def test_a_client_that_shows_views_is_not_asked_as_well(tmp_path: Path) -> None:
    """The view shows the whole change and lets a person edit it; a dialog does neither."""
    async with chat(tmp_path, capabilities={**SHOWS, "elicitation": {}}) as wire:
        shown = await wire.propose()
        assert (await wire.decide(shown, "accept"))["status"] == "accepted"


async def test_a_client_is_asked_by_a_question_until_it_has_listed_the_view(tmp_path: Path) -> None:
    """A policy that is set later changes no list that a client has: it shows no view then."""
    rules = [ReviewRules()]
    options: dict[str, Any] = {
        "capabilities": {**SHOWS, "elicitation": {}},
        "settings": ProviderSettings(lead=False),
        "review": lambda engine: rules[0],
    }
    async with chat(tmp_path, **options) as wire:
        rules[0] = ReviewRules(least="all")
        arguments = {"name": "Hello", "op": "append", "content": "more"}
        await wire.start("tools/call", {"name": "obsidian_edit_note", "arguments": arguments})
        asked = await wire.request("elicitation/create")
        await wire.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}})
        await wire.until(lambda message: "result" in message)
        assert read(tmp_path) == HELLO + "more\n"


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_client_with_a_remembered_list_still_gets_its_view(tmp_path: Path, version: str) -> None:
    """It may remember the tools of an earlier conversation: `propose` compares the text with the view."""
    async with chat(tmp_path, version=version, lists=False) as wire:
        shown = await wire.propose()
        assert (await wire.decide(shown, "accept"))["status"] == "accepted"


async def test_a_change_without_a_view_has_no_code_for_one(tmp_path: Path) -> None:
    """Listed before a person switched the review on: the client shows no view."""
    rules = [ReviewRules()]
    options: dict[str, Any] = {
        "settings": ProviderSettings(lead=False),
        "review": lambda engine: rules[0],
    }
    async with chat(tmp_path, **options) as wire:
        rules[0] = ReviewRules(least="all")
        arguments = {"name": "Hello", "op": "append", "content": "more"}
        result = await wire.call("obsidian_edit_note", arguments)
        assert "Nobody can be asked right now" in result["content"][0]["text"]
        assert VIEW_KEY not in result.get("_meta", {})
