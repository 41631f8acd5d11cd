"""A denied note does not exist: no answer, refusal, notice, count or history reveals it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from support.index import another_leader
from vaultbridge.cli.notes.export import FORMATS
from vaultbridge.engine.operations import (
    AddFile,
    Append,
    Create,
    Delete,
    Move,
    RenameHeading,
    RenameTag,
    SetProperty,
    Write,
)
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, PermissionDenied, VaultbridgeError
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault, read_contents

SECRET = "Hush"
"""It is in every name and text of the hidden folder, and may be in no answer."""

VAULT: dict[str, str | bytes] = {
    "Open.md": "# Open\n\n## Part\n\nto [[Other]] #shared\n",
    "Other.md": "- [ ] open task #shared\n",
    "Private/Hush.md": "---\naliases: [Hush alias]\nHushProperty: 1\n---\n# Hush\n\n"
    "[[Open#Part]] [[Hush target]] #shared #Hush/tag\n\n- [ ] Hush task\n",
    "Private/Hush Other.md": "[[Open]] [[Other]]\n",
    "Private/Hush.canvas": '{"nodes":[{"id":"1","type":"file","file":"Open.md","x":0,"y":0,"width":1,'
    '"height":1}],"edges":[]}',
    "Private/Hush.base": "views: [\n",
}
SCOPE = Scope(deny=("Private/",))


def flatten(answer: object) -> str:
    return repr(answer)


def catch_refusal(action: Callable[[], object]) -> VaultbridgeError:
    with pytest.raises(VaultbridgeError) as caught:
        action()
    return caught.value


def test_no_query_reveals_a_hidden_note(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    queries = engine.queries
    answers = {
        "search": queries.search("open OR hush OR shared"),
        "path": queries.search("path:Private"),
        "tags": queries.tags(),
        "properties": queries.properties(),
        "values": queries.property_values("HushProperty"),
        "tasks": queries.tasks(),
        "files": queries.files(),
        "recent": queries.recent(),
        "backlinks": queries.backlinks(engine.find("Open")),
        "unresolved": queries.unresolved(),
        "orphans": queries.orphans(attachments=True),
        "dead ends": queries.dead_ends(),
        "around": queries.neighbourhood(engine.find("Open"), 3),
        "tagged": queries.notes_with_tag("shared"),
        **{name: "".join(form(engine)) for name, form in FORMATS.items()},
    }
    for question, answer in answers.items():
        assert SECRET.lower() not in flatten(answer).lower(), question
    assert queries.counts() == {"notes": 2, "canvases": 0, "bases": 0, "attachments": 0}
    assert queries.search("shared").total == 2
    assert [tag.notes for tag in queries.tags()] == [2]


@pytest.mark.parametrize(
    "name", ["Hush", "Private/Hush.md", "private/hush", "Hush alias", "Hus", "Private/Hush.canvas"]
)
def test_asking_for_a_hidden_note_is_answered_as_for_a_missing_one(make_vault: MakeVault, name: str) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    error = catch_refusal(lambda: engine.view(name))
    assert isinstance(error, NoteNotFound)
    assert str(error) == str(NoteNotFound(name))
    for operation in (Append(note=name, content="x"), Delete(note=name), Move(note=name, to="Elsewhere")):
        error = catch_refusal(lambda operation=operation: engine.apply([operation]))  # type: ignore[misc]
        assert str(error) == str(NoteNotFound(name))


def test_a_move_reveals_nothing_about_the_hidden_notes_it_rewrites(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    for dry_run in (True, False):
        outcome = engine.apply([Move(note="Open", to="Moved")], dry_run=dry_run)
        assert SECRET not in flatten(outcome), outcome
    assert b"[[Moved#Part]]" in read_contents(engine)["Private/Hush.md"]


def test_creating_deleting_and_renaming_reveal_nothing_about_hidden_notes(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    for operation in (
        RenameHeading(note="Open", heading="Part", to="Piece"),
        Create(note="Sub/Other", content=""),
        Create(note="Hush target", content=""),
        AddFile(path="Hush.png", data=b"x"),
        RenameTag(tag="shared", to="common"),
        Delete(note="Open"),
    ):
        outcome = engine.apply([operation])
        assert "Private" not in flatten(outcome), outcome
    assert b"#shared" in read_contents(engine)["Private/Hush.md"], "a hidden note's tags are not its caller's"


def test_a_name_that_only_a_hidden_note_has_stays_unknown_within_a_batch(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    error = catch_refusal(
        lambda: engine.apply([Move(note="Open", to="Moved"), Append(note="Hush", content="x")])
    )
    assert isinstance(error, NoteNotFound) and "Private" not in str(error)


def test_history_and_diffs_leave_hidden_files_out(make_vault: MakeVault) -> None:
    owner = make_vault(VAULT)
    for number in range(5):
        owner.apply([SetProperty(note="Private/Hush.md", name="n", value=number)], label="Hush change")
    both = owner.apply([Append(note="Hush Other", content="Hush"), Append(note="Open", content="seen")])
    hidden = int(owner.apply([SetProperty(note="Hush", name="n", value=9)]).change_id)
    engine = make_vault(scope=SCOPE)
    entries = engine.history.changes(limit=1)
    assert [entry.id for entry in entries] == [int(both.change_id)]
    assert [list(entry.paths) for entry in entries] == [["Open.md"]]
    assert isinstance(catch_refusal(lambda: engine.history.changes("Private/Hush.md")), NoteNotFound)
    assert engine.history.newest_to_undo() == int(both.change_id)
    assert "Hush" not in engine.history.diff(int(both.change_id)) and "+seen" in engine.history.diff(
        int(both.change_id)
    )
    unknown = catch_refusal(lambda: engine.history.diff(999))
    assert isinstance(unknown, InvalidArgument)
    assert str(catch_refusal(lambda: engine.history.diff(hidden))) == str(unknown).replace("999", str(hidden))
    assert str(catch_refusal(lambda: engine.undo(hidden))) == str(unknown).replace("999", str(hidden))


def test_the_caller_may_undo_its_own_rename_with_the_hidden_links_it_changed(make_vault: MakeVault) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    before = read_contents(engine)
    change = int(engine.apply([Move(note="Open", to="Moved")]).change_id)
    outcome = engine.undo(change)
    assert read_contents(engine) == before
    assert SECRET not in flatten(outcome)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Private/S.md", "mine [[Old]]", "mine and more [[Old]]"),
        ("Private/S.md", "mine [[Old]]", "mine [[New]] [[Old]]"),
        ("Private/S.base", "filters: file.hasLink('Old')", "filters: file.hasTag('Old')"),
        ("Private/S.base", "filters: file.hasLink('Old", "filters: file.hasLink('New"),
        ("Private/S.canvas", '{"nodes":[{"id":"1","type":"text","text":"a","x":0,"y":0}]}', '{"nodes":[]}'),
    ],
)
def test_what_the_owner_wrote_into_a_hidden_note_is_not_undone_from_elsewhere(
    make_vault: MakeVault, path: str, before: str, after: str
) -> None:
    """Not even when the same change touched a visible note."""
    owner = make_vault({path: before, "Old.md": "", "A.md": "a"})
    outcome = owner.apply([Write(note=path, content=after), Append(note="A", content="b")])
    engine = make_vault(scope=Scope(deny=("Private",)))
    catch_refusal(lambda: engine.undo(int(outcome.change_id)))
    assert read_contents(owner)[path] == after.encode()
    owner.undo(int(outcome.change_id))
    assert read_contents(owner)[path] == before.encode()


def test_links_of_all_kinds_in_hidden_files_go_back_with_a_rename(make_vault: MakeVault) -> None:
    files = {
        "Private/S.md": '---\nup: "[[Old]]"\n---\n[[Old#h|x]] ![[Old]] [Old](Old.md) text\n',
        "Private/C.canvas": '{"nodes":[{"id":"1","type":"file","file":"Old.md",'
        '"x":0,"y":0,"width":9,"height":9}]}',
        "Private/G.canvas": '{"nodes":[{"id":"1","type":"group","background":"Old.md",'
        '"x":0,"y":0,"width":9,"height":9}]}',
        "Private/B.base": 'filters: \'file.hasLink("Old") && file.name == "x"\'\nviews: []\n',
        "Private/Block.md": "text\n\n```base\nfilters: file.hasLink('Old')\n```\n",
        "Old.md": "",
    }
    engine = make_vault(files, scope=Scope(deny=("Private",)))
    before = read_contents(engine)
    outcome = engine.apply([Move(note="Old", to="New")])
    after = read_contents(engine)
    assert all(after[path] != before[path] for path in files if path in after)
    engine.undo(int(outcome.change_id))
    assert read_contents(engine) == before


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("since", "left"),
    [
        ("mine [[New]]\n\nmore\n", "mine [[Old]]\n\nmore\n"),
        ("mine [[New]]\nmore\n\n", "mine [[Old]]\nmore\n\n"),
        ("more\nmine [[New]]\n\n", "more\nmine [[Old]]\n\n"),
        ("mine [[New]]\n\n[[New]] more\n", "mine [[Old]]\n\n[[New]] more\n"),
        ("mine, written anew\n", "mine, written anew\n"),
        (None, None),
    ],
)
def test_what_was_written_since_in_a_hidden_note_stays_and_does_not_prevent_an_undo(
    make_vault: MakeVault, since: str | None, left: str | None, force: bool
) -> None:
    """Its links go back if they can; whether they did is not for the caller to know."""
    path = "Private/S.md"
    engine = make_vault({path: "mine [[Old]]\n\n", "Old.md": ""}, scope=Scope(deny=("Private",)))
    change = int(engine.apply([Move(note="Old", to="New")]).change_id)
    assert read_contents(engine)[path] == b"mine [[New]]\n\n"
    place = engine.root.folder / path
    place.unlink() if since is None else place.write_text(since)
    outcome = engine.undo(change, force=force)
    assert "Old.md" in read_contents(engine) and "Private" not in flatten(outcome)
    assert read_contents(engine).get(path) == (None if left is None else left.encode())


def test_links_in_a_hidden_note_go_back_although_another_line_with_one_was_edited(
    make_vault: MakeVault,
) -> None:
    path = "Private/S.md"
    engine = make_vault({path: "a [[Old]]\nb [[Old]]\n", "Old.md": ""}, scope=Scope(deny=("Private",)))
    change = int(engine.apply([Move(note="Old", to="New")]).change_id)
    (engine.root.folder / path).write_text("a [[New]]\nb [[New]], and more\nc\n")
    engine.undo(change)
    assert read_contents(engine)[path] == b"a [[Old]]\nb [[New]], and more\nc\n"


def test_a_change_that_created_hidden_files_cannot_be_undone_from_here(make_vault: MakeVault) -> None:
    owner = make_vault(VAULT)
    change = int(
        owner.apply([Append(note="Open", content="x"), Move(note="Hush", to="Private/Hush 2")]).change_id
    )
    engine = make_vault(scope=SCOPE)
    error = catch_refusal(lambda: engine.undo(change))
    assert isinstance(error, EditRefused) and SECRET not in str(error)
    assert "Private/Hush 2.md" in read_contents(engine)


def test_a_failing_read_of_a_hidden_note_does_not_name_it(make_vault: MakeVault) -> None:
    engine = make_vault(
        {**VAULT, "Private/Hush big.md": "[[Open]]" + " " * 5000},
        scope=Scope(deny=("Private/",), max_note_bytes=2000),
    )
    engine.apply([Move(note="Open", to="Moved")])
    assert read_contents(engine)["Private/Hush big.md"].startswith(b"[[Moved]]")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="the system has no symlinks")
def test_a_link_inside_the_vault_opens_no_hidden_folder(make_vault: MakeVault) -> None:
    engine = make_vault({**VAULT, ".obsidian/app.json": "{}"}, scope=SCOPE)
    folder = engine.root.folder
    (folder / "way").symlink_to("Private")
    (folder / "config").symlink_to(".obsidian")
    (folder / "app.md").symlink_to(".obsidian/app.json")
    (folder / "peek.md").symlink_to("Private/Hush.md")
    for name in ("way/Hush.md", "config/app.json", "app.md", "peek.md"):
        for action in (
            lambda name=name: engine.view(name),
            lambda name=name: engine.read_bytes(vault_path(name)),
            lambda name=name: engine.apply([Append(note=name, content="x")]),
        ):
            assert isinstance(catch_refusal(action), NoteNotFound | PermissionDenied), name
    assert not engine.queries.search("file:app").hits
    catch_refusal(lambda: engine.apply([Create(note="config/new", content="")]))
    catch_refusal(lambda: engine.apply([Create(note="way/new", content="")]))


def test_a_link_that_leads_to_a_hidden_namesake_for_others_leads_to_the_note_itself(
    make_vault: MakeVault,
) -> None:
    notes = {
        "Published/deep.md": "[[deep]]",
        "Published/plan.md": "[[../plan]]",
        "Published/two.md": "[[../two]] [[plan]]",
    }
    hidden = {"Private/plan.md": "", "Private/two.md": ""}
    engine = make_vault({**notes, **hidden}, scope=SCOPE)
    dead_ends = engine.queries.dead_ends()
    assert dead_ends.rows == ("Published/deep.md", "Published/plan.md")
    assert dead_ends.total == 2
    assert engine.queries.dead_ends(limit=1, offset=1).rows == ("Published/plan.md",)


def test_a_link_to_a_hidden_note_stays_hidden_when_the_index_is_rebuilt(make_vault: MakeVault) -> None:
    """Which files are such links is cached for one state of the index; a new file must not seem to belong to
    that state."""
    engine = make_vault({"A.md": "alpha", "Private/S.md": "Hush"}, scope=SCOPE)
    before = [file.path for file in engine.queries.files()]
    engine.index_sync.index.rebuild()
    (engine.root.folder / "L.md").symlink_to("Private/S.md")
    assert [file.path for file in engine.queries.files()] == before
    assert engine.queries.search("Hush").total == 0
    assert not [note for note in engine.queries.notes() if note.file.path == "L.md"]


def test_a_link_to_a_hidden_note_that_comes_in_the_middle_of_a_question_is_hidden(
    make_vault: MakeVault,
) -> None:
    engine = make_vault({"A.md": "alpha", "Private/S.md": "Hush"}, scope=SCOPE)
    exists = engine.queries.existence_filter()
    (engine.root.folder / "L.md").symlink_to("Private/S.md")
    (engine.root.folder / "M.md").symlink_to("A.md")
    engine.index_sync.refresh()
    assert [exists(path) for path in ("A.md", "L.md", "M.md", "Private/S.md")] == [True, False, True, False]


def test_a_link_to_a_hidden_note_is_not_found_by_walking_either(make_vault: MakeVault) -> None:
    """While the index is incomplete."""
    engine = make_vault({"F/A.md": "alpha", "Private/S.md": "Hush"}, scope=SCOPE)
    for folder in ("F", "G"):
        (engine.root.folder / folder).mkdir(exist_ok=True)
        (engine.root.folder / folder / "Link.md").symlink_to("../Private/S.md")
    (engine.root.folder / "G/A.md").symlink_to("../Private/S.md")
    with another_leader(engine.cache):
        with pytest.raises(NoteNotFound):
            engine.find("Link")
        assert engine.find("A") == "F/A.md"
        assert not engine.queries.status.complete


@pytest.mark.parametrize("spelled", ["private", "PRIVATE", "Private"])
def test_a_refusal_does_not_tell_how_a_hidden_folder_is_spelled(make_vault: MakeVault, spelled: str) -> None:
    engine = make_vault(VAULT, scope=SCOPE)
    for operation in (
        Create(note=f"{spelled}/x", content=""),
        AddFile(path=f"{spelled}/x.png", data=b"x"),
        Move(note="Open", to=f"{spelled}/x"),
    ):
        error = catch_refusal(lambda operation=operation: engine.apply([operation]))  # type: ignore[misc]
        assert isinstance(error, PermissionDenied) and f"{error}".startswith(f"{spelled}/x.")


@pytest.mark.parametrize("deny", [(), ("Private/",)], ids=["visible", "hidden"])
def test_a_linking_note_that_was_just_deleted_does_not_prevent_a_change(
    make_vault: MakeVault, deny: tuple[str, ...]
) -> None:
    """Another program has deleted it, and the index does not know yet."""
    files = {
        "Private/Hush.md": "[[deep]] [[Plan]]",
        "Pub/deep.md": "",
        "Plan.md": "",
        "Private/Hush.base": "",
    }
    engine = make_vault(files, scope=Scope(deny=deny))
    assert engine.queries.counts()["notes"] == 3 - len(deny)
    with another_leader(engine.cache, watches=True):
        for path in ("Private/Hush.md", "Private/Hush.base"):
            (engine.root.folder / path).unlink()
        outcome = engine.apply([Create(note="deep", content="")])
    assert [file.path for file in outcome.files] == ["deep.md"]


def test_a_change_waits_for_a_hidden_note_that_is_being_saved(make_vault: MakeVault) -> None:
    """As it waits for a visible one. If it were refused at once, that would reveal that there is such a note.
    A note that was emptied a moment ago may be half saved."""
    files = {"Private/Hush.md": "[[deep]]", "Pub/deep.md": ""}
    engine = make_vault(files, scope=Scope(deny=("Private/",)))
    engine.index_sync.refresh()
    with another_leader(engine.cache, watches=True):
        (engine.root.folder / "Private/Hush.md").write_bytes(b"")
        outcome = engine.apply([Create(note="deep", content="")])
    assert [file.path for file in outcome.files] == ["deep.md"]
