"""The twenty requests: what a person asks, and how the vault or the answer shows that it was done."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tasks.vault import (
    ABOUT_ATLAS,
    BEST,
    BOOKS,
    DECISION,
    DONE,
    EXPORTED,
    FILES,
    LAST_WEEK,
    LINKING,
    MENTIONING,
    MET_ADA,
    PICTURE,
    RECENT,
    RENAMED_TAG,
    REPLACED,
    ROUTES,
    TODAY,
    UNTAGGED,
    is_untouched,
    original,
    read,
)

Check = Callable[[Path, str], bool]


@dataclass(frozen=True)
class Request:
    """`check` gets the vault's folder and the answer for the person."""

    name: str
    asked: str
    check: Check


LINK_TO_COMPASS = re.compile(r"\[\[(Projects/)?Compass\]\]|\((|Projects/|\.\./Projects/)Compass\.md\)")


def without_properties(text: str) -> str:
    return text.removeprefix("---\n").partition("---\n")[2]


def is_added_today(folder: Path, _: str) -> bool:
    path = f"Daily/{TODAY}.md"
    wanted = without_properties(original(path)) + "- [ ] call the mason\n"
    # Some servers write the properties anew, which changes their layout and not their values.
    return without_properties(read(folder, path)) == wanted and is_untouched(folder, path)


def is_renamed(folder: Path, _: str) -> bool:
    notes = [f"Maps/{name}.md" for name in ABOUT_ATLAS]
    texts = [read(folder, path) for path in notes]
    return (
        "The map of the valley." in read(folder, "Projects/Compass.md")
        and not (folder / "Projects/Atlas.md").exists()
        and all(
            re.search(r"\[\[(Projects/)?Compass\]\]|\((|Projects/|\.\./Projects/)Compass\.md\)", text)
            for text in texts
        )
        and is_untouched(folder, "Projects/Atlas.md", *notes)
    )


def is_archived(folder: Path, _: str) -> bool:
    return all(
        read(folder, f"Archive/{name}.md") == original(f"Inbox/{name}.md") for name in DONE
    ) and is_untouched(folder, *(f"Inbox/{name}.md" for name in DONE))


def is_merged(folder: Path, _: str) -> bool:
    notes = [f"Visits/{name}.md" for name in MET_ADA]
    merged = read(folder, "People/Ada Lund.md")
    return (
        not (folder / "People/Ada.md").exists()
        and "Ada keeps the bees." in merged
        and "Met at the market." in merged
        and "phone: 1234" in merged
        and all("[[Ada Lund" in read(folder, path) for path in notes)
        and is_untouched(folder, "People/Ada.md", "People/Ada Lund.md", *notes)
    )


def names_only(told: str, wanted: Collection[str], *, asked: str = "") -> bool:
    """Whether exactly the wanted notes are named, besides the one that was asked about. Daily notes are not
    looked for: their names are dates."""
    names = {Path(path).stem for path in FILES if path.endswith(".md") and not path.startswith("Daily/")}
    return {name for name in names if name in told} - {asked} == {*wanted}


def is_best_table(_: Path, told: str) -> bool:
    """The wanted books with their authors and no other; an assistant can turn that into a table."""
    return names_only(told, BEST) and all(BOOKS[title][0] in told for title in BEST)


def has_last_week(_: Path, told: str) -> bool:
    return all(f"{day:%A}: walked {day.day} km" in told for day in LAST_WEEK) and "water the beds" not in told


def is_exported(_: Path, told: str) -> bool:
    return names_only(told, EXPORTED) and all(f"All about the {name}." in told for name in EXPORTED)


def is_picture_shown(folder: Path, _: str) -> bool:
    text = read(folder, "Projects/House.md")
    stored = [path for path in folder.rglob("*.png") if path.read_bytes() == PICTURE]
    return (
        len(stored) == 1
        and bool(re.search(rf"!\[\[[^\]]*{stored[0].stem}|!\[[^\]]*\]\([^)]*{stored[0].stem}", text))
        and is_untouched(folder, "Projects/House.md")
    )


