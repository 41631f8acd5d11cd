"""The vault that the twenty requests are about, and what of it must be there afterwards.

A few hundred notes, because what a listing costs grows with the vault. The dates are relative to the day of
the run: servers know only the real clock.
"""

from __future__ import annotations

import base64
import os
import time
from datetime import date, datetime, timedelta
from pathlib import Path

TOPICS = 300
"""Notes that no request is about. They are tagged, old, and long enough that reading one costs something."""

OLD_DAYS = 90
"""How long ago everything was changed that was not changed lately."""

TODAY = date.today()
MONDAY = TODAY - timedelta(days=TODAY.weekday() + 7)
LAST_WEEK = tuple(MONDAY + timedelta(days=day) for day in range(7))

SINCE = datetime.combine(TODAY - timedelta(days=1), datetime.min.time()).timestamp()
"""When yesterday began."""

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

DECISION = "We sync with Git, because two people edit at once and a conflict must be visible."
ROUTES = "Take the ridge when it is dry, the valley road when it rains."
CHANGED_ROUTES = "Take the train."
"""What a person lets the assistant write instead, before "undo that"."""
DONE = ("Buy a ladder", "Call the roofer", "Paint the fence", "Sell the bike", "Sort the seeds")
UNTAGGED = ("Books to lend", "Broken lamp", "Garage shelves", "Gift ideas", "Phone numbers", "Wine list")
RECENT = ("Budget", "Garden plan", "Packing list", "Tax letter")
MENTIONING = ("Drying boards", "Heat storage", "Workshop layout")
EXPORTED = ("Kiln diary", "Kiln parts", "Kiln permit")
BOOKS = {
    "Dune": ("Herbert", 5), "Emma": ("Austen", 4), "Ulysses": ("Joyce", 2), "Middlemarch": ("Eliot", 5),
    "Walden": ("Thoreau", 3), "Dracula": ("Stoker", 4), "Persuasion": ("Austen", 4), "Kim": ("Kipling", 3),
}  # fmt: skip
BEST = tuple(title for title, (_, rating) in BOOKS.items() if rating >= 4)
REPLACED = tuple(f"Contract {number:02}" for number in range(12))
LINKING = tuple(f"Trip {number}" for number in range(6))
RENAMED_TAG = tuple(f"Recipe {number}" for number in range(8))
ABOUT_ATLAS = tuple(f"Map {number}" for number in range(5))
MET_ADA = tuple(f"Visit {number}" for number in range(5))

SPEECH = "The roof was leaking, the fence had blown down and nobody had an answer yet, so we went on. "


