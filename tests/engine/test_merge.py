"""One note merged into another: no text is lost, every link follows, and undoing brings all of it back."""

from __future__ import annotations

import random

import pytest

from engine.conftest import MakeVault, read_contents
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Merge, Move
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope


def merge(engine: DirectEngine, note: str, to: str, **options: str) -> tuple[str, ...]:
    return engine.apply([Merge(note=note, to=to, **options)]).notices


def read_text(engine: DirectEngine, path: str) -> str:
    return (engine.root.folder / path).read_bytes().decode()


def test_text_properties_and_links_follow(make_vault: MakeVault) -> None:
    engine = make_vault(
        {
            "Old.md": "---\ntags: [a, b]\nrank: 1\nstate: open\n---\n\n# Plan\nsee [[#Plan]] and [[Other]]\n",
            "New.md": "---\ntags: [b, c]\nrank: 2\n---\nFirst.",
            "Other.md": "[[Old]], [[Old#Plan|the plan]], ![[Old]], [text](Old.md) and [Old](Old.md#Plan)\n",
            "Board.canvas": (
                '{"nodes":[{"id":"1","type":"file","file":"Old.md","x":0,"y":0,"width":1,"height":1}]}'
            ),
            "All.base": 'filters: file.hasLink("Old")\n',
        }
    )
    before = read_contents(engine)
    outcome = engine.apply([Merge(note="Old", to="New")])
    assert read_text(engine, "New.md") == (
        "---\ntags: [b, c, a]\nrank: 2\nstate: open\n---\nFirst.\n\n# Plan\nsee [[#Plan]] and [[Other]]\n"
    )
    assert read_text(engine, "Other.md") == (
        "[[New]], [[New#Plan|the plan]], ![[New]], [text](New.md) and [New](New.md#Plan)\n"
    )
    assert '"file":"New.md"' in read_text(engine, "Board.canvas")
    assert 'hasLink("New")' in read_text(engine, "All.base")
    assert not (engine.root.folder / "Old.md").exists()
    engine.undo(int(outcome.change_id))
    assert read_contents(engine) == before


def test_links_of_the_merged_note_keep_their_meaning_elsewhere(make_vault: MakeVault) -> None:
    engine = make_vault(
        {
            "A/Old.md": "[x](Near.md) [[Near]] [[../B/New]] [[Old]]\n",
            "A/Near.md": "",
            "B/Near.md": "",
            "B/New.md": "text\n",
        }
    )
    merge(engine, "A/Old", "B/New")
    outgoing = engine.queries.outgoing(engine.find("B/New.md"))
    assert [link.resolved for link in outgoing] == ["A/Near.md", "A/Near.md", "B/New.md", "B/New.md"]


def test_duplicates_of_merged_notes_are_reported(make_vault: MakeVault) -> None:
    engine = make_vault(
        {"A.md": "# Log\na ^x1\n\n[^1]\n\n[^1]: n\n", "B.md": "# Log\nb ^X1\n\n[^1]\n\n[^1]: m\n![[A]]\n"}
    )
    assert merge(engine, "A", "B") == (
        "Both notes have the block ^x1, the footnote [^1], the heading 'log': links lead to the first one.",
        "B.md:7 embeds the note in itself now: ![[B]]",
    )


def test_paragraphs_stay_apart_and_line_ends_are_those_of_the_target(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "one\ntwo\n", "B.md": "zero\r\n", "C.md": "", "D.md": "x"})
    merge(engine, "A", "B")
    assert read_text(engine, "B.md") == "zero\r\n\r\none\r\ntwo\r\n"
    merge(engine, "C", "B")
    assert read_text(engine, "B.md") == "zero\r\n\r\none\r\ntwo\r\n"
    merge(engine, "B", "D")
    assert read_text(engine, "D.md") == "x\n\nzero\none\ntwo\n".replace("zero\n", "zero\n\n")


def test_what_cannot_be_merged_is_refused(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "x", "B.md": "---\na: [\n---\n", "C.canvas": "{}"})
    before = read_contents(engine)
    with pytest.raises(InvalidArgument, match="into itself"):
        merge(engine, "A", "a")
    with pytest.raises(EditRefused, match=r"properties of B\.md cannot be read"):
        merge(engine, "A", "B")
    with pytest.raises(EditRefused, match="not a note"):
        merge(engine, "A", "C.canvas")
    with pytest.raises(NoteNotFound):
        merge(engine, "A", "Nowhere")
    with pytest.raises(StaleWrite):
        merge(engine, "A", "B", expected="0" * 16)
    assert read_contents(engine) == before


def test_a_merge_works_beside_other_operations_of_a_batch(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "a\n", "B.md": "b\n", "L.md": "[[A]] [[B]]"})
    engine.apply(
        [
            Append(note="A", content="more"),
            Move(note="B", to="Sub/"),
            Merge(note="A", to="B"),
            Append(note="B", content="end"),
        ]
    )
    assert read_text(engine, "Sub/B.md") == "b\n\na\nmore\nend\n"
    assert read_text(engine, "L.md") == "[[B]] [[B]]"


def test_hidden_notes_follow_and_stay_hidden(make_vault: MakeVault) -> None:
    make_vault({"A.md": "a", "B.md": "b", "Secret/S.md": "[[A]]"})
    engine = make_vault(scope=Scope(deny=("Secret/",)))
    outcome = engine.apply([Merge(note="A", to="B")])
    assert {file.path for file in outcome.files} == {"A.md", "B.md"}
    assert read_text(engine, "Secret/S.md") == "[[B]]"
    with pytest.raises(NoteNotFound):
        merge(engine, "B", "Secret/S")


@pytest.mark.parametrize("seed", range(8))
def test_every_link_leads_where_it_did(make_vault: MakeVault, seed: int) -> None:
    """In a drawn vault, each link leads where it did, or to the target if it led to the source."""
    rng = random.Random(seed)
    folders = ["", "A/", "A/B/", "C/"]
    paths = [f"{rng.choice(folders)}{name}.md" for name in ("N", "M", "Ä b", "x.y", "N", "Q")]
    paths = list(dict.fromkeys(paths))
    files: dict[str, str | bytes] = {}
    for path in paths:
        links = []
        for _ in range(6):
            to = rng.choice(paths)
            name = to.rpartition("/")[2].removesuffix(".md")
            whole = to.removesuffix(".md")
            links.append(
                rng.choice(
                    (f"[[{name}]]", f"[[{whole}|t]]", f"![[{name}#H]]", f"[t](<{to}>)", f"[[/{whole}]]")
                )
            )
        files[path] = "# H\n" + "\n".join(links) + rng.choice(("", "\n"))
    engine = make_vault(files)
    source, target = rng.sample(paths, 2)
    before = read_contents(engine)

    def resolve_leads() -> dict[str, list[str | None]]:
        return {note.file.path: list(note.resolved) for note in engine.queries.notes()}

    old = resolve_leads()
    outcome = engine.apply([Merge(note=source, to=target)])
    new = resolve_leads()
    follow = {path: [target if to == source else to for to in found] for path, found in old.items()}
    own = follow.pop(source)
    follow[target] = follow[target] + own
    assert new == follow
    engine.undo(int(outcome.change_id))
    assert read_contents(engine) == before
