"""What the app ignores is in no view, and the index is the same whenever its filters became known."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from support.index import Vault, dump
from vaultbridge.index import files, listing
from vaultbridge.index.graph import find_notes_with_bases
from vaultbridge.index.ignored import mark_ignored
from vaultbridge.index.names import NameLookup, NameMatch
from vaultbridge.index.query.search import search
from vaultbridge.index.ranking.rank import rank
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.settings import IgnoreFilters

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FOLDERS = ("", "A/", "A/B/", "Zz/")
NAMES = ("one", "Two", "three", "four")
FILTERS = ("A/", "Zz/", "/four/", "A/B/two.md")


def draw_text(draw: random.Random) -> str:
    parts = [
        f"[[{draw.choice(FOLDERS)}{draw.choice(NAMES)}]] [[{draw.choice(NAMES)}]]",
        f"[[missing {draw.randint(1, 3)}]] ![[picture.png]]",
        f"#{draw.choice(['tag', 'Tag', 'tag/sub'])} wörd{draw.randint(1, 9)} stone",
        f"- [{draw.choice(' x/')}] do it {draw.choice(['', '📅 2024-01-0' + str(draw.randint(1, 4))])}",
        "text ^same\n\ntext ^same",
    ]
    chosen = draw.sample(parts, draw.randint(0, len(parts)))
    return ("---\nstatus: x\naliases: [Alias]\n---\n" if draw.random() < 0.3 else "") + "\n".join(chosen)


def change(vault: Vault, draw: random.Random) -> None:
    path = f"{draw.choice(FOLDERS)}{draw.choice(NAMES)}.{draw.choice(['md', 'md', 'md', 'png'])}"
    if (vault.folder / path).exists() and draw.random() < 0.4:
        vault.remove(path)
    else:
        vault.write({path: draw_text(draw)})
    vault.sync_paths(path)


@pytest.mark.parametrize("seed", range(6))
def test_marked_again_equals_built_with_these_filters(make_vault: MakeVault, seed: int) -> None:
    draw = random.Random(seed)
    vault = make_vault({"one.md": "[[four]]"})
    for _ in range(12):
        for _ in range(draw.randint(0, 4)):
            change(vault, draw)
        vault.ignore(*draw.sample(FILTERS, draw.randint(0, 2)))
        assert vault.dump() == vault.rebuild()


@pytest.mark.parametrize("seed", range(4))
def test_views_are_those_of_a_vault_without_the_ignored_files(make_vault: MakeVault, seed: int) -> None:
    draw = random.Random(seed)
    vault = make_vault({"one.md": ""})
    for _ in range(40):
        change(vault, draw)
    filters = draw.sample(FILTERS, 2)
    vault.ignore(*filters)
    # Denied to a caller, a file is in nothing at all.
    ignored = IgnoreFilters(tuple(filters))
    paths = [file.path for file in files.list_files(vault.index).rows]
    without = vault.limit(*(f"/{path}" for path in paths if ignored.match(path)))
    questions: dict[str, Callable[[Index], Any]] = {
        "tags": listing.list_tags,
        "properties": listing.list_properties,
        "values": lambda index: listing.list_property_values(index, "status"),
        "tasks": listing.list_tasks,
        "rank": lambda index: [(note.path, note.score) for note in rank(index, "stone do").notes],
        **{
            query: lambda index, query=query: [  # type: ignore[misc]
                (hit.path, hit.score) for hit in search(index, query).hits
            ]
            for query in ("stone", "-stone", "path:a", "tag:tag", "[status]", "task:do", "/d[oi]/", "wö")
        },
    }
    for name, ask in questions.items():
        assert ask(vault.index) == ask(without), name


def test_an_ignored_note_exists(make_vault: MakeVault) -> None:
    vault = make_vault(
        {
            "a.md": "[[Résumé old]]",
            "Old/Résumé-old.md": "---\naliases: [Other]\n---\n#Work/x\n```base\nviews: []\n```\n^b\n\nx ^b\n",
        }
    )
    vault.ignore("Old/")
    names = NameLookup(vault.index)
    for name in ("Résumé-old", "other", "resume old"):
        found = names.find(name)
        assert isinstance(found, NameMatch) and found.path == "Old/Résumé-old.md", name
    assert listing.list_notes_with_tag(vault.index, "work") == ["Old/Résumé-old.md"]
    assert listing.list_tags(vault.index) == []
    assert find_notes_with_bases(vault.index) == ["Old/Résumé-old.md"]
    assert files.list_problems(vault.index).total == 1
    assert files.list_files(vault.index).total == 2


def test_the_filters_are_known_before_a_first_build(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "text", "Old/b.md": "text"})
    vault.ignore("Old/")
    vault.index.rebuild()
    mark_ignored(vault.index, IgnoreFilters(("Old/",)))
    vault.sync_all()
    assert search(vault.index, "text").total == 1
    assert vault.dump() == vault.rebuild()


def test_an_edit_of_an_ignored_note_leaves_it_ignored(make_vault: MakeVault) -> None:
    vault = make_vault({"Old/b.md": "one [[a]] #tag", "a.md": "x"})
    vault.ignore("Old/")
    vault.write({"Old/b.md": "one [[a renamed]] #tag two"})
    (vault.folder / "a.md").rename(vault.folder / "a renamed.md")
    vault.sync_all()
    assert vault.dump() == vault.rebuild()
    assert search(vault.index, "one").total == 0
    vault.ignore()
    assert search(vault.index, "one two").total == 1
    assert vault.dump() == vault.rebuild()


def test_two_processes_that_learn_of_other_filters_mark_together(make_vault: MakeVault) -> None:
    vault = make_vault({f"{folder}{number}.md": "text #t" for folder in ("Old/", "") for number in range(30)})
    other = Index.open(vault.cache)
    mark_ignored(other, IgnoreFilters(("Old/",)))
    vault.write({"Old/new.md": "text"})
    Synchronizer(vault.root, vault.index).sync_all()
    vault.ignore("Old/")
    assert dump(other) == vault.rebuild()
    other.close()
