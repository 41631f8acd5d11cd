"""`vaultbridge.vault.obsidian`: docs/obsidian.md 9, the active and the open files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.vault.obsidian import Workspace, WorkspaceFile, parse_workspace, read_workspace
from vaultbridge.vault.paths import VaultFolder


def make_leaf(number: str, file: str | None, *, view: str = "markdown", **more: Any) -> dict[str, Any]:
    state = {"file": file, "mode": "source"} if file is not None else {}
    return {"id": number, "type": "leaf", "state": {"type": view, "state": state}, **more}


def make_tabs(*leaves: dict[str, Any], current: int | None = None) -> dict[str, Any]:
    node: dict[str, Any] = {"id": "t", "type": "tabs", "children": list(leaves)}
    return node if current is None else {**node, "currentTab": current}


def split(*children: dict[str, Any]) -> dict[str, Any]:
    return {"id": "s", "type": "split", "children": list(children), "direction": "vertical"}


def parse_made_workspace(main: Any, active: str, **more: Any) -> Workspace:
    return parse_workspace(json.dumps({"main": main, "active": active, **more}).encode())


SIDE = split(
    make_tabs(make_leaf("side", None, view="file-explorer"), make_leaf("out", "Pinned.md", view="outline"))
)


def test_the_active_leaf_of_the_main_area_shows_the_active_file() -> None:
    found = parse_made_workspace(split(make_tabs(make_leaf("a", "A.md"), make_leaf("b", "F/B.md"))), "b")
    assert found.active == "F/B.md"
    assert found.open_files == (
        WorkspaceFile("A.md", "markdown", shown=True, pinned=False),  # type: ignore[arg-type]
        WorkspaceFile("F/B.md", "markdown", shown=False, pinned=False),  # type: ignore[arg-type]
    )


def test_an_active_sidebar_leaf_means_the_front_tab_of_the_main_area() -> None:
    found = parse_made_workspace(
        split(make_tabs(make_leaf("a", "A.md"), make_leaf("b", "B.md"), current=1)), "side", left=SIDE
    )
    assert found.active == "B.md"
    assert [file.path for file in found.open_files] == ["A.md", "B.md"], "sidebars are no open files"
    assert parse_made_workspace(split(make_tabs(make_leaf("a", "A.md"))), "out", left=SIDE).active == "A.md"


def test_a_front_tab_without_a_file_is_not_active() -> None:
    found = parse_made_workspace(
        split(make_tabs(make_leaf("a", "A.md"), make_leaf("e", None, view="empty"), current=1)), "e"
    )
    assert found.active is None


def test_files_in_floating_windows_are_open_and_may_be_active() -> None:
    floating = {
        "id": "f",
        "type": "floating",
        "children": [{"type": "window", "children": [make_tabs(make_leaf("w", "W.md"))]}],
    }
    main = split(make_tabs(make_leaf("a", "A.md")))
    assert parse_made_workspace(main, "w", floating=floating).active == "W.md"
    assert parse_made_workspace(main, "gone", floating=floating).active == "A.md"
    assert [file.path for file in parse_made_workspace(main, "a", floating=floating).open_files] == [
        "A.md",
        "W.md",
    ]


def test_views_and_pins_are_read_in_every_split() -> None:
    found = parse_made_workspace(
        split(
            make_tabs(make_leaf("a", "A.md", pinned=True)),
            split(make_tabs(make_leaf("c", "C.canvas", view="canvas"))),
        ),
        "a",
    )
    assert [(file.path, file.view, file.pinned, file.shown) for file in found.open_files] == [
        ("A.md", "markdown", True, True),
        ("C.canvas", "canvas", False, True),
    ]


def test_recent_files_are_not_the_active_one() -> None:
    found = parse_made_workspace(
        split(make_tabs(make_leaf("a", "A.md"))),
        "a",
        lastOpenFiles=["Z.md", "Folder", "Z.md", "../x", 7, ".h"],
    )
    assert found.recent == ("Z.md", "Folder")
    assert found.active == "A.md"


@pytest.mark.parametrize(
    "data",
    [b"{broken", b"[]", b"\xff", b"[" * 100_000],
)
def test_a_broken_workspace_is_empty_and_names_its_problem(data: bytes) -> None:
    found = parse_workspace(data)
    assert found.problem and found.active is None and found.open_files == ()


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"main": 5, "active": []},
        {"main": {"type": "tabs", "children": [1, None, {"state": "x"}, {"state": {"state": {"file": 3}}}]}},
        {"main": {"type": "leaf", "id": 4, "state": {"state": {"file": "../out.md"}}}},
    ],
)
def test_unexpected_shapes_contain_no_files(tree: Any) -> None:
    found = parse_workspace(json.dumps(tree).encode())
    assert found == Workspace()


def test_a_missing_workspace_is_empty(root: VaultFolder, folder: Path) -> None:
    assert read_workspace(root) == Workspace()
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "workspace.json").write_text(
        json.dumps({"main": split(make_tabs(make_leaf("a", "A.md"))), "active": "a"})
    )
    assert read_workspace(root).active == "A.md"
