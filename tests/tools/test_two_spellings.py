"""Two files whose names differ only in their Unicode form, or only in case, are never taken for each other.

Of the former, one is the note and the other is left out, as in Obsidian (docs/obsidian.md): its exact path is
refused, at every door and for the same reason (SECURITY.md). The latter are two notes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from support.tools import Small, ToolHarness
from support.vault_view import VaultView
from vaultbridge.errors import InvalidPath, NoteNotFound
from vaultbridge.protocols.claude_ide.wire import IdePaths
from vaultbridge.vault.scope import Scope

COMPOSED = "é.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_note", {"name": "{n}"}),
    ("open", {"name": "{n}"}),
    ("edit_note", {"op": "append", "name": "{n}", "content": "x"}),
    ("edit_note", {"op": "merge", "name": "B.md", "to": "{n}"}),
    ("batch", {"operations": [{"op": "write", "name": "{n}", "content": "x"}]}),
    ("create_note", {"name": "{n}", "content": "x", "overwrite": True}),
    ("move_note", {"name": "{n}", "to": "C.md"}),
    ("move_note", {"name": "B.md", "to": "{n}"}),
    ("delete_note", {"name": "{n}"}),
    ("attachment", {"name": "{n}"}),
    ("add_attachment", {"name": "{n}.png", "data": "eA=="}),
    ("template", {"template": "{n}"}),
    ("links", {"name": "{n}"}),
    ("history", {"name": "{n}"}),
]


def fill(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", name)
    if isinstance(value, list):
        return [fill(inner, name) for inner in value]
    return {key: fill(inner, name) for key, inner in value.items()} if isinstance(value, dict) else value


def write_both(harness: ToolHarness, folder: str = "") -> None:
    """Skips the test on a disk that stores only one of them."""
    place = harness.folder / folder
    place.mkdir(exist_ok=True)
    for name in (COMPOSED, DECOMPOSED, f"{COMPOSED}.png", f"{DECOMPOSED}.png"):
        (place / name).write_text(f"{len(name)}\n")
    if len({file.name for file in place.iterdir()} & {COMPOSED, DECOMPOSED}) < 2:
        pytest.skip("this disk does not tell the two Unicode forms apart")
    harness.engine.index_sync.refresh()


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_the_exact_path_of_a_file_that_is_left_out_is_refused(
    small: Small, tool: str, arguments: dict[str, Any], absolute: bool
) -> None:
    harness = small({"B.md": "b"})
    write_both(harness)
    name = str(harness.folder / DECOMPOSED) if absolute else DECOMPOSED
    error = harness.catch_refusal(InvalidPath, tool, **fill(arguments, name))
    assert "in two Unicode forms" in error.message
    assert "'\\u00e9.md" in error.message and "'e\\u0301.md" in error.message
    assert "mv -n " in error.hint and str(harness.folder) not in f"{error.message} {error.hint}"


@pytest.mark.parametrize("name", ["Été/Café's \\ été.md", "각/각.md", "a\u0323\u0302.md"])
def test_the_hint_renames_the_other_file_and_then_both_are_in_the_vault(small: Small, name: str) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("no bash")
    note, twin = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    harness = small({note: "note\n", twin.rpartition("/")[2]: "below the top\n"})
    folder, _, other = note.rpartition("/")
    stored = f"{folder}/{unicodedata.normalize('NFD', other)}" if folder else twin
    (harness.folder / stored).write_text("twin\n")
    if (harness.folder / note).read_text() == "twin\n":
        pytest.skip("this disk does not tell the two Unicode forms apart")
    # The name that would be given first is taken.
    stem, _, suffix = note.rpartition(".")
    (harness.folder / f"{stem} 2.md").write_text("taken\n")
    error = harness.catch_refusal(InvalidPath, "edit_note", op="append", name=stored, content="x")
    command = re.search(r"mv -n .*(?=\)\.$)", error.hint)
    assert command is not None, error.hint
    subprocess.run([bash, "-c", command[0]], cwd=harness.folder, check=True, env={"LC_ALL": "C"})
    harness.engine.index_sync.refresh()
    assert harness.read(f"{stem} 3.{suffix}") == "twin\n"
    assert harness.text("read_note", name=f"{stem} 3.md").endswith("twin\n")
    assert harness.read(f"{stem} 2.md") == "taken\n"
    harness.call("edit_note", op="append", name=stored, content="x")
    assert harness.read(note) == "note\nx\n"


def test_the_new_name_tells_nothing_of_a_hidden_file(small: Small) -> None:
    hints = []
    for files in ({}, {"é 2.md": "hidden"}):
        harness = small(files, scope=Scope(deny=("é 2.md",)))
        write_both(harness)
        hints.append(harness.catch_refusal(InvalidPath, "read_note", name=DECOMPOSED).hint)
    assert hints[0] == hints[1] and " 3.md" in hints[0]


def test_a_link_to_a_hidden_file_does_not_exist_in_either_form(small: Small) -> None:
    answers = []
    for linked in (False, True):
        harness = small({"Private/x.md": "secret", COMPOSED: "note"}, scope=Scope(deny=("Private/",)))
        if linked:
            (harness.folder / DECOMPOSED).symlink_to("Private/x.md")
            if len(list(harness.folder.glob("*.md"))) < 2:
                pytest.skip("this disk does not tell the two Unicode forms apart")
        answers.append(harness.text("read_note", name=DECOMPOSED))
    assert answers[0] == answers[1]


def test_without_its_extension_too(small: Small) -> None:
    harness = small({})
    write_both(harness)
    harness.catch_refusal(InvalidPath, "delete_note", name=DECOMPOSED.removesuffix(".md"))


def test_the_composed_path_names_the_note(small: Small) -> None:
    harness = small({})
    write_both(harness)
    harness.call("edit_note", op="append", name=COMPOSED, content="x")
    assert harness.read(COMPOSED) == "4\nx\n"
    assert harness.read(DECOMPOSED) == "5\n"
    harness.call("delete_note", name=COMPOSED)
    assert (harness.folder / DECOMPOSED).exists()


@pytest.mark.parametrize("name", ["First.md", "New.md", "New"])
def test_a_folder_that_is_left_out_gets_no_file_and_loses_none(small: Small, name: str) -> None:
    harness = small({f"{COMPOSED[0]}/First.md": "in the vault"})
    other = harness.folder / DECOMPOSED.removesuffix(".md")
    other.mkdir()
    if (other / "First.md").exists():
        pytest.skip("this disk does not tell the two Unicode forms apart")
    (other / "First.md").write_text("left out")
    harness.catch_refusal(
        InvalidPath, "create_note", name=f"{other.name}/{name}", content="x", overwrite=True
    )
    harness.catch_refusal(InvalidPath, "list_files", folder=other.name)
    harness.catch_refusal(InvalidPath, "move_note", name=f"{other.name}/", to="Elsewhere")


@pytest.mark.parametrize("name", ["Sub/First.md", "Sub/New.md"])
def test_a_folder_that_is_left_out_is_refused_in_a_scope_that_shows_only_what_is_in_it(
    small: Small, name: str
) -> None:
    harness = small({f"{COMPOSED[0]}/Sub/First.md": "in the vault"}, scope=Scope(allow=("é/Sub/",)))
    other = harness.folder / DECOMPOSED.removesuffix(".md")
    (other / "Sub").mkdir(parents=True)
    if (other / "Sub/First.md").exists():
        pytest.skip("this disk does not tell the two Unicode forms apart")
    (other / "Sub/First.md").write_text("left out")
    harness.catch_refusal(
        InvalidPath, "create_note", name=f"{other.name}/{name}", content="x", overwrite=True
    )
    assert harness.read(f"{COMPOSED[0]}/Sub/First.md") == "in the vault"


@pytest.mark.parametrize("stored", [COMPOSED, DECOMPOSED], ids=["composed", "decomposed"])
def test_a_decomposed_path_names_the_only_file_of_that_name(small: Small, stored: str) -> None:
    harness = small({stored: "a\n"})
    harness.call("edit_note", op="append", name=DECOMPOSED, content="x")
    assert harness.read(stored) == "a\nx\n"


def test_of_two_decomposed_forms_only_the_listed_one_is_named(small: Small) -> None:
    # Two marks in either order: neither is composed, and both become the same path.
    first, second = "a\u0323\u0302.md", "a\u0302\u0323.md"
    harness = small({first: "first\n", second: "second\n"})
    if len(list(harness.folder.glob("a*"))) < 2:
        pytest.skip("this disk does not tell the two Unicode forms apart")
    listed, left_out = sorted((first, second))
    harness.call("edit_note", op="append", name=listed, content="x")
    assert harness.read(listed).endswith("x\n")
    harness.catch_refusal(InvalidPath, "delete_note", name=left_out)


def test_a_caller_who_may_not_see_the_name_learns_nothing(small: Small) -> None:
    harness = small({"Private/x.md": "x"}, scope=Scope(deny=("Private/",)))
    write_both(harness, "Private")
    harness.catch_refusal(NoteNotFound, "read_note", name=f"Private/{DECOMPOSED}")


def test_an_editor_client_is_refused_too(small: Small, tmp_path: Path) -> None:
    harness = small({})
    write_both(harness)
    view = VaultView(harness.folder, cache=tmp_path / "view-cache")
    paths = IdePaths(view)
    for parse in (paths.parse, paths.parse_lenient, paths.parse_for_write):
        with pytest.raises(InvalidPath):
            parse(str(harness.folder / DECOMPOSED))
    view.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "left"),
    [
        ("edit_note", {"op": "append", "name": "{n}", "content": "x"}, "{n}\nx\n"),
        ("batch", {"operations": [{"op": "write", "name": "{n}", "content": "x"}]}, "x"),
        ("create_note", {"name": "{n}", "content": "x", "overwrite": True}, "x"),
        ("move_note", {"name": "{n}", "to": "C.md"}, None),
        ("delete_note", {"name": "{n}"}, None),
    ],
)
@pytest.mark.parametrize(("name", "other"), [("A.md", "a.md"), ("a.md", "A.md")])
def test_of_two_notes_that_differ_only_in_case_exactly_the_named_one_changes(
    small: Small, tool: str, arguments: dict[str, Any], left: str | None, name: str, other: str
) -> None:
    harness = small({name: f"{name}\n", other: f"{other}\n"})
    if len(list(harness.folder.glob("?.md"))) < 2:
        pytest.skip("this disk ignores case")
    harness.call(tool, **fill(arguments, name))
    assert harness.read(other) == f"{other}\n"
    if left is None:
        assert not (harness.folder / name).exists()
        return
    assert harness.read(name) == fill(left, name)
    harness.call("undo")
    assert (harness.read(name), harness.read(other)) == (f"{name}\n", f"{other}\n")
