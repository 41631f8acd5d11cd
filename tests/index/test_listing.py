"""Lists over a vault: counts are exact and leave out what is hidden."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from support.index import Vault
from vaultbridge.index import listing
from vaultbridge.index.fold import fold_text

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FILES: dict[str, str | bytes] = {
    "a.md": "---\ntags: [Work/Plan, idea]\nStatus: active\nrating: 3\nlinks: [x, y, x]\n---\n"
    "#work/plan #idea\n"
    "- [ ] write report 📅 2024-05-02 #errand\n- [x] call Zoé\n",
    "b.md": "---\nstatus: Active\nrating: high\nflag: true\nnone:\nwhen: 2024-01-02\n---\n"
    "#work\n- [ ] buy milk\n",
    "folder/c.md": "#work/planning\n- [/] half done 📅 2024-04-01\n> - [ ] quoted #errand/home\n",
    "secret/d.md": "---\nstatus: hidden\n---\n#work #ghost\n- [ ] spy\n",
    "pic.png": b"",
}


def test_parent_tags_count_the_notes_of_nested_tags(make_vault: MakeVault) -> None:
    found = [
        (tag.name, tag.notes, tag.occurrences)
        for tag in listing.list_tags(make_vault(FILES).limit("secret/"))
    ]
    assert found == [
        ("errand", 2, 2),
        ("errand/home", 1, 1),
        ("idea", 1, 2),
        ("work", 3, 4),
        ("Work/Plan", 1, 2),
        ("work/planning", 1, 1),
    ]


def test_notes_with_a_tag_include_those_with_a_nested_tag(make_vault: MakeVault) -> None:
    index = make_vault(FILES).limit("secret/")
    assert listing.list_notes_with_tag(index, "#WORK") == ["a.md", "b.md", "folder/c.md"]
    assert listing.list_notes_with_tag(index, "work/plan") == ["a.md"]
    assert listing.list_notes_with_tag(index, "wor") == []


def test_properties_are_listed_with_their_types_and_values(make_vault: MakeVault) -> None:
    found = {
        property_.name: property_ for property_ in listing.list_properties(make_vault(FILES).limit("secret/"))
    }
    assert set(found) == {"Status", "rating", "links", "flag", "none", "when", "tags"}
    assert found["Status"].notes == 2
    assert found["Status"].values == {"Active": 1, "active": 1}
    assert found["rating"].types == {"number": 1, "text": 1}
    assert found["links"].values == {"x": 1, "y": 1}
    assert {name: list(found[name].types) for name in ("flag", "none", "when", "tags")} == {
        "flag": ["checkbox"],
        "none": ["null"],
        "when": ["date"],
        "tags": ["list"],
    }


def test_values_of_a_property_are_listed_by_path_ignoring_case(make_vault: MakeVault) -> None:
    found = listing.list_property_values(make_vault(FILES).limit("secret/"), "STATUS").rows
    assert [(holder.path, holder.name, holder.value) for holder in found] == [
        ("a.md", "Status", "active"),
        ("b.md", "status", "Active"),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["half done", "write report", "call Zoé", "buy milk", "quoted"]),
        ({"status": "open"}, ["write report", "buy milk", "quoted"]),
        ({"status": "done"}, ["half done", "call Zoé"]),
        ({"status": "/"}, ["half done"]),
        ({"due_before": "2024-05-01"}, ["half done"]),
        ({"due_after": "2024-04-01"}, ["write report"]),
        ({"text": "zoe"}, ["call Zoé"]),
        ({"tag": "#errand"}, ["write report", "quoted"]),
        ({"path_prefix": "folder/"}, ["half done", "quoted"]),
        ({"path_prefix": "a.md", "status": "open"}, ["write report"]),
        ({"limit": 2, "offset": 1}, ["write report", "call Zoé"]),
    ],
)
def test_tasks_are_filtered_by_every_argument(
    make_vault: MakeVault, arguments: dict[str, str], expected: list[str]
) -> None:
    page = listing.list_tasks(make_vault(FILES).limit("secret/"), **arguments)  # type: ignore[arg-type]
    found = [task.description.split(" #")[0].strip() for task in page.tasks]
    assert found == expected
    assert page.total == (5 if "limit" in arguments else len(expected))


def test_a_task_has_its_path_line_and_fields(make_vault: MakeVault) -> None:
    (task,) = listing.list_tasks(make_vault(FILES).index, text="write report").tasks
    assert (task.path, task.line, task.status, task.done) == ("a.md", 8, " ", False)
    assert task.fields["due"] == "2024-05-02"


def test_recent_files_are_the_newest_of_the_requested_kinds(make_vault: MakeVault) -> None:
    vault = make_vault(FILES)
    for age, path in enumerate(["b.md", "secret/d.md", "pic.png", "folder/c.md", "a.md"]):
        os.utime(vault.folder / path, ns=(10**18 - age * 10**9,) * 2)
    vault.sync_all()
    found = [file.path for file in listing.list_recent(vault.limit("secret/"), limit=2)]
    assert found == ["b.md", "folder/c.md"]
    assert [file.path for file in listing.list_recent(vault.index, kinds=("attachment",))] == ["pic.png"]


WORDS = """
water Water wáter WAT ter under-water the x [[Link|shown]] a_b%c \\ #tag #tag/sub
Straße STRASSE ΣΊΣΥΦΟΣ σίσυφος İstanbul ﬁne ２０２４ naïve nai\u0308ve na\u0131ve co\u00adop ᄒ\u200dᅡ
北京大学 東京 ガラス ｶﾞﾗｽ 오늘은 한 ภาษาไทย שָׁלוֹם كِتَاب हिन्दी ᏣᎳᎩ ꮳꮃꭹ 🎉 👩\u200d💻 ⏫
"""
PIECES = (*WORDS.split(), "🗓\ufe0f 2024-01-02", "📅 2024-01-01", "\u00a0")


def draw_task(draw: random.Random) -> str:
    between = ("", " ", " ", "-", ", ")
    words = "".join(draw.choice(PIECES) + draw.choice(between) for _ in range(draw.randint(1, 5)))
    due = draw.choice(["", f" 📅 2024-05-0{draw.randint(1, 9)}"])
    return f"- [{draw.choice(' x')}] {words}{due}"


def draw_part(draw: random.Random, text: str) -> str:
    start = draw.randrange(len(text) + 1)
    part = text[start : start + draw.choice((0, 1, 1, 2, 3, 5, 9, 30))]
    return draw.choice((part, part, part.upper(), part.lower(), fold_text(part)))


@pytest.mark.parametrize("seed", range(6))
def test_tasks_are_found_by_any_part_of_their_text(make_vault: MakeVault, seed: int) -> None:
    """The word index leaves notes out, which must not leave a task out."""
    draw = random.Random(seed)
    vault = make_vault(
        {
            f"{folder}{number}.md": "\n".join(draw_task(draw) for _ in range(4))
            for folder in ("", "secret/")
            for number in range(12)
        }
    )
    everything = listing.list_tasks(vault.limit("secret/"), limit=1000).tasks
    texts = [task.text for task in listing.list_tasks(vault.index, limit=1000).tasks]
    limited = vault.limit("secret/")
    for _ in range(250):
        part = draw_part(draw, draw.choice(texts))
        expected = tuple(task for task in everything if fold_text(part) in fold_text(task.text))
        found = listing.list_tasks(limited, text=part, limit=1000)
        assert (found.tasks, found.total) == (expected, len(expected)), repr(part)
        page = listing.list_tasks(limited, text=part, limit=3, offset=2)
        assert (page.tasks, page.total) == (expected[2:5], len(expected)), repr(part)


def test_a_text_is_sought_within_a_folder_and_together_with_a_tag(make_vault: MakeVault) -> None:
    index = make_vault(FILES).index
    assert listing.list_tasks(index, text="one", path_prefix="folder").total == 1
    assert listing.list_tasks(index, text="one", path_prefix="secret").total == 0
    assert listing.list_tasks(index, text="port", tag="errand").total == 1
    assert listing.list_tasks(index, text="milk", tag="errand").total == 0
