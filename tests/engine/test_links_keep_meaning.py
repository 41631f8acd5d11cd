"""Whatever is moved, every link of the vault still leads to the same file: on real files, through the engine.

Checked by reading the whole vault before and after, without the index."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from support.index import another_leader, dump
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Delete, Move, RenameHeading, RenameTag
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan, PlanOutdated, Request
from vaultbridge.engine.reading import parse_file
from vaultbridge.errors import EditRefused, NoteNotFound
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault, read_contents, rebuild_index

FOLDERS = ("", "a", "b", "a/deep", "b/deep")
NAMES = ("One", "Two", "Three", "v1.2", "Ünïcode 中文", "pic.png", "board.canvas", "with (brackets)")
PLACE = {"x": 0, "y": 0, "width": 1, "height": 1}


def spell_link(rng: random.Random, path: str, source: str) -> str:
    """A link text that may mean `path`, in one of the ways people write it."""
    name = path.rpartition("/")[2]
    bare = name.removesuffix(".md")
    whole = path.removesuffix(".md")
    percent = path.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    return rng.choice(
        (
            f"[[{bare}]]",
            f"[[{whole}]]",
            f"[[/{whole}|shown]]",
            f"[[{bare}#Part|{bare}]]",
            f"![[{name}|100]]",
            f"[[{bare.lower()}#^id]]",
            f"[text]({percent})",
            f'[{bare}](<{path}> "title")',
            f"![]({percent}#Part)",
            f"[[{'../' * source.count('/')}{whole}]]",
            f"`[[{bare}]]`",
        )
    )


def make_files(rng: random.Random) -> dict[str, str | bytes]:
    paths = sorted({"/".join(filter(None, (rng.choice(FOLDERS), rng.choice(NAMES)))) for _ in range(14)})
    paths = [path if path.endswith((".png", ".canvas")) else f"{path}.md" for path in paths]
    files: dict[str, str | bytes] = {}
    for path in paths:
        if path.endswith(".png"):
            files[path] = b"png"
        elif path.endswith(".canvas"):
            cards = [
                {"id": "1", "type": "file", "file": rng.choice(paths), **PLACE},
                {"id": "2", "type": "text", "text": "see [[One]]", **PLACE},
            ]
            files[path] = json.dumps({"nodes": cards, "edges": []}, ensure_ascii=False)
        else:
            links = " ".join(spell_link(rng, rng.choice(paths), path) for _ in range(rng.randrange(6)))
            up = rng.choice(paths).removesuffix(".md")
            end = rng.choice(("\n", "\r\n"))
            files[path] = f'---\nup: "[[{up}]]"\n---\n# Part\n{links}\n\nx ^id\n[[Nowhere]]'.replace(
                "\n", end
            )
    return files


def resolve_links(engine: DirectEngine) -> dict[str, list[str | None]]:
    """Where each link of each file leads, by reading every file."""
    files = read_contents(engine)
    table = FileTable(files)
    found: dict[str, list[str | None]] = {}
    for path, data in files.items():
        note = parse_file(path, data.decode())
        targets = [resolve(link.target, path, table) for link in note.links]
        found[path] = [target.path if isinstance(target, Resolved) else None for target in targets]
        for number, link in enumerate(note.links):
            # The file of a canvas card is a whole path. If no file is there, the card shows none.
            if link.kind == "canvas":
                assert found[path][number] == next(iter(table.same_path(json.loads(link.raw))), None)
    return found


def draw_move(rng: random.Random, files: list[str]) -> Move:
    path = rng.choice(files)
    if rng.random() < 0.3 and "/" in path:
        folder = path.rpartition("/")[0]
        return Move(note=folder + "/", to=rng.choice(("c", "a/deep/er", "Renamed", "b/x")))
    name, dot, extension = path.rpartition("/")[2].rpartition(".")
    new = rng.choice((name, "One", "Two", "Fresh", "v2.0", name.upper(), "Fresh (2)"))
    folder = rng.choice((*FOLDERS, "new/place"))
    return Move(note=path, to="/" + "/".join(filter(None, (folder, new + dot + extension))))


def predict_paths(before: list[str], move: Move, engine: DirectEngine) -> dict[str, str]:
    """Old path to new path, from the request alone."""
    if not move.note.endswith("/"):
        return {move.note: move.to.lstrip("/")}
    parent = move.note.rstrip("/").rpartition("/")[0]
    target = move.to if "/" in move.to else "/".join(filter(None, (parent, move.to)))
    return {path: target + path[len(move.note) - 1 :] for path in before if path.startswith(move.note)}


@pytest.mark.parametrize("seed", range(6))
def test_every_link_leads_to_the_same_file_after_any_moves(
    make_vault: MakeVault, tmp_path: Path, seed: int
) -> None:
    """And the index, from which each move reads the links that the one before wrote, equals a rebuilt one."""
    rng = random.Random(seed)
    engine = make_vault(make_files(rng))
    setting = rng.choice(("shortest", "relative", "absolute"))
    config = engine.root.folder / ".obsidian"
    config.mkdir()
    (config / "app.json").write_text(json.dumps({"newLinkFormat": setting}))
    start = read_contents(engine)
    changes: list[int] = []
    for _ in range(8):
        before = resolve_links(engine)
        where = {path: path for path in before}
        operations: list[Operation] = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            now = sorted(where.values())
            move = draw_move(rng, now)
            try:
                engine.apply([*operations, move], dry_run=True)
            except EditRefused:
                continue  # Something is there already.
            follow = predict_paths(now, move, engine)
            where = {old: follow.get(path, path) for old, path in where.items()}
            operations.append(move)
        if not operations:
            continue
        outcome = engine.apply(operations)
        if outcome.change_id:
            changes.append(int(outcome.change_id))
        check_meanings(engine, before, where, operations)
        if len(changes) % 3 == 0:
            # Not after every one: mostly the next move starts while the index is still busy with this one.
            check_index(engine, tmp_path / f"rebuilt {len(changes)}")
    for change in reversed(changes):
        engine.undo(change)
    assert read_contents(engine) == start
    check_index(engine, tmp_path / "rebuilt in the end")


def check_meanings(
    engine: DirectEngine,
    before: dict[str, list[str | None]],
    where: dict[str, str],
    operations: list[Operation],
) -> None:
    """Every link that led to a file leads to it still. `where` has the new path of each old one."""
    after = resolve_links(engine)
    assert sorted(after) == sorted(where.values()), operations
    for old, links in before.items():
        wanted = [None if target is None else where[target] for target in links]
        got = after[where[old]]
        assert len(got) == len(wanted), (old, operations)
        for number, (is_now, was) in enumerate(zip(got, wanted, strict=True)):
            assert was is None or is_now == was, (old, number, operations, read_contents(engine)[where[old]])


@pytest.mark.parametrize("watched", [False, True], ids=["not watched", "watched"])
@pytest.mark.parametrize("seed", range(4))
def test_a_move_follows_every_link_that_another_program_has_just_written(
    make_vault: MakeVault, tmp_path: Path, seed: int, watched: bool
) -> None:
    """Between two moves, while the index is still busy with the first, another program writes, renames,
    deletes and exchanges files and folders. No link that is on disk when the move begins may be missed."""
    rng = random.Random(seed)
    engine = make_vault(make_files(rng))
    if watched:
        engine.index_sync.start()
    for _ in range(15):
        for _ in range(rng.randrange(4)):
            change_from_outside(rng, engine.root.folder)
        before = resolve_links(engine)
        move = draw_move(rng, sorted(before) or ["none.md"])
        try:
            engine.apply([move])
        except (EditRefused, NoteNotFound):
            continue  # Something is there already, or nothing is left.
        follow = predict_paths(list(before), move, engine)
        check_meanings(engine, before, {path: follow.get(path, path) for path in before}, [move])
    engine.index_sync.refresh()
    check_index(engine, tmp_path / "rebuilt")


def change_from_outside(rng: random.Random, folder: Path) -> None:
    files = sorted(place for place in folder.rglob("*") if place.is_file())
    paths = [place.relative_to(folder).as_posix() for place in files]
    roll = rng.random()
    if roll < 0.25 or not files:
        fresh = make_files(rng)
        path = rng.choice([path for path in fresh if path.endswith((".md", ".canvas"))] or ["One.md"])
        data = fresh.get(path, "[[Two]]")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(".saving")
        temporary.write_bytes(data if isinstance(data, bytes) else data.encode())
        temporary.replace(place)
    elif roll < 0.55:
        # In place, and often with the same size: other links in the same order of bytes.
        place = rng.choice(files)
        if place.suffix == ".md":
            pieces = place.read_bytes().split(b" ")
            pieces += [b"[[" + rng.choice(paths).removesuffix(".md").encode() + b"]]"] * rng.randrange(2)
            body = pieces[1:]
            rng.shuffle(body)
            with place.open("r+b") as file:
                file.write(b" ".join([*pieces[:1], *body]))
    elif roll < 0.65:
        rng.choice(files).unlink()
    elif roll < 0.8:
        place = rng.choice(files)
        place.rename(place.with_name(f"Renamed {rng.randrange(5)}{place.suffix}"))
    else:
        source, target = (folder / name for name in rng.sample(("a", "b", "b/deep", "c"), 2))
        if (
            source.is_dir()
            and target.is_dir()
            and source not in target.parents
            and target not in source.parents
        ):
            source.rename(folder / ".aside")
            target.rename(source)
            (folder / ".aside").rename(target)
        elif (
            source.is_dir()
            and not target.exists()
            and target.parent.is_dir()
            and source not in target.parents
        ):
            source.rename(target)


def check_index(engine: DirectEngine, folder: Path) -> None:
    """The index equals a rebuilt one, and its dictionary has every word."""
    if folder.exists():
        return
    engine.queries.files()
    assert dump(engine.index_sync.index) == rebuild_index(engine, folder)
    with engine.index_sync.index.reading() as db:
        assert not db.execute("SELECT term FROM vocabulary EXCEPT SELECT term FROM terms").fetchall()


@pytest.mark.parametrize("seed", range(3))
def test_a_new_note_re_points_no_older_link(make_vault: MakeVault, seed: int) -> None:
    rng = random.Random(seed)
    engine = make_vault(make_files(rng))
    for number in range(6):
        before = resolve_links(engine)
        name = "/".join(filter(None, (rng.choice(FOLDERS), rng.choice(NAMES[:5]))))
        try:
            engine.apply([Create(note=f"{name}.md" if "/" in name else f"/{name}.md", content=f"{number}")])
        except EditRefused:
            engine.apply([Append(note=f"{name}.md", content=f"{number}")])
        after = resolve_links(engine)
        for path, links in before.items():
            for was, is_now in zip(links, after[path], strict=True):
                assert was is None or is_now == was, (path, name)


def test_the_reading_of_these_tests_notices_a_broken_link(make_vault: MakeVault, tmp_path: Path) -> None:
    """The reading above sees a broken link: without this, the tests above could not fail."""
    engine = make_vault({"A.md": "[[B]]", "B.md": ""})
    assert resolve_links(engine) == {"A.md": ["B.md"], "B.md": []}
    (engine.root.folder / "B.md").rename(engine.root.folder / "C.md")
    assert resolve_links(engine)["A.md"] == [None]


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        (Move(note="Plan", to="Idea"), "[[Idea#Part]] #new"),
        (RenameHeading(note="Plan", heading="Part", to="Piece"), "[[Plan#Piece]] #new"),
        (RenameTag(tag="old", to="fresh"), "[[Plan#Part]] #new #fresh"),
    ],
)
def test_a_link_saved_a_moment_before_a_rename_follows_it(
    make_vault: MakeVault, operation: Operation, after: str
) -> None:
    """The watch reports a change only after a pause."""
    engine = make_vault({"Plan.md": "# Part\n\n#old", "Late.md": "nothing yet"})
    engine.index_sync.refresh()
    tag = " #old" if isinstance(operation, RenameTag) else ""
    with another_leader(engine.cache, watches=True):
        (engine.root.folder / "Late.md").write_text(f"[[Plan#Part]] #new{tag}")
        engine.apply([operation])
    assert (engine.root.folder / "Late.md").read_text() == after


def test_a_hidden_file_saved_a_moment_before_keeps_its_folder_from_being_deleted(
    make_vault: MakeVault,
) -> None:
    engine = make_vault({"F/Seen.md": "x"}, scope=Scope(deny=("F/Secret.md",)))
    engine.index_sync.refresh()
    with another_leader(engine.cache, watches=True):
        (engine.root.folder / "F/Secret.md").write_text("y")
        with pytest.raises(EditRefused, match="may not be changed"):
            engine.apply([Delete(note="F/")])
    assert (engine.root.folder / "F/Secret.md").read_text() == "y"


def test_links_are_read_from_the_note_when_the_index_knows_another_text(make_vault: MakeVault) -> None:
    """Another program changed a note and set its time back, which no comparison by stat can see."""
    engine = make_vault({"A.md": "[[Bee]], then [[Cat]]", "Bee.md": "", "Cat.md": ""})
    note = engine.root.folder / "A.md"
    os.utime(note, (1e9, 1e9))
    engine.index_sync.refresh()
    with note.open("r+b") as file:
        file.write(b"[[Cat]], then [[Bee]]")
    os.utime(note, (1e9, 1e9))
    engine.apply([Move(note="Bee", to="Wasp")])
    assert note.read_text() == "[[Cat]], then [[Wasp]]"


def test_links_beside_bytes_that_are_not_utf_8_follow_a_move(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": b"\xff[[Bee|\xfe]] [[Bee]]\xff", "Bee.md": ""})
    engine.apply([Move(note="Bee", to="Wasp")])
    assert read_contents(engine)["A.md"] == b"\xff[[Wasp|\xfe]] [[Wasp]]\xff"


@pytest.mark.parametrize(
    "other",
    [
        Move(note="B/two.md", to="B/same.md"),
        Create(note="B/same.md", content="new"),
        Append(note="B/two.md", content="[[one]]"),
        Move(note="Hub.md", to="B/deep/Hub.md"),
    ],
    ids=["same-name", "new-note", "new-link", "moved-source"],
)
def test_a_move_knows_what_another_process_changed_while_it_was_drafted(
    make_vault: MakeVault, other: Operation
) -> None:
    """Between reading the names and its turn to write, a second one gave the same name to another note."""
    ours = make_vault(
        {"A/one.md": "one", "B/two.md": "two", "Hub.md": "[[one]] [[A/one|again]]", "Other.md": "[[two]]"}
    )
    theirs = make_vault()
    ours.index_sync.refresh()
    waiting = [other]

    def overtake(plan: Plan) -> Outcome:
        if waiting:
            theirs.apply([waiting.pop()])
            with pytest.raises(PlanOutdated):
                ours.carry_out(plan)
        return ours.carry_out(plan)

    ours.with_plan(Request((Move(note="A/one.md", to="A/same.md"),)), overtake)
    ours.index_sync.refresh()
    leads = {
        (source, link.raw): link.resolved
        for source in read_contents(ours)
        if source.endswith(".md")
        for link in ours.queries.outgoing(source)
    }
    two = "B/same.md" if isinstance(other, Move) and other.note == "B/two.md" else "B/two.md"
    expected = {"A/same.md": 3 if isinstance(other, Append) else 2, two: 1}
    assert {path: list(leads.values()).count(path) for path in expected} == expected
    assert len(leads) == sum(expected.values())


def test_undoing_a_move_names_the_links_that_were_written_since(make_vault: MakeVault) -> None:
    engine = make_vault({"Old.md": "x", "Hub.md": "[[Old]]", "Late.md": "late", "Private/p.md": "p"})
    moved = engine.apply([Move(note="Old.md", to="New.md")])
    engine.apply([Append(note="Late.md", content="[[New]]"), Append(note="Private/p.md", content="[[New]]")])
    planned = make_vault(scope=Scope(deny=("Private/",))).undo(int(moved.change_id), dry_run=True)
    assert planned.notices == ("Links to New.md that were written since do not follow, in: Late.md.",)
    done = engine.undo(int(moved.change_id))
    assert done.notices == (
        "Links to New.md that were written since do not follow, in: Late.md, Private/p.md.",
    )
    assert read_contents(engine)["Hub.md"] == b"[[Old]]"
    again = engine.apply([Move(note="Old.md", to="Other.md")])
    assert engine.undo(int(again.change_id)).notices == ()
