"""Readings in the cache: always what is on the disk, and never more than fits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.clocks import read_later_clock
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.reading import WHOLE, Excerpt, Part, Reading
from vaultbridge.errors import EditRefused, InvalidPath, NoteNotFound, PermissionDenied
from vaultbridge.limits import MIB
from vaultbridge.vault.paths import Root, VaultPath, vault_path
from vaultbridge.vault.read_cache import ENTRY_BYTES, ReadCache, is_local_filesystem
from vaultbridge.vault.scope import LiveScope, Scope
from vaultbridge.vault.write.trash import Trash

A = vault_path("A.md")

NOTE = vault_path("é.md")
TWIN = unicodedata.normalize("NFD", NOTE)

BODY = Part(properties=False)


def open_engine_at(base: Path, scope: Scope | None = None) -> DirectEngine:
    folder = base / "vault"
    folder.mkdir(exist_ok=True)
    if not is_local_filesystem(folder.resolve()):
        pytest.skip("nothing is known of this file system")
    return DirectEngine(
        folder,
        cache=base / "cache",
        trash=Trash({"HOME": str(base / "home")}),
        scope=scope or Scope(),
        clock=read_later_clock,
    )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DirectEngine]:
    with open_engine_at(tmp_path) as engine:
        yield engine


def test_a_reading_is_given_again_until_the_file_changes(engine: DirectEngine) -> None:
    place = engine.root.folder / A
    place.write_text("one\n", "utf-8")
    assert engine.read_again("A.md", BODY) is None
    reading = engine.read(A, BODY)
    assert engine.read_again("A.md", BODY) is reading
    assert engine.read_again("/A.md", BODY) is reading
    assert engine.read_again("A.md", Part(properties=False, max_chars=2)) is None
    place.write_text("one and more\n", "utf-8")
    assert engine.read_again("A.md", BODY) is None
    assert engine.read(A, BODY).excerpt.text == "one and more\n"


@pytest.mark.parametrize("name", ["a.md", "a", "../A.md", "", "A.md\0", "Alias", "B"])
def test_only_an_exact_path_is_answered_from_the_cache(engine: DirectEngine, name: str) -> None:
    """Which note any other name means may change without this one changing."""
    (engine.root.folder / A).write_text("---\naliases: Alias\n---\n", "utf-8")
    (engine.root.folder / "F").mkdir()
    (engine.root.folder / "F/B.md").write_text("b", "utf-8")
    engine.read(A, WHOLE)
    engine.read(vault_path("F/B.md"), WHOLE)
    assert engine.read_again(name, WHOLE) is None


def test_the_suffix_of_a_note_may_be_left_out_unless_another_file_has_that_name(engine: DirectEngine) -> None:
    (engine.root.folder / A).write_text("note", "utf-8")
    reading = engine.read(A, WHOLE)
    assert engine.read_again("A", WHOLE) is reading
    (engine.root.folder / "A").write_text("a file without an ending", "utf-8")
    assert engine.read_again("A", WHOLE) is None
    assert engine.find("A") == "A"


@pytest.mark.parametrize("name", [TWIN, TWIN.removesuffix(".md")])
def test_a_cached_note_does_not_answer_for_the_file_that_is_left_out_because_of_it(
    engine: DirectEngine, name: str
) -> None:
    """As it was found: after the note had been read, the exact path of the other file gave the note."""
    (engine.root.folder / NOTE).write_text("note", "utf-8")
    (engine.root.folder / TWIN).write_text("twin", "utf-8")
    if (engine.root.folder / NOTE).read_text("utf-8") == "twin":
        pytest.skip("this disk does not tell the two Unicode forms apart")
    reading = engine.read(NOTE, WHOLE)
    assert engine.read_again(NOTE, WHOLE) is reading
    assert engine.read_again(name, WHOLE) is None
    with pytest.raises(InvalidPath):
        engine.find(name)


def test_what_a_scope_hides_is_never_cached(tmp_path: Path) -> None:
    with open_engine_at(tmp_path, Scope(deny=("Private",))) as engine:
        (engine.root.folder / "Private").mkdir()
        (engine.root.folder / "Private/S.md").write_text("secret", "utf-8")
        (engine.root.folder / "L.md").symlink_to("Private/S.md")
        for path in ("Private/S.md", "L.md"):
            with pytest.raises(NoteNotFound):
                engine.read(vault_path(path), WHOLE)
            assert engine.read_again(path, WHOLE) is None


def test_a_narrower_scope_hides_cached_notes_at_once(tmp_path: Path) -> None:
    scope = LiveScope()
    with open_engine_at(tmp_path, scope) as engine:
        (engine.root.folder / A).write_text("secret", "utf-8")
        for narrower in (Scope(deny=("A",)), Scope(max_note_bytes=5)):
            scope.update()
            engine.read(A, WHOLE)
            assert engine.read_again("A.md", WHOLE) is not None
            scope.update(narrower)
            assert engine.read_again("A.md", WHOLE) is None


def test_a_link_is_looked_at_each_time(tmp_path: Path, engine: DirectEngine) -> None:
    """Its target may change, even to one outside the vault."""
    (engine.root.folder / A).write_text("inside", "utf-8")
    link = engine.root.folder / "L.md"
    link.symlink_to("A.md")
    assert engine.read(vault_path("L.md"), WHOLE).excerpt.text == "inside"
    assert engine.read_again("L.md", WHOLE) is None
    (tmp_path / "outside.md").write_text("outside", "utf-8")
    (engine.root.folder / A).unlink()
    (engine.root.folder / A).symlink_to(tmp_path / "outside.md")
    assert engine.read_again("A.md", WHOLE) is None
    with pytest.raises(PermissionDenied):
        engine.read(A, WHOLE)


def test_a_failed_reading_leaves_nothing_in_the_cache(engine: DirectEngine) -> None:
    (engine.root.folder / A).write_text("text", "utf-8")
    for _ in range(2):
        with pytest.raises(EditRefused, match="heading"):
            engine.read(A, Part(heading="None"))
        assert engine.read_again("A.md", Part(heading="None")) is None


PATHS = ("A.md", "F/B.md")


@settings(max_examples=60, deadline=None)
@given(
    acts=st.lists(
        st.tuples(
            st.sampled_from(["read", "write", "replace", "remove", "swap", "append"]),
            st.sampled_from(PATHS),
        ),
        min_size=4,
        max_size=20,
    )
)
def test_whatever_happens_to_the_files_the_cache_says_what_the_disk_says(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str]]
) -> None:
    with open_engine_at(tmp_path_factory.mktemp("cache")) as engine:
        folder = engine.root.folder
        (folder / "F").mkdir()
        (folder / "A.md").write_text("longer than what is written later", "utf-8")
        unchanged: dict[str, Reading] = {}
        for number, (act, path) in enumerate(acts):
            place = folder / path
            text = "x" * (number + 1)
            if act == "read":
                if place.exists():
                    unchanged[path] = engine.read(vault_path(path), WHOLE)
            elif act == "swap":
                unchanged.clear()
            else:
                unchanged.pop(path, None)
            if act == "write":
                # Another length each time: a file system's clock may not move between two writes.
                place.write_text(text, "utf-8")
            elif act == "replace":
                (folder / "new").write_text(text, "utf-8")
                (folder / "new").replace(place)
            elif act == "remove":
                place.unlink(missing_ok=True)
            elif act == "swap" and (folder / "A.md").exists() and (folder / "F/B.md").exists():
                (folder / "A.md").rename(folder / "new")
                (folder / "F/B.md").rename(folder / "A.md")
                (folder / "new").rename(folder / "F/B.md")
            elif act == "append" and place.exists():
                with place.open("a", encoding="utf-8") as file:
                    file.write(text)
            for asked in PATHS:
                reading = engine.read_again(asked, WHOLE)
                if asked in unchanged:
                    assert reading is unchanged[asked]
                if reading is not None:
                    assert reading.excerpt.text == (folder / asked).read_text("utf-8")


def make_reading(path: VaultPath, chars: int) -> Reading:
    return Reading(path, "0" * 16, 1, Excerpt("x" * chars, 1, 1, 1))


def test_the_cache_is_bounded_and_drops_the_least_recently_used(tmp_path: Path) -> None:
    if not is_local_filesystem(tmp_path.resolve()):
        pytest.skip("nothing is known of this file system")
    cache = ReadCache[Part, Reading](
        Root(tmp_path), clock=read_later_clock, most_bytes=3 * (ENTRY_BYTES + 400)
    )
    paths = [vault_path(f"{number}.md") for number in range(4)]
    for path in paths:
        (tmp_path / path).write_text("x", "utf-8")

    def keep(path: VaultPath, chars: int = 300) -> None:
        before = cache.stat(path)
        assert before is not None
        cache.put(path, WHOLE, make_reading(path, chars), before, size=chars + 50)

    for path in paths[:3]:
        keep(path)
    assert cache.get(paths[0], WHOLE, largest=MIB) is not None
    keep(paths[3])
    assert [cache.get(path, WHOLE, largest=MIB) is not None for path in paths] == [True, False, True, True]
    keep(paths[3], chars=10_000)
    assert [cache.get(path, WHOLE, largest=MIB) is not None for path in paths] == [True, False, True, True]
    # The room of a changed one is free again.
    (tmp_path / paths[0]).write_text("xy", "utf-8")
    assert cache.get(paths[0], WHOLE, largest=MIB) is None
    keep(paths[1])
    assert [cache.get(path, WHOLE, largest=MIB) is not None for path in paths] == [False, True, True, True]