def is_made_from_template(folder: Path, _: str) -> bool:
    text = read(folder, "Meetings/Roof.md")
    return "# Roof" in text and "## Decided" in text and "meeting" in text and is_untouched(folder)


def is_under_heading(folder: Path, _: str) -> bool:
    path = "Projects/House.md"
    wanted = original(path).replace("- roof repaired\n", "- roof repaired\n- fence painted\n")
    return read(folder, path) == wanted and is_untouched(folder, path)


def is_replaced(folder: Path, _: str) -> bool:
    paths = [f"Contracts/{name}.md" for name in REPLACED]
    return all(
        read(folder, path) == original(path).replace("Acme Corp", "Acme Inc") for path in paths
    ) and is_untouched(folder, *paths)


def is_linked(folder: Path, _: str) -> bool:
    paths = [f"Workshop/{name}.md" for name in MENTIONING]
    return all(
        read(folder, path) == original(path).replace("Solar kiln", "[[Solar kiln]]") for path in paths
    ) and is_untouched(folder, *paths)


def is_ticked(folder: Path, _: str) -> bool:
    path = "Home/Bills.md"
    wanted = original(path).replace("- [ ] pay the rent", "- [x] pay the rent")
    # A date of completion may follow.
    return read(folder, path).replace(f" ✅ {TODAY}", "") == wanted and is_untouched(folder, path)


def is_tag_renamed(folder: Path, _: str) -> bool:
    paths = [f"Recipes/{name}.md" for name in RENAMED_TAG]
    texts = [read(folder, path) for path in paths]
    return all("kitchen" in text and "cooking" not in text for text in texts) and is_untouched(folder, *paths)


def is_extracted(folder: Path, _: str) -> bool:
    made = [path.read_text("utf-8") for path in folder.rglob("Routes.md")]
    left = read(folder, "Projects/Mountain hut.md")
    return (
        len(made) == 1
        and ROUTES in made[0]
        and ROUTES not in left
        and "[[Routes" in left
        and "## Stove" in left
        and is_untouched(folder, "Projects/Mountain hut.md")
    )


REQUESTS = (
    Request("decide", "What did we decide about syncing, and why?", lambda _, told: DECISION in told),
    Request("task today", "Add a task to today's note: call the mason", is_added_today),
    Request("rename project", "Rename the project Atlas to Compass", is_renamed),
    Request("move by tag", "Move everything tagged done into Archive", is_archived),
    Request("merge", "Ada and Ada Lund are one person: merge them", is_merged),
    Request("table", "A table of my books rated 4 or better, with authors", is_best_table),
    Request("last week", "What did I write in my daily notes last week?", has_last_week),
    Request("untagged", "Which notes have no tags?", lambda _, told: names_only(told, UNTAGGED)),
    Request("insert image", "Put this picture at the end of House", is_picture_shown),
    Request("undo", "Undo that", lambda folder, _: is_untouched(folder)),
    Request("from template", "Create Meetings/Roof from the meeting template", is_made_from_template),
    Request("append", "Add '- fence painted' under Log in House", is_under_heading),
    Request("replace in 12", "Acme Corp is called Acme Inc now: change it everywhere", is_replaced),
    Request("link mentions", "Link every mention of Solar kiln", is_linked),
    Request(
        "backlinks",
        "Which notes link to Harbour?",
        lambda _, told: names_only(told, LINKING, asked="Harbour"),
    ),
    Request(
        "export",
        "Give me the text of the three kiln notes in Workshop, to send it to somebody",
        is_exported,
    ),
    Request("tick due task", "I have done what was due today: tick it", is_ticked),
    Request("rename tag", "Rename the tag cooking to kitchen", is_tag_renamed),
    Request(
        "extract section",
        "Make the section Routes of Mountain hut a note of its own, with a link to it",
        is_extracted,
    ),
    Request(
        "recent notes",
        "What have I changed since yesterday?",
        lambda _, told: names_only(told, RECENT),
    ),
)
