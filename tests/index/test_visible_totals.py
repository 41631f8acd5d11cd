"""A caller who may not see everything gets from the totals what a walk through all visible files gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import pytest

from support.index import Vault
from vaultbridge.index import files, listing
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.store.database import Index, write_meta
from vaultbridge.vault.paths import FileFilter, Visible

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FOLDERS = ("", "A/", "A/B/", "Zz/", "Zz/Y/")
NAMES = (
    "one",
    "two",
    "Two",
    "three 1",
    "three 2",
    "three",
    "four (conflicted copy 2024-01-01)",
    "four",
    "five",
)

FILTERS: dict[str, Visible] = {
    "nothing": lambda path: True,
    "a folder": lambda path: not path.startswith("Zz/"),
    "some of each folder": lambda path: "three" not in path,
    "most": lambda path: path.startswith("A/B/"),
    "everything": lambda path: False,
}


def draw_text(draw: random.Random) -> str:
    properties = (
        f"---\nstatus: {draw.choice('xyz')}\n{draw.choice(['Key', 'key'])}: [1, {draw.randint(1, 3)}]\n---\n"
    )
    parts = [
        f"[[{draw.choice(FOLDERS)}{draw.choice(NAMES)}]]",
        f"[[{draw.choice(NAMES)}]]",
        f"[[missing {draw.randint(1, 3)}]] [[Missing {draw.randint(1, 3)}]]",
        f"#{draw.choice(['tag', 'Tag', 'tag/sub', 'other'])}",
        f"- [{draw.choice(' x/')}] do it {draw.choice(['', '📅 2024-01-0' + str(draw.randint(1, 4))])}",
        "\n^same\n\ntext ^same\n",
    ]
    chosen = draw.sample(parts, draw.randint(0, len(parts)))
    return (properties if draw.random() < 0.5 else "") + "\n".join(chosen) + "\n"


def ask(vault: Vault, visible: Visible, exists: Visible | None) -> dict[str, Any]:
    index, graph = vault.index, LinkGraph(vault.index, visible=visible, exists=exists)
    answers: dict[str, Any] = {
        "tags": listing.list_tags(index, visible=visible),
        "properties": listing.list_properties(index, visible=visible),
        "kinds": files.count_by_kind(index, visible=visible),
        "folders": files.count_by_folder(index, visible=visible),
        "codes": files.count_problems_by_code(index, visible=visible),
        "missing": graph.unresolved_count(),
    }
    for limit, offset in ((-1, 0), (3, 0), (2, 3)):
        page: dict[str, Any] = {"limit": limit, "offset": offset}
        answers |= {
            f"{name} {limit} {offset}": answer
            for name, answer in {
                "values": listing.list_property_values(index, "key", visible=visible, **page),
                "problems": files.list_problems(index, visible=visible, **page),
                "duplicates": files.find_duplicates(index, visible=visible, **page),
                "conflicts": files.find_conflicts(index, visible=visible, **page),
                "unresolved": graph.unresolved(**page, sources=2),
                "places": graph.unresolved_places(**page),
                "orphans": graph.orphans(**page),
                "dead ends": graph.dead_ends(**page),
                **{
                    f"tasks {status} {folder}": listing.list_tasks(
                        index,
                        visible=visible,
                        status=status,
                        path_prefix=folder,
                        limit=1000 if limit < 0 else limit,
                        offset=offset,
                    )
                    for status in ("any", "open", "done")
                    for folder in ("", "A")
                },
                **{
                    f"files {order} {folder} {kind}": files.list_files(
                        index, folder, kind=kind, order=order, visible=visible, **page
                    )
                    for order in ("path", "modified", "size")
                    for folder in ("", "A")
                    for kind in ("", "note")
                },
            }.items()
        }
    return answers


def walk(vault: Vault, visible: Visible, exists: Visible | None) -> dict[str, Any]:
    """Answers as during a first build, when there are no totals."""
    with vault.index.writing(silently=True) as db:
        write_meta(db, state="building")
    try:
        return ask(vault, visible, exists)
    finally:
        with vault.index.writing(silently=True) as db:
            write_meta(db, state="ready")


@pytest.mark.parametrize("ignored", [False, True], ids=["scope", "ignored files"])
@pytest.mark.parametrize("hidden", FILTERS)
def test_totals_equal_a_walk(make_vault: MakeVault, hidden: str, ignored: bool) -> None:
    draw = random.Random(f"{hidden} {ignored}")
    everything = [f"{folder}{name}.md" for folder in FOLDERS for name in NAMES]
    vault = make_vault({path: draw_text(draw) for path in draw.sample(everything, 25)})
    visible = FILTERS[hidden]
    exists = None if ignored else visible
    for _ in range(6):
        assert ask(vault, visible, exists) == walk(vault, visible, exists)
        for path in draw.sample(everything, 4):
            if (vault.folder / path).exists() and draw.random() < 0.4:
                vault.remove(path)
            else:
                vault.write({path: draw_text(draw)})
            vault.sync_paths(path)


class Hiding(FileFilter):
    """Hides `Zz/` and one file besides. Each query has its own filter, as in the engine."""

    def __init__(self, other: str) -> None:
        self.other = other

    def __call__(self, path: str) -> bool:
        return not path.startswith("Zz/") and path != self.other

    def list_differing(self, earlier: Visible) -> Collection[str] | None:
        return {self.other} ^ {earlier.other} if isinstance(earlier, Hiding) else None


def ask_about_links(index: Index, visible: Visible, exists: Visible | None) -> list[Any]:
    graph = LinkGraph(index, visible=visible, exists=exists)
    return [graph.unresolved(), graph.unresolved_places(), graph.orphans(), graph.dead_ends()]


@pytest.mark.parametrize("ignored", [False, True], ids=["scope", "ignored files"])
@pytest.mark.parametrize("seed", range(5))
def test_after_changes_links_are_those_that_a_new_reader_finds(
    make_vault: MakeVault, seed: int, ignored: bool
) -> None:
    draw = random.Random(seed)
    # Links name the first ones only, so that many changes make no difference to links to hidden files.
    everything = [f"{folder}{name}.md" for folder in FOLDERS for name in (*NAMES, "six", "seven", "eight")]
    shown = [path for path in everything if not path.startswith("Zz/")]
    vault = make_vault({path: draw_text(draw) for path in draw.sample(everything, 25)})
    other = "one.md"
    for _ in range(40):
        for _ in range(draw.randint(1, 2)):
            path, place = draw.sample(everything if draw.random() < 0.1 else shown, 2)
            if not (vault.folder / path).exists():
                vault.write({path: draw_text(draw)})
            elif draw.random() < 0.5:
                with (vault.folder / path).open("a") as file:
                    file.write(draw_text(draw) if draw.random() < 0.5 else "more\n")
            elif draw.random() < 0.5 and not (vault.folder / place).exists():
                (vault.folder / place).parent.mkdir(parents=True, exist_ok=True)
                (vault.folder / path).rename(vault.folder / place)
            else:
                vault.remove(path)
            vault.sync_paths(path, place)
        if draw.random() < 0.1:
            other = draw.choice(everything)
        visible = Hiding(other)
        exists = None if ignored else visible
        fresh = Index.open(vault.index.folder)
        expected = ask_about_links(fresh, visible, exists)
        fresh.close()
        assert ask_about_links(vault.index, visible, exists) == expected


def compare_with_a_new_reader(vault: Vault, visible: Visible, exists: Visible | None) -> list[Any]:
    fresh = Index.open(vault.index.folder)
    try:
        answers = ask_about_links(vault.index, visible, exists)
        assert answers == ask_about_links(fresh, visible, exists)
        return answers
    finally:
        fresh.close()


OTHERS = {f"other {number}.md": "" for number in range(9)}


def test_a_new_file_takes_the_place_of_a_hidden_one(make_vault: MakeVault) -> None:
    """The link still leads to the hidden file, whose path is shorter, so its row does not change."""
    visible = Hiding("")
    vault = make_vault({**OTHERS, "a.md": "[[one]]", "Zz/one.md": ""})
    before, *_ = compare_with_a_new_reader(vault, visible, visible)
    vault.write({"A/B/one.md": ""})
    vault.sync_paths("A/B/one.md")
    after, *_ = compare_with_a_new_reader(vault, visible, visible)
    assert (before.total, after.total) == (1, 0)


def test_a_moved_note_is_nearer_to_another_file(make_vault: MakeVault) -> None:
    """The note is the newest, so that SQLite gives its id, which is free then, to the moved one."""
    visible = Hiding("A/one.md")
    named = {"A/one.md": "", "A/B/one.md": "", "Cc/one.md": ""}
    vault = make_vault({**OTHERS, **named})
    vault.write({"A/source.md": "[[one]]"})
    vault.sync_paths("A/source.md")
    before = compare_with_a_new_reader(vault, visible, visible)[2]
    (vault.folder / "A/source.md").rename(vault.folder / "source.md")
    vault.sync_paths("A/source.md", "source.md")
    after = compare_with_a_new_reader(vault, visible, visible)[2]
    assert ("Cc/one.md" in before.rows, "A/B/one.md" in before.rows) == (True, False)
    assert ("Cc/one.md" in after.rows, "A/B/one.md" in after.rows) == (False, True)


def test_a_note_that_only_a_hidden_one_linked_to_gets_a_link_and_loses_it(make_vault: MakeVault) -> None:
    visible = Hiding("")
    vault = make_vault({**OTHERS, "target.md": "", "Zz/hidden.md": "[[target]]", "a.md": ""})
    orphan = []
    for text in ("", "[[target]]", "", "[[target]] [[target]]"):
        vault.write({"a.md": text})
        vault.sync_paths("a.md")
        orphan.append("target.md" in compare_with_a_new_reader(vault, visible, visible)[2].rows)
    assert orphan == [True, False, True, False]


def test_hidden_files_that_exist_are_told_from_those_that_do_not(make_vault: MakeVault) -> None:
    visible = Hiding("")
    vault = make_vault({**OTHERS, "a.md": "[[one]]", "Zz/one.md": "", "A/B/one.md": ""})
    for exists in (None, visible, None):
        compare_with_a_new_reader(vault, visible, exists)
