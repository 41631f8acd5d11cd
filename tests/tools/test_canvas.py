"""`canvas`: edits themselves are `canvas.edit`'s and tested there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from support.tools import ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope

Small = Callable[..., ToolHarness]


def nodes(desk: ToolHarness, path: str = "C.canvas") -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in msgspec.json.decode(desk.read(path))["nodes"]}


def edges(desk: ToolHarness) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(desk.read("C.canvas"))["edges"]
    return found


def test_a_canvas_is_read_as_an_outline_with_ids(sample: ToolHarness) -> None:
    rows = sample.rows("canvas", name="Spring plan")
    assert rows[0].startswith("[Spring plan.canvas | hash ")
    assert "  - `b83f5c2e1d4a6079` file: [[Instruments/Sky quality meter.md]]" in rows
    assert rows[-1] == "- `cc32e50719b24d6f` Light pollution survey#Sites → Ask before autumn:"
    assert "[cut; go on with start=" in sample.text("canvas", name="Spring plan.canvas", max_chars=200)
    assert sample.text("canvas", path="Spring plan", start=400).endswith(rows[-1] + "\n")


def test_cards_of_each_kind_are_added_and_connected(small: Small) -> None:
    desk = small({"f/N.md": "# H\n"})
    made = desk.data("edit_canvas", name="C", action="create")
    assert made["path"] == "C.canvas"
    assert made["created"] is True
    text = desk.data(
        "edit_canvas", name="C", action="add", text="hello", color="1", x=10, y=20, width=300, height=90
    )
    assert nodes(desk)[text["id"]] | {"id": ""} == {
        "id": "",
        "type": "text",
        "text": "hello",
        "x": 10,
        "y": 20,
        "width": 300,
        "height": 90,
        "color": "1",
    }
    file = desk.data("edit_canvas", name="C", action="add", file="N#H", near=text["id"])
    assert (nodes(desk)[file["id"]]["file"], nodes(desk)[file["id"]]["subpath"]) == ("f/N.md", "#H")
    url = desk.data("edit_canvas", name="C", action="add", url="https://example.org")
    assert nodes(desk)[url["id"]]["url"] == "https://example.org"
    group = desk.data("edit_canvas", name="C", action="add", label="G", around=[text["id"], file["id"]])
    assert nodes(desk)[group["id"]]["type"] == "group"
    inner = desk.data("edit_canvas", name="C", action="add", text="in", group=group["id"])
    edge = desk.data(
        "edit_canvas",
        name="C",
        action="connect",
        from_id=text["id"],
        to_id=inner["id"],
        label="leads",
        color="2",
    )
    assert [(one["id"], one["label"], one["color"]) for one in edges(desk)] == [(edge["id"], "leads", "2")]


def test_cards_and_connections_are_updated_and_removed(small: Small) -> None:
    desk = small({"N.md": ""})
    desk.data("edit_canvas", name="C", action="create")
    one, two = (desk.data("edit_canvas", name="C", action="add", text=text)["id"] for text in ("1", "2"))
    edge = desk.data("edit_canvas", name="C", action="connect", from_id=one, to_id=two)["id"]
    desk.data("edit_canvas", name="C", action="update", id=one, text="new", x=5, color="3")
    assert nodes(desk)[one]["text"] == "new"
    assert nodes(desk)[one]["x"] == 5
    desk.data("edit_canvas", name="C", action="update", id=edge, label="why", from_id=two, to_id=one)
    assert edges(desk)[0]["label"] == "why"
    assert edges(desk)[0]["fromNode"] == two
    desk.data("edit_canvas", name="C", action="remove", id=edge)
    assert edges(desk) == []
    desk.data("edit_canvas", name="C", action="remove", id=two)
    assert list(nodes(desk)) == [one]
    file = desk.data("edit_canvas", name="C", action="add", file="N")["id"]
    desk.data("edit_canvas", name="C", action="update", id=file, file="N#^b")
    assert nodes(desk)[file]["subpath"] == "#^b"


def test_a_dry_run_and_a_stale_hash(small: Small) -> None:
    desk = small({"C.canvas": ""})
    assert '+\t\t{"id"' in desk.data("edit_canvas", name="C", action="add", text="x", dry_run=True)["diff"]
    assert desk.read("C.canvas") == ""
    desk.refused(StaleWrite, "edit_canvas", name="C", action="add", text="x", expected="0" * 16)
    assert desk.data("edit_canvas", name="D", action="create", dry_run=True)["dry_run"] is True


def test_wrong_calls_are_named(small: Small) -> None:
    desk = small({"C.canvas": "{}", "N.md": "", "Bad.canvas": "["})

    def argument(**arguments: object) -> str:
        named: str = desk.refused(InvalidArgument, "edit_canvas", **{"name": "C", **arguments}).argument
        return named

    assert argument(action="add") == "text"
    assert argument(action="add", text="a", url="b") == "url"
    assert argument(action="connect", to_id="x") == "from_id"
    assert argument(action="connect", from_id="x") == "to_id"
    assert argument(action="connect", from_id="x", to_id="y") == "id"
    assert argument(action="update", text="x") == "id"
    assert argument(action="remove", id="nope") == "id"
    assert argument(action="draw") == "action"
    desk.refused(NoteNotFound, "canvas", name="Nope")
    desk.refused(NoteNotFound, "canvas", name="N")
    desk.refused(NoteNotFound, "edit_canvas", name="C", action="add", file="Nope")
    desk.refused(EditRefused, "edit_canvas", name="C", action="create")
    desk.refused(EditRefused, "edit_canvas", name="Bad", action="add", text="x")
    assert "(problem, line 1: " in desk.text("canvas", name="Bad")


@pytest.mark.parametrize("color", ["red", "7", "0", "#12", "#ggg", "rgb(1,2,3)"])
def test_a_color_that_no_canvas_has_is_refused(small: Small, color: str) -> None:
    desk = small({"C.canvas": ""})
    card = desk.data("edit_canvas", name="C", action="add", text="x")["id"]
    before = desk.files()
    for call in ({"action": "add", "text": "y"}, {"action": "update", "id": card}):
        refused = desk.refused(InvalidArgument, "edit_canvas", name="C", color=color, **call)
        assert refused.argument == "color"
        assert "1 to 6, or #" in str(refused)
    assert desk.files() == before


@pytest.mark.parametrize("color", ["1", "6", "#abc", "#A1b2C3", ""])
def test_a_color_is_given_by_its_number_or_in_hex_and_taken_away_by_nothing(small: Small, color: str) -> None:
    desk = small({"C.canvas": ""})
    card = desk.data("edit_canvas", name="C", action="add", text="x", color="2")["id"]
    desk.data("edit_canvas", name="C", action="update", id=card, color=color)
    assert (f'"color":"{color}"'.encode() if color else b"x") in desk.files()["C.canvas"]
    assert b'"color":"2"' not in desk.files()["C.canvas"]


def test_a_web_card_needs_an_address(small: Small) -> None:
    desk = small({"C.canvas": ""})
    refused = desk.refused(InvalidArgument, "edit_canvas", name="C", action="add", url="not a url")
    assert refused.argument == "url"
    assert "https://" in str(refused)
    desk.data("edit_canvas", name="C", action="add", url="obsidian://open?vault=x")


def test_an_update_without_a_field_is_refused(small: Small) -> None:
    desk = small({"C.canvas": ""})
    card = desk.data("edit_canvas", name="C", action="add", text="x")["id"]
    assert "Nothing to update" in str(
        desk.refused(InvalidArgument, "edit_canvas", name="C", action="update", id=card)
    )


def test_a_hidden_canvas_and_hidden_files_do_not_exist(small: Small) -> None:
    desk = small({"P/S.canvas": "{}", "P/S.md": "", "C.canvas": "{}"}, scope=Scope(deny=("P/",)))
    desk.refused(NoteNotFound, "canvas", name="S")
    desk.refused(NoteNotFound, "edit_canvas", name="C", action="add", file="P/S.md")
