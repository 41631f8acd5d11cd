"""`canvas`: edits themselves are `canvas.edit`'s and tested there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope


def read_nodes(harness: ToolHarness, path: str = "C.canvas") -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in msgspec.json.decode(harness.read(path))["nodes"]}


def read_edges(harness: ToolHarness) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(harness.read("C.canvas"))["edges"]
    return found


def test_a_canvas_is_read_as_an_outline_with_ids(sample: ToolHarness) -> None:
    rows = sample.rows("canvas", name="Spring plan")
    assert rows[0].startswith("[Spring plan.canvas | hash ")
    assert "  - `b83f5c2e1d4a6079` file: [[Instruments/Sky quality meter.md]]" in rows
    assert rows[-1] == "- `cc32e50719b24d6f` Light pollution survey#Sites → Ask before autumn:"
    assert "[cut; continue with start=" in sample.text("canvas", name="Spring plan.canvas", max_chars=200)
    assert sample.text("canvas", path="Spring plan", start=400).endswith(rows[-1] + "\n")


def test_cards_of_each_kind_are_added_and_connected(small: Small) -> None:
    harness = small({"f/N.md": "# H\n"})
    made = harness.data("edit_canvas", name="C", action="create")
    assert made["path"] == "C.canvas"
    assert made["created"] is True
    for name in ("With its ending.canvas", "f/Loud.CANVAS"):
        assert harness.data("edit_canvas", name=name, action="create")["path"] == name
    text = harness.data(
        "edit_canvas", name="C", action="add", text="hello", color="1", x=10, y=20, width=300, height=90
    )
    assert read_nodes(harness)[text["id"]] | {"id": ""} == {
        "id": "",
        "type": "text",
        "text": "hello",
        "x": 10,
        "y": 20,
        "width": 300,
        "height": 90,
        "color": "1",
    }
    file = harness.data("edit_canvas", name="C", action="add", file="N#H", near=text["id"])
    assert (read_nodes(harness)[file["id"]]["file"], read_nodes(harness)[file["id"]]["subpath"]) == (
        "f/N.md",
        "#H",
    )
    url = harness.data("edit_canvas", name="C", action="add", url="https://example.org")
    assert read_nodes(harness)[url["id"]]["url"] == "https://example.org"
    group = harness.data("edit_canvas", name="C", action="add", label="G", around=[text["id"], file["id"]])
    assert read_nodes(harness)[group["id"]]["type"] == "group"
    inner = harness.data("edit_canvas", name="C", action="add", text="in", group=group["id"])
    edge = harness.data(
        "edit_canvas",
        name="C",
        action="connect",
        from_id=text["id"],
        to_id=inner["id"],
        label="leads",
        color="2",
    )
    assert [
        (connection["id"], connection["label"], connection["color"]) for connection in read_edges(harness)
    ] == [(edge["id"], "leads", "2")]


def test_cards_and_connections_are_updated_and_removed(small: Small) -> None:
    harness = small({"N.md": ""})
    harness.data("edit_canvas", name="C", action="create")
    first, second = (
        harness.data("edit_canvas", name="C", action="add", text=text)["id"] for text in ("1", "2")
    )
    edge = harness.data("edit_canvas", name="C", action="connect", from_id=first, to_id=second)["id"]
    harness.data("edit_canvas", name="C", action="update", id=first, text="new", x=5, color="3")
    assert read_nodes(harness)[first]["text"] == "new"
    assert read_nodes(harness)[first]["x"] == 5
    harness.data("edit_canvas", name="C", action="update", id=edge, label="why", from_id=second, to_id=first)
    assert read_edges(harness)[0]["label"] == "why"
    assert read_edges(harness)[0]["fromNode"] == second
    harness.data("edit_canvas", name="C", action="remove", id=edge)
    assert read_edges(harness) == []
    harness.data("edit_canvas", name="C", action="remove", id=second)
    assert list(read_nodes(harness)) == [first]
    file = harness.data("edit_canvas", name="C", action="add", file="N")["id"]
    harness.data("edit_canvas", name="C", action="update", id=file, file="N#^b")
    assert read_nodes(harness)[file]["subpath"] == "#^b"


def test_a_dry_run_and_a_stale_hash(small: Small) -> None:
    harness = small({"C.canvas": ""})
    assert '+\t\t{"id"' in harness.data("edit_canvas", name="C", action="add", text="x", dry_run=True)["diff"]
    assert harness.read("C.canvas") == ""
    harness.catch_refusal(StaleWrite, "edit_canvas", name="C", action="add", text="x", expected="0" * 16)
    assert harness.data("edit_canvas", name="D", action="create", dry_run=True)["dry_run"] is True


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small({"C.canvas": "{}", "N.md": "", "Bad.canvas": "["})

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(
            InvalidArgument, "edit_canvas", **{"name": "C", **arguments}
        ).argument
        return named

    assert catch_argument(action="add") == "text"
    assert catch_argument(action="add", text="a", url="b") == "url"
    assert catch_argument(action="connect", to_id="x") == "from_id"
    assert catch_argument(action="connect", from_id="x") == "to_id"
    assert catch_argument(action="connect", from_id="x", to_id="y") == "id"
    assert catch_argument(action="update", text="x") == "id"
    assert catch_argument(action="remove", id="nope") == "id"
    assert catch_argument(action="draw") == "action"
    harness.catch_refusal(NoteNotFound, "canvas", name="Nope")
    harness.catch_refusal(NoteNotFound, "canvas", name="N")
    harness.catch_refusal(NoteNotFound, "edit_canvas", name="C", action="add", file="Nope")
    harness.catch_refusal(EditRefused, "edit_canvas", name="C", action="create")
    harness.catch_refusal(EditRefused, "edit_canvas", name="Bad", action="add", text="x")
    assert "(problem, line 1: " in harness.text("canvas", name="Bad")


@pytest.mark.parametrize("color", ["red", "7", "0", "#12", "#ggg", "rgb(1,2,3)"])
def test_an_invalid_color_is_refused(small: Small, color: str) -> None:
    harness = small({"C.canvas": ""})
    card = harness.data("edit_canvas", name="C", action="add", text="x")["id"]
    before = harness.files()
    for call in ({"action": "add", "text": "y"}, {"action": "update", "id": card}):
        refused = harness.catch_refusal(InvalidArgument, "edit_canvas", name="C", color=color, **call)
        assert refused.argument == "color"
        assert "1 to 6, or #" in str(refused)
    assert harness.files() == before


@pytest.mark.parametrize("color", ["1", "6", "#abc", "#A1b2C3", ""])
def test_a_color_is_a_number_or_hex_and_an_empty_one_removes_it(small: Small, color: str) -> None:
    harness = small({"C.canvas": ""})
    card = harness.data("edit_canvas", name="C", action="add", text="x", color="2")["id"]
    harness.data("edit_canvas", name="C", action="update", id=card, color=color)
    assert (f'"color":"{color}"'.encode() if color else b"x") in harness.files()["C.canvas"]
    assert b'"color":"2"' not in harness.files()["C.canvas"]


def test_a_web_card_needs_an_address(small: Small) -> None:
    harness = small({"C.canvas": ""})
    refused = harness.catch_refusal(InvalidArgument, "edit_canvas", name="C", action="add", url="not a url")
    assert refused.argument == "url"
    assert "https://" in str(refused)
    harness.data("edit_canvas", name="C", action="add", url="obsidian://open?vault=x")


def test_an_update_without_a_field_is_refused(small: Small) -> None:
    harness = small({"C.canvas": ""})
    card = harness.data("edit_canvas", name="C", action="add", text="x")["id"]
    assert "nothing to update" in str(
        harness.catch_refusal(InvalidArgument, "edit_canvas", name="C", action="update", id=card)
    )


def test_a_hidden_canvas_and_hidden_files_do_not_exist(small: Small) -> None:
    harness = small({"P/S.canvas": "{}", "P/S.md": "", "C.canvas": "{}"}, scope=Scope(deny=("P/",)))
    harness.catch_refusal(NoteNotFound, "canvas", name="S")
    harness.catch_refusal(NoteNotFound, "edit_canvas", name="C", action="add", file="P/S.md")
