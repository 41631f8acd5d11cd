"""The engine on real files: names, edits, renames, scopes, history."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.long_form import mark_long_after
from vaultbridge.engine.operations import (
    AddFile,
    AddTag,
    Append,
    ApplyDiff,
    Create,
    Delete,
    Insert,
    Move,
    Prepend,
    RemoveProperty,
    RenameBlock,
    RenameHeading,
    RenameTag,
    ReplaceSection,
    ReplaceText,
    SetProperty,
    SetTask,
    Write,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.vocabulary import parse_operations
from vaultbridge.errors import (
    EditRefused,
    EngineFailure,
    InvalidArgument,
    InvalidPath,
    NoteNotFound,
    NotFound,
    PermissionDenied,
    StaleWrite,
)
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault, read_contents

VAULT: dict[str, str | bytes] = {
    "Home.md": "---\ntags: [a, b]\nzip: 01234 # kept\n---\n# Home\n\n"
    'See [[Plan]], ![[pic.png|100]] and [plan](Work/Plan.md "t").\n',
    "Work/Plan.md": "# Plan\r\n\r\n## Week 1\r\n\r\n- [ ] first ^t1\r\n\r\n## Week 2\r\n",
    "Work/Log.md": "up [[Plan#Week 1]] and [[Plan#^t1|task]] `[[Plan]]` #topic/sub",
    "pic.png": b"\x89PNG not really",
    "Board.canvas": '{\n\t"nodes":[\n\t\t{"id":"1","type":"file","file":"Work/Plan.md","x":0,"y":0,'
    '"width":9,"height":9}\n\t],\n\t"edges":[]\n}',
}


def test_a_note_is_found_by_path_name_and_other_case(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    for name in ("Work/Plan.md", "Work/Plan", "/Work/Plan", "Plan", "plan", "work/plan.MD"):
        assert engine.find(name) == "Work/Plan.md", name


def test_a_rename_rewrites_every_kind_of_link_and_nothing_else(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply([Move(note="Plan", to="Roadmap")])
    after = read_contents(engine)
    assert "Work/Plan.md" not in after
    assert after["Work/Roadmap.md"] == VAULT["Work/Plan.md"].encode()  # type: ignore[union-attr]
    assert '[[Roadmap]], ![[pic.png|100]] and [plan](Roadmap.md "t")' in after["Home.md"].decode()
    assert after["Work/Log.md"] == b"up [[Roadmap#Week 1]] and [[Roadmap#^t1|task]] `[[Plan]]` #topic/sub"
    assert b'"file":"Work/Roadmap.md"' in after["Board.canvas"]


def test_a_folder_moves_with_every_link(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply([Move(note="Work/", to="Old/Jobs")])
    assert engine.find("Plan") == "Old/Jobs/Plan.md"
    assert b'"file":"Old/Jobs/Plan.md"' in read_contents(engine)["Board.canvas"]
    assert "[plan](Plan.md" in read_contents(engine)["Home.md"].decode()
    assert "Work" not in " ".join(read_contents(engine))


def test_an_attachment_moves_with_its_embeds(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply([Move(note="pic.png", to="img/photo")])
    assert "![[photo.png|100]]" in read_contents(engine)["Home.md"].decode()


def test_a_renamed_heading_and_block_id_take_their_references_along(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply(
        [
            RenameHeading(note="Plan", heading="Week 1", to="First week"),
            RenameBlock(note="Plan", block="t1", to="done-1"),
        ]
    )
    after = read_contents(engine)
    assert b"## First week\r\n\r\n- [ ] first ^done-1\r\n" in after["Work/Plan.md"]
    assert after["Work/Log.md"].startswith(b"up [[Plan#First week]] and [[Plan#^done-1|task]]")


def test_a_dry_run_writes_nothing_and_shows_the_diff(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    before = read_contents(engine)
    outcome = engine.apply([SetProperty(note="Home", name="status", value="done")], dry_run=True)
    assert read_contents(engine) == before
    assert "+status: done" in outcome.diff
    assert outcome.dry_run and not outcome.change_id


def test_one_failing_operation_undoes_the_whole_batch(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    before = read_contents(engine)
    with pytest.raises(EditRefused, match=r"^Operation 2 of 2: "):
        engine.apply([Append(note="Home", content="x"), ReplaceText(note="Home", old="nowhere", new="")])
    assert read_contents(engine) == before


def test_operations_of_a_batch_see_each_other(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply(
        [
            Create(note="Draft", content="# Draft\n\n[[Plan]]\n"),
            Move(note="Draft", to="Work/Final"),
            Append(note="Final", content="end"),
            Move(note="Plan", to="Goal"),
        ]
    )
    assert read_contents(engine)["Work/Final.md"] == b"# Draft\n\n[[Goal]]\nend\n"


def test_a_stale_edit_is_refused_with_the_current_hash(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    seen = engine.view("Home").hash
    (engine.root.folder / "Home.md").write_text("somebody else")
    with pytest.raises(StaleWrite) as caught:
        engine.apply([Append(note="Home", content="x", expected=seen)])
    assert caught.value.current == engine.view("Home").hash
    assert read_contents(engine)["Home.md"] == b"somebody else"


def test_creating_refuses_an_existing_note_in_any_case_unless_overwrite_is_set(
    make_vault: MakeVault,
) -> None:
    engine = make_vault(VAULT)
    with pytest.raises(EditRefused, match="already exists"):
        engine.apply([Create(note="home", content="x")])
    engine.apply([Create(note="home", content="x", overwrite=True)])
    assert read_contents(engine)["Home.md"] == b"x"


def test_creating_a_note_that_would_take_over_older_links_pins_them_and_says_so(
    make_vault: MakeVault,
) -> None:
    engine = make_vault(VAULT)
    outcome = engine.apply([Create(note="Plan", content="another")])
    assert engine.find("Plan") == "Plan.md"
    assert "See [[Work/Plan]]," in read_contents(engine)["Home.md"].decode()
    assert any("older link" in notice for notice in outcome.notices)


WHOLE_TEXTS = ["three\nfour\n", "three\r\nfour\r\n", "mixed\r\nends\nand\rmore", "", "\n\n"]


@pytest.mark.parametrize("content", WHOLE_TEXTS)
@pytest.mark.parametrize("before", [b"one\r\ntwo\r\n", b"one\ntwo\n", b"one\rtwo\r", b""])
def test_a_whole_text_is_written_exactly_as_given(make_vault: MakeVault, before: bytes, content: str) -> None:
    engine = make_vault({"A.md": before, "B.md": before, "C.md": before})
    engine.apply([Write(note="A", content=content)])
    engine.apply([Create(note="B", content=content, overwrite=True)])
    engine.apply([Write(note="C", content="first"), Write(note="C", content=content)])
    assert [read_contents(engine)[name] for name in ("A.md", "B.md", "C.md")] == [content.encode()] * 3


@pytest.mark.parametrize("sent", ["three\n", "\ufeffthree\n"])
def test_a_whole_write_keeps_the_bom_that_no_reader_is_shown(make_vault: MakeVault, sent: str) -> None:
    """And a text that begins with one, as `raw` returns it, does not get two."""
    engine = make_vault({"A.md": b"\xef\xbb\xbfone\r\n", "B.md": b"\xef\xbb\xbfone\r\n"})
    engine.apply([Write(note="A", content=sent)])
    engine.apply([Create(note="B", content=sent, overwrite=True)])
    assert read_contents(engine) == dict.fromkeys(("A.md", "B.md"), b"\xef\xbb\xbfthree\n")


NOT_UTF8 = {
    "latin-1": "caf\xe9 au lait\n".encode("latin-1"),
    "utf-16 with a mark": "Grüße\n".encode("utf-16"),
    "utf-16 without": "Hello\n".encode("utf-16-le"),
}


@pytest.mark.parametrize("before", NOT_UTF8.values(), ids=NOT_UTF8)
def test_a_note_that_is_not_utf8_is_replaced_only_on_request(make_vault: MakeVault, before: bytes) -> None:
    engine = make_vault({"Old.md": before})
    for operation in (
        Write(note="Old", content="new\n"),
        Create(note="Old", content="new\n", overwrite=True),
    ):
        with pytest.raises(EditRefused, match="is not UTF-8") as refused:
            engine.apply([operation])
        assert "set force" in str(refused.value)
        assert read_contents(engine)["Old.md"] == before
    outcome = engine.apply([Write(note="Old", content="new\n", force=True)])
    assert read_contents(engine)["Old.md"] == b"new\n"
    engine.undo(int(outcome.change_id))
    assert read_contents(engine)["Old.md"] == before
    engine.apply([Create(note="Old", content="new\n", overwrite=True, force=True)])
    assert read_contents(engine)["Old.md"] == b"new\n"


def test_an_edit_of_utf16_is_refused_and_of_stray_bytes_keeps_them(make_vault: MakeVault) -> None:
    before = NOT_UTF8["utf-16 with a mark"]
    engine = make_vault({"Old.md": before, "Stray.md": NOT_UTF8["latin-1"]})
    for operation in (Append(note="Old", content="more"), SetProperty(note="Old", name="a", value=1)):
        with pytest.raises(EditRefused, match="UTF-16"):
            engine.apply([operation])
    engine.apply([Append(note="Stray", content="more")])
    assert read_contents(engine) == {"Old.md": before, "Stray.md": NOT_UTF8["latin-1"] + b"more\n"}


def test_a_deleted_note_goes_to_the_trash_and_comes_back(make_vault: MakeVault, tmp_path: Path) -> None:
    engine = make_vault(VAULT)
    before = read_contents(engine)
    outcome = engine.apply([Delete(note="Plan")])
    assert "Work/Plan.md" not in read_contents(engine)
    assert any("still link" in notice for notice in outcome.notices)
    assert list((tmp_path / "home").rglob("Plan.md"))
    engine.undo(int(outcome.change_id))
    assert read_contents(engine) == before


def test_a_tag_is_renamed_in_the_whole_vault(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT | {"X.md": "#Topic and #topical\n"})
    engine.apply([RenameTag(tag="topic", to="theme")])
    assert read_contents(engine)["X.md"] == b"#theme and #topical\n"
    assert read_contents(engine)["Work/Log.md"].endswith(b"#theme/sub")


def test_undo_refuses_when_the_note_has_changed_since_unless_forced(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    change = int(engine.apply([Append(note="Home", content="x")]).change_id)
    (engine.root.folder / "Home.md").write_text("newer")
    with pytest.raises(EditRefused):
        engine.undo(change)
    assert read_contents(engine)["Home.md"] == b"newer"
    engine.undo(change, force=True)
    assert read_contents(engine)["Home.md"] == VAULT["Home.md"].encode()  # type: ignore[union-attr]


def test_history_says_who_did_what(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply([Append(note="Home", content="x")], actor="mcp:someone", label="a note")
    (entry,) = engine.history.changes()
    assert (entry.actor, entry.label, entry.paths) == ("mcp:someone", "a note", ("Home.md",))
    assert "+x" in engine.history.diff(entry.id)


def test_a_read_only_scope_refuses_every_change(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=Scope(read_only=True))
    for operation in (
        Append(note="Home", content="x"),
        Create(note="N"),
        Move(note="Home", to="H"),
        Delete(note="Home"),
    ):
        with pytest.raises(PermissionDenied):
            engine.apply([operation])


def test_a_denied_note_does_not_exist(make_vault: MakeVault) -> None:
    make_vault(VAULT | {"Private/Diary.md": "[[Home]] secret"})
    engine = make_vault(scope=Scope(deny=("Private/",)))
    for name in ("Diary", "Private/Diary", "Private/Diary.md"):
        with pytest.raises(NoteNotFound) as caught:
            engine.view(name)
        assert "Diary" not in str(caught.value.closest)
    assert engine.queries.search("secret").total == 0
    with pytest.raises(PermissionDenied):
        engine.apply([Create(note="Private/New", content="x")])
    with pytest.raises(NoteNotFound):
        engine.apply([Append(note="Private/Diary", content="x")])


def test_a_rename_keeps_links_in_a_hidden_note_right_without_telling_of_it(make_vault: MakeVault) -> None:
    make_vault(VAULT | {"Private/Diary.md": "[[Home]] secret", "Open.md": "[[Home]] in the open"})
    engine = make_vault(scope=Scope(deny=("Private/",)))
    shown = engine.apply([Move(note="Home", to="House")], dry_run=True).diff
    assert "House" in shown and "secret" not in shown
    outcome = engine.apply([Move(note="Home", to="House")])
    assert read_contents(engine)["Private/Diary.md"] == b"[[House]] secret"
    assert all("Private" not in file.path for file in outcome.files)
    assert all("Private" not in notice for notice in outcome.notices)


@pytest.mark.parametrize(
    "path", ["../out.md", "/../out.md", ".obsidian/app.json", "a/.git/x.md", "C:/x.md", "a\0b.md"]
)
def test_a_path_out_of_the_vault_is_refused(make_vault: MakeVault, path: str) -> None:
    engine = make_vault(VAULT)
    with pytest.raises(InvalidPath):
        engine.apply([Create(note=path, content="x")])
    with pytest.raises(NoteNotFound):
        engine.view(path)


def test_a_symlink_out_of_the_vault_is_not_followed(make_vault: MakeVault, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    engine = make_vault(VAULT)
    (engine.root.folder / "link.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(PermissionDenied):
        engine.view("link.md")
    with pytest.raises(PermissionDenied):
        engine.apply([Append(note="link.md", content="x")])
    assert (tmp_path / "outside.md").read_text() == "secret"


def test_an_added_attachment_may_not_replace_one(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT)
    engine.apply([AddFile(path="img/new.png", data=b"\x89PNG")])
    with pytest.raises(EditRefused):
        engine.apply([AddFile(path="img/NEW.png", data=b"x")])
    assert read_contents(engine)["img/new.png"] == b"\x89PNG"


def _draw_operation(chance: random.Random, notes: list[str]) -> Operation:
    note = chance.choice(notes)
    word = chance.choice(["alpha", "beta", "gamma", "日本", "naïve"])
    return chance.choice(
        [
            Append(note=note, content=f"{word} [[{chance.choice(notes)[:-3]}]]"),
            Prepend(note=note, content=word),
            Insert(note=note, line=1 + chance.randrange(2), content=word),
            SetProperty(note=note, name=word, value=chance.choice([1, "two", ["a", "b"], True, None, "01"])),
            RemoveProperty(note=note, name=word),
            AddTag(note=note, tag=f"t/{word}"),
            SetTask(note=note, line=0, text="first"),
            ReplaceSection(note=note, heading="Week 1", content=word),
            ApplyDiff(note=note, diff="@@ -1,1 +1,1 @@\n-alpha\n+beta\n"),
            Create(note=f"new {chance.randrange(10_000)}", content=f"[[{chance.choice(notes)[:-3]}]]\n"),
            Move(note=note, to=f"moved/{word} {chance.randrange(10_000)}"),
            Delete(note=note),
            Write(note=note, content=f"# {word}\n"),
            RenameTag(tag="a", to=word),
        ]
    )


@pytest.mark.parametrize("seed", mark_long_after(1, range(2)))
def test_200_random_edits_and_200_undos_give_back_the_identical_bytes(
    make_vault: MakeVault, seed: int
) -> None:
    engine = make_vault(
        VAULT | {f"n{i}.md": f"# N{i}\n\n[[n{(i + 1) % 9}]] #a\n- [ ] first\n" for i in range(9)}
    )
    before = read_contents(engine)
    chance = random.Random(seed)
    done: list[int] = []
    while len(done) < 200:
        notes = [path for path in read_contents(engine) if path.endswith(".md")]
        try:
            outcome = engine.apply([_draw_operation(chance, notes)])
        except (EditRefused, NotFound):
            continue
        if outcome.change_id:
            done.append(int(outcome.change_id))
    assert read_contents(engine) != before
    for change in reversed(done):
        engine.undo(change)
    assert read_contents(engine) == before


def test_a_note_with_bytes_that_are_not_text_is_read_and_the_problem_reported(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": b"---\nx: [\n---\n# H\n\xff [[B]]\n", "B.md": ""})
    view = engine.view("A")
    assert {problem.code for problem in view.note.problems} == {"invalid-utf8", "bad-yaml"}
    assert [link.target for link in view.note.links] == ["B"]


def test_a_note_that_icloud_has_not_downloaded_is_reported_as_such(make_vault: MakeVault) -> None:
    engine = make_vault({".Far.md.icloud": b"bplist", "A.md": "[[Far]]"})
    assert engine.find("Far") == "Far.md"
    for action in (
        lambda: engine.view("Far"),
        lambda: engine.apply([Append(note="Far", content="x")]),
        lambda: engine.apply([Move(note="Far", to="Near")]),
    ):
        with pytest.raises(EngineFailure, match="not downloaded"):
            action()
    with pytest.raises(EditRefused, match="already exists"):
        engine.apply([Create(note="Far", content="x")])


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"op": "nope"}, "`op` is one of: create, write, append,"),
        ({"note": "A"}, "`op` is one of: create,"),
        ("append", "`op` is one of: create,"),
        (
            {"op": "append", "note": "A"},
            "The fields of append: note, content, [heading], [create], [block], [expected].",
        ),
        ([{"op": "delete", "note": "A", "sure": True}], "The fields of delete: note, [expected]."),
    ],
)
def test_an_unreadable_operation_is_refused_with_a_correction(value: object, hint: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_operations(value)
    assert caught.value.hint.startswith(hint)


def test_an_error_does_not_repeat_a_megabyte() -> None:
    missing = NotFound("x" * 1_000_000, what="tool")
    assert len(str(missing)) < 1200
    assert len(missing.details["name"]) < 1200


def test_two_notes_that_differ_only_in_case_are_distinguished_by_their_exact_name(
    make_vault: MakeVault,
) -> None:
    """Where the disk tells them apart, as on Linux."""
    engine = make_vault({"F/A.md": "[[T]] upper", "F/a.md": "[[T]] lower", "T.md": "t"})
    folder = engine.root.folder / "F"
    if (folder / "A.md").samefile(folder / "a.md"):
        pytest.skip("this disk holds one of them only")
    engine.apply([Append(note="F/a.md", content="x")])
    engine.apply([Create(note="F/A", content="[[T]] new", overwrite=True), Append(note="F/a", content="y")])
    engine.apply([Move(note="T", to="U")])
    assert (folder / "A.md").read_text() == "[[U]] new"
    assert (folder / "a.md").read_text() == "[[U]] lower\nx\ny"
    engine.undo(engine.history.newest_to_undo())
    engine.apply([Delete(note="F/a.md")])
    assert {place.name: place.read_text() for place in folder.iterdir()} == {"A.md": "[[T]] new"}