def make_files() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        ".obsidian/app.json": '{"attachmentFolderPath": "Pictures"}',
        ".obsidian/daily-notes.json": '{"folder": "Daily"}',
        ".obsidian/templates.json": '{"folder": "Templates"}',
        "Templates/Meeting Template.md": "---\ntags: [meeting]\n---\n# {{title}}\n\n## Decided\n",
        f"Daily/{TODAY}.md": "---\ntags: [daily]\n---\n# Today\n\n## Tasks\n\n- [ ] water the beds\n",
        "Meetings/Sync.md": (
            f"---\ntags: [meeting]\n---\n# Sync\n\n{SPEECH * 3}\n\n## Options\n\n{SPEECH * 4}\n\n"
            f"## Decision\n\n{DECISION}\n"
        ),
        "Meetings/Fence.md": f"---\ntags: [meeting]\n---\n# Fence\n\n{SPEECH * 5}\n",
        "Projects/Atlas.md": "---\ntags: [project]\n---\n# Atlas\n\nThe map of the valley.\n",
        "People/Ada.md": "---\ntags: [person]\n---\nAda keeps the bees.\n",
        "People/Ada Lund.md": "---\ntags: [person]\nphone: 1234\n---\nMet at the market.\n",
        "Projects/Solar kiln.md": "---\ntags: [project]\n---\nDries wood with the sun.\n",
        "Projects/House.md": (
            f"---\ntags: [project]\n---\n# House\n\n## Rooms\n\n{SPEECH * 4}\n\n## Log\n\n- roof repaired\n\n"
            f"## Later\n\n{SPEECH * 4}\n"
        ),
        "Projects/Mountain hut.md": (
            f"---\ntags: [project]\n---\n# Mountain hut\n\n{SPEECH * 3}\n\n## Routes\n\n{ROUTES}\n\n"
            f"## Stove\n\n{SPEECH * 3}\n"
        ),
        "Projects/Harbour.md": f"---\ntags: [project]\n---\n# Harbour\n\n## State\n\n{SPEECH * 2}\n",
        "Home/Bills.md": (
            "---\ntags: [home]\n---\n- [ ] pay the rent 📅 " + f"{TODAY}\n- [ ] renew the insurance 📅 "
            f"{TODAY + timedelta(days=20)}\n- [x] pay the water 📅 {TODAY - timedelta(days=20)}\n"
        ),
    }
    for day in LAST_WEEK:
        files[f"Daily/{day}.md"] = f"---\ntags: [daily]\n---\n- {day:%A}: walked {day.day} km\n"
    for number, name in enumerate(DONE):
        files[f"Inbox/{name}.md"] = f"---\ntags: [done]\n---\n{name}, number {number}.\n"
    for name in ("Clean the gutters", "Fix the gate"):
        files[f"Inbox/{name}.md"] = f"---\ntags: [open]\n---\n{name}.\n"
    for name in UNTAGGED:
        files[f"Home/{name}.md"] = f"{name}: see the drawer.\n"
    for name in RECENT:
        files[f"Home/{name}.md"] = f"---\ntags: [home]\n---\n{name}, as of now.\n"
    for name in MENTIONING:
        files[f"Workshop/{name}.md"] = f"---\ntags: [workshop]\n---\n{name} for the Solar kiln we build.\n"
    for name in EXPORTED:
        files[f"Workshop/{name}.md"] = f"---\ntags: [workshop]\n---\n# {name}\n\nAll about the {name}.\n"
    for title, (author, rating) in BOOKS.items():
        files[f"Books/{title}.md"] = (
            f"---\ntags: [book]\nauthor: {author}\nrating: {rating}\n---\n{SPEECH * 2}\n"
        )
    for number, name in enumerate(REPLACED):
        twice = "\nSigned for Acme Corp.\n" if number % 3 == 0 else ""
        files[f"Contracts/{name}.md"] = (
            f"---\ntags: [contract]\n---\n{SPEECH}\n\nBetween Acme Corp and us.\n{twice}"
        )
    for name in LINKING:
        files[f"Trips/{name}.md"] = "---\ntags: [trip]\n---\nFrom [[Harbour]] by boat.\n"
    for number, name in enumerate(RENAMED_TAG):
        where = "#cooking\n" if number % 2 else ""
        tags = "recipe" if number % 2 else "recipe, cooking"
        files[f"Recipes/{name}.md"] = f"---\ntags: [{tags}]\n---\nStir. {where}"
    for number, name in enumerate(ABOUT_ATLAS):
        link = "[[Atlas]]" if number % 2 else "[the map](../Projects/Atlas.md)"
        files[f"Maps/{name}.md"] = f"---\ntags: [map]\n---\nPart of {link}.\n"
    for name in MET_ADA:
        files[f"Visits/{name}.md"] = "---\ntags: [visit]\n---\nWent to see [[Ada]].\n"
    for number in range(TOPICS):
        files[f"Topics/Topic {number:03}.md"] = (
            f"---\ntags: [topic]\n---\n# Topic {number:03}\n\n" + f"Fact {number} about stones. " * 12 + "\n"
        )
    return files


FILES = make_files()


def write(folder: Path) -> None:
    """Writes the vault, with the times at which its notes were changed."""
    now = time.time()
    for number, (path, content) in enumerate(FILES.items()):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        # Half a day ago is yesterday or today, whenever the benchmark runs.
        days = 0.5 if place.stem in RECENT else OLD_DAYS
        os.utime(place, (now, now - days * 86_400 - number))


def read(folder: Path, path: str) -> str:
    place = folder / path
    return place.read_text("utf-8") if place.exists() else ""


def original(path: str) -> str:
    content = FILES[path]
    assert isinstance(content, str)
    return content


def is_untouched(folder: Path, *changed: str) -> bool:
    """Whether every note but the changed ones is as it was, where it was."""
    return all(
        (folder / path).exists() and (folder / path).read_bytes() == content.encode()
        for path, content in FILES.items()
        if isinstance(content, str) and path.endswith(".md") and path not in changed
    )
