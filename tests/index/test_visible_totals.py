"""A caller who may not see everything gets from the totals what a walk through all visible files gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from support.index import Vault
from vaultbridge.index import files, listing
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.store.database import write_meta
from vaultbridge.vault.paths import Visible

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
