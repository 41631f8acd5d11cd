"""A vault on a disk that ignores case and Unicode forms, as macOS has. The disk is real to everything above
the kernel: `support.folding_disk`, mounted through FUSE. Needs root on Linux; skipped elsewhere."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import folding_disk
from support.files import write_vault
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Move, Operation
from vaultbridge.errors import VaultbridgeError
from vaultbridge.server.wiring import open_engine
from vaultbridge.vault.paths import VaultFolder, vault_path

NFD = unicodedata.normalize("NFD", "Café.md")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux" or os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("mounting needs root and /dev/fuse")
    below, mounted = tmp_path / "below", tmp_path / "disk"
    below.mkdir()
    mounted.mkdir()
    process = subprocess.Popen(
        [sys.executable, folding_disk.__file__, str(below), str(mounted)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        if process.stdout.readline() != b"mounted\n":
            pytest.skip("this system does not let us mount")
        yield mounted
    finally:
        folding_disk.unmount(mounted)
        process.wait()
        process.stdout.close()


@pytest.fixture
def vault(disk: Path) -> Path:
    folder = disk / "Vault"
    write_vault(
        folder,
        {"Note.md": "one\n", "Links.md": "[[Note]] [[Sub/Deep]]\n", "Sub/Deep.md": "deep\n", NFD: "coffee\n"},
    )
    return folder


def open_vault(vault: Path) -> DirectEngine:
    environ = {"HOME": str(vault.parent.parent), "VAULTBRIDGE_CACHE": str(vault.parent.parent / "cache")}
    engine = open_engine(vault, environ=environ)
    engine.index_sync.refresh()
    return engine


def list_names(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def undo_all(engine: DirectEngine) -> None:
    for change in engine.history.changes(limit=100):
        engine.undo(change.id, actor="test")


def test_the_disk_is_one_that_ignores_case(vault: Path) -> None:
    assert (vault / "NOTE.MD").read_text() == "one\n"
    assert (vault / "sub" / "deep.md").read_text() == "deep\n"
    assert (vault / unicodedata.normalize("NFC", NFD)).read_text() == "coffee\n"


def test_only_the_case_of_a_name_changes_and_comes_back(vault: Path) -> None:
    """`renameat2` with RENAME_NOREPLACE says that the new name is taken: by the note itself."""
    with open_vault(vault) as engine:
        before = list_names(vault)
        engine.apply([Move(note="Note", to="NOTE.md")], actor="test")
        assert "NOTE.md" in list_names(vault)
        assert (vault / "Links.md").read_text() == "[[Note]] [[Sub/Deep]]\n", "links ignore case too"
        engine.apply([Move(note="Sub", to="SUB")], actor="test")
        assert "SUB/Deep.md" in list_names(vault)
        undo_all(engine)
        assert list_names(vault) == before
        assert (vault / "Links.md").read_text() == "[[Note]] [[Sub/Deep]]\n"


def test_answers_history_and_index_have_the_stored_spelling(vault: Path) -> None:
    with open_vault(vault) as engine:
        engine.apply([Append(note="SUB/deep", content="more")], actor="test")
        engine.apply([Create(note="./SUB/New.md", content="zebra")], actor="test")
        engine.apply([Append(note="CAFÉ", content="milk")], actor="test")
        changes = engine.history.changes(limit=3)
        assert {change.paths[-1] for change in changes} == {"Sub/Deep.md", "Sub/New.md", "Café.md"}
        assert {file.path for file in engine.queries.files()} == {
            unicodedata.normalize("NFC", name) for name in list_names(vault)
        }
        assert NFD in list_names(vault), "a change does not rename a note"
        undo_all(engine)
        assert (vault / NFD).read_text() == "coffee\n"
        assert NFD in list_names(vault)


@pytest.mark.parametrize("seed", range(3))
def test_what_others_rename_is_found_as_it_is_stored_then(vault: Path, seed: int) -> None:
    """The names of a folder are listed again as soon as it has changed."""
    draw = random.Random(seed)
    root = VaultFolder(vault)
    stored = "Note.md"
    for number in range(40):
        # A folder that has just changed is not trusted, so without this none would be.
        os.utime(vault, (number, number))
        for _ in range(draw.randrange(3)):
            asked = "".join(draw.choice((char.lower(), char.upper())) for char in "note.md")
            assert root.locate(vault_path(asked)) == vault / stored
            assert (root.plain_status(vault_path(asked)) is not None) == (asked == stored)
            assert root.locate(vault_path("CAFÉ.md")) == vault / NFD
        new = draw.choice(("note.md", "NOTE.md", "Note.MD", "nOtE.md"))
        if new != stored:
            (vault / stored).rename(vault / new)
            stored = new


def draw_operation(draw: random.Random, respell: Callable[[str], str], note: str, number: int) -> Operation:
    match draw.randrange(4):
        case 0:
            return Append(note=respell(note), content=f"line {number}")
        case 1:
            return Move(note=respell(note), to=respell(note))
        case 2:
            return Move(note=respell(note), to=f"{respell('Sub')}/Moved {number}.md")
        case _:
            return Create(note=f"./{respell('Sub')}/Made {number}.md", content="made")


@pytest.mark.parametrize("seed", range(2))
def test_drawn_changes_in_any_spelling_are_undone_to_identical_bytes(vault: Path, seed: int) -> None:
    draw = random.Random(seed)

    def respell(name: str) -> str:
        stem, dot, suffix = name.rpartition(".")
        return "".join(draw.choice((char.lower(), char.upper())) for char in stem or suffix) + (
            dot and f".{suffix}"
        )

    with open_vault(vault) as engine, open_vault(vault) as other:
        before = {name: (vault / name).read_bytes() for name in list_names(vault)}
        done = 0
        for number in range(15):
            paths = sorted(file.path for file in engine.queries.files())
            note = draw.choice(paths)
            operation = draw_operation(draw, respell, note, number)
            try:
                draw.choice((engine, other)).apply([operation], actor="test")
                done += 1
            except VaultbridgeError:
                continue
            finally:
                engine.index_sync.refresh()
                other.index_sync.refresh()
            assert {file.path for file in engine.queries.files()} == {
                unicodedata.normalize("NFC", name) for name in list_names(vault)
            }
        assert done > 5
        undo_all(engine)
        assert {name: (vault / name).read_bytes() for name in list_names(vault)} == before
