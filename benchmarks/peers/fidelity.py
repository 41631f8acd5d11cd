"""What a server does to the bytes of notes: each check lets it change one thing in a small vault and looks at
the files.

A check returns a verdict in a few words and whether it is good; a server that has no such tool gets "no". The
operations are those of `peers.toml`. Most checks share one vault and one started server, each with notes of
its own, because some servers take long to start.
"""

from __future__ import annotations

import json
import threading
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from servers import Place, Server, Session
from stdio_client import ServerFailed
from timing import find_paths, is_readable

FIND_SECONDS = 60.0
"""How long a server may take to find a note of a vault with a handful of them."""

WATCH_SECONDS = 3.0
"""How long a vault is left alone to see whether the server changes it by itself."""

WRITE_SECONDS = 10.0
"""How long a change may take to reach the disk after the server has answered."""

APPENDS = 40
"""How many lines each of two processes appends to the same note."""

Verdict = dict[str, Any]
"""A cell of the table: `says` and `good`, or `no`, or `failed`."""

PROPERTIES = """\
---
# Where this came from
title:   "Spaced  and quoted"
status: open
tags: [ one, 'two' ]
related: "[[Other note]]"
due: 2026-01-05
count: 007
long: >-
  folded over
  two lines
empty:
---

# Body

Text that ends with two spaces{two_spaces}
and a last line.
""".replace("{two_spaces}", "  ")


class LinkForm(NamedTuple):
    """A file with one link to `Old name.md`, or with something that only looks like one."""

    file: str
    content: str
    follows: bool = True


LINKS = {
    "plain": LinkForm("Plain.md", "See [[Old name]].\n"),
    "shown as": LinkForm("Alias.md", "See [[Old name|that]].\n"),
    "heading": LinkForm("Heading.md", "See [[Old name#Part]].\n"),
    "block": LinkForm("Block.md", "See [[Old name#^b1]].\n"),
    "embed": LinkForm("Embed.md", "![[Old name]]\n"),
    "with .md": LinkForm("Extension.md", "See [[Old name.md]].\n"),
    "with folder": LinkForm("Folder.md", "See [[Notes/Old name]].\n"),
    "other case": LinkForm("Case.md", "See [[old name]].\n"),
    "table": LinkForm("Table.md", "| a |\n| --- |\n| [[Old name\\|that]] |\n"),
    "property": LinkForm("Property.md", '---\nrelated: "[[Old name]]"\n---\nText.\n'),
    "markdown": LinkForm("Markdown.md", "See [that](Notes/Old%20name.md).\n"),
    "markdown, <>": LinkForm("Angle.md", "See [that](<Notes/Old name.md>).\n"),
    "relative": LinkForm("Deep/Relative.md", "See [that](../Notes/Old%20name.md#Part).\n"),
    "reference": LinkForm("Reference.md", "See [that][1].\n\n[1]: Notes/Old%20name.md\n"),
    "canvas": LinkForm(
        "Board.canvas",
        json.dumps(
            {
                "nodes": [
                    {
                        "id": "a",
                        "type": "file",
                        "file": "Notes/Old name.md",
                        "x": 0,
                        "y": 0,
                        "width": 9,
                        "height": 9,
                    }
                ]
            }
        ),
    ),
    "code": LinkForm("Code.md", "```\n[[Old name]]\n```\n\n`[[Old name]]`\n", follows=False),
    "namesake": LinkForm("Namesake.md", "See [[Archive/Old name]].\n", follows=False),
}


COMPOSED = unicodedata.normalize("NFD", "Café.md")

FILES: dict[str, str | bytes] = {
    "Start.md": "# Start\n\nThe paragraph that opens it.\n",
    "Bare.md": "no heading, no newline",
    "Property edit.md": PROPERTIES,
    "Windows.md": PROPERTIES.replace("\n", "\r\n"),
    "With newline.md": PROPERTIES,
    "Without newline.md": PROPERTIES.rstrip("\n"),
    "Append.md": "# Log\n\nWhat was written first",
    "Headings.md": "# Plan\n\n## Log\n\none\n\n# Work\n\n## Log\n\ntwo\n\n## Alone\n\nA last line.\n",
    COMPOSED: "# Menu\n\nespresso\n",
    "Notes/Old name.md": "# Old\n\n## Part\n\nText of the old note ^b1\n",
    **{form.file: form.content for form in LINKS.values()},
}
"""The vault that the checks share."""


def make(place: Place, files: dict[str, str | bytes]) -> None:
    """Writes a vault that every server takes for one."""
    for path, content in {".obsidian/app.json": "{}\n", **files}.items():
        file = place.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def judge_good(says: str) -> Verdict:
    return {"says": says, "good": True}


def judge_bad(says: str) -> Verdict:
    return {"says": says, "good": False}


def open_session(server: Server, place: Place, path: str, *, hidden: bool = False) -> Session:
    """Starts a server and waits until it can read the note."""
    session = Session(server, place, hidden=hidden)
    end = time.monotonic() + FIND_SECONDS
    try:
        while not is_readable(session, path):
            if time.monotonic() > end:
                raise ServerFailed(f"it does not find {path}")
            time.sleep(0.1)
    except BaseException:
        session.client.kill()
        raise
    return session


def change(session: Session, operation: str, path: str, **values: str) -> None:
    """Lets the server change a note, and waits for the file: some answer before they have written it."""
    file = session.place.vault / path
    before = file.read_bytes()
    if session.do(operation, path=path, **values).refused:
        return
    end = time.monotonic() + WRITE_SECONDS
    while file.exists() and file.read_bytes() == before and time.monotonic() < end:
        time.sleep(0.05)


def set_status(session: Session, path: str) -> None:
    change(session, "set_property", path=path, property="status", old_value="open", value="done")


def check_property_edit(session: Session, vault: Path) -> Verdict:
    """One property of a note gets another value: bytes of other lines that differ afterwards."""
    set_status(session, "Property edit.md")
    return judge_property(PROPERTIES, (vault / "Property edit.md").read_bytes().decode())


def judge_property(before: str, after: str) -> Verdict:
    if after == before.replace("status: open", "status: done"):
        return judge_good("0 bytes")
    if "done" not in after:
        return judge_bad("not set")
    old, new = _without_status(before), _without_status(after)
    lost = [line for line in old if line not in new]
    added = [line for line in new if line not in old]
    return judge_bad(f"{sum(len(line.encode()) for line in lost + added)} bytes")


def _without_status(text: str) -> list[str]:
    return [line for line in text.splitlines(keepends=True) if not line.startswith("status:")]


def check_crlf(session: Session, vault: Path) -> Verdict:
    """A property is set in a note with Windows' line endings, and a line appended: do all still end so?"""
    if session.server.can("set_property"):
        set_status(session, "Windows.md")
    change(session, "append", path="Windows.md", text="One more line.")
    after = (vault / "Windows.md").read_bytes()
    if b"One more line." not in after:
        return judge_bad("not appended")
    lines = after.count(b"\n")
    lone = lines - after.count(b"\r\n")
    return judge_bad(f"{lone} of {lines} lines changed") if lone else judge_good("kept")


def check_final_newline(session: Session, vault: Path) -> Verdict:
    """A property is set in a note that ends with a newline, and in one that does not."""
    for path in ("With newline.md", "Without newline.md"):
        set_status(session, path)
    wrong = [] if (vault / "With newline.md").read_bytes().endswith(b"line.\n") else ["removed"]
    wrong += [] if (vault / "Without newline.md").read_bytes().endswith(b"line.") else ["added"]
    return judge_bad(", ".join(wrong)) if wrong else judge_good("kept")


def append_line(session: Session, vault: Path) -> Verdict:
    """A line is appended to a note whose last line has no newline."""
    change(session, "append", path="Append.md", text="second")
    after = (vault / "Append.md").read_text()
    if "second" not in after:
        return judge_bad("not appended")
    return judge_bad("joined to the last line") if "firstsecond" in after else judge_good("own line")


def check_duplicate_heading(session: Session, vault: Path) -> Verdict:
    """An edit names a heading that the note has twice: which is meant must be asked."""
    change(session, "append_to_heading", path="Headings.md", heading="Alone", text="four")
    if "four" not in (vault / "Headings.md").read_text():
        return judge_bad("edits no heading")
    change(session, "append_to_heading", path="Headings.md", heading="Log", text="three")
    changed = "three" in (vault / "Headings.md").read_text()
    return judge_bad("takes one, silently") if changed else judge_good("asks which")


def check_composed_name(session: Session, vault: Path) -> Verdict:
    """A note's name is stored decomposed, as macOS does, and asked for as people type it."""
    answer = session.do("read", path=unicodedata.normalize("NFC", COMPOSED))
    if len(list(vault.glob("Caf*"))) != 1:
        return judge_bad("a second note")
    return judge_good("found") if not answer.refused and "espresso" in answer.text else judge_bad("not found")


def check_links(session: Session, vault: Path) -> Verdict:
    """A note is renamed that is linked to in every form Obsidian knows."""
    change(session, "rename", path="Notes/Old name.md", to_path="Notes/New name.md")
    if not (vault / "Notes/New name.md").exists():
        return judge_bad("not renamed")
    return judge_links(vault)


def judge_links(vault: Path) -> Verdict:
    missed, spoiled = [], []
    for name, form in LINKS.items():
        after = (vault / form.file).read_text()
        named = after.lower().replace("%20", " ")
        if form.follows and "old name" in named:
            missed.append(name)
        elif "new name" not in named if form.follows else after != form.content:
            spoiled.append(name)
    of = sum(form.follows for form in LINKS.values())
    says = f"{len(missed)} of {of} missed" + (f", {len(spoiled)} spoiled" if spoiled else "")
    verdict = judge_bad(says) if missed or spoiled else judge_good(says)
    return verdict | {"missed": missed, "spoiled": spoiled}


def check_untouched(session: Session, vault: Path) -> Verdict:
    """A vault is opened, read and searched, and nothing else: notes that have changed."""
    session.do("search", query="text")
    time.sleep(WATCH_SECONDS)
    changed = [path for path, content in FILES.items() if (vault / path).read_bytes() != _encode(content)]
    return judge_bad(f"{len(changed)} of {len(FILES)} changed") if changed else judge_good("none changed")


def _encode(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def check_two_writers(server: Server, place: Place) -> Verdict:
    """Two processes append to the same note at once: lines that are missing afterwards."""
    make(place, {"Log.md": "# Log\n\nWritten by both at once.\n"})
    refused: list[str] = []
    failures: list[ServerFailed] = []

    def append(session: Session, who: str) -> None:
        try:
            for number in range(APPENDS):
                if session.do("append", path="Log.md", text=f"{who} {number} end").refused:
                    refused.append(f"{who} {number} end")
        except ServerFailed as failure:
            failures.append(failure)

    first = open_session(server, place, "Log.md")
    try:
        second = open_session(server, place, "Log.md")
        try:
            threads = [
                threading.Thread(target=append, args=(session, who))
                for session, who in ((first, "a"), (second, "b"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            time.sleep(WATCH_SECONDS)
        finally:
            second.client.close()
    finally:
        first.client.close()
    if failures:
        raise failures[0]
    after = (place.vault / "Log.md").read_text()
    # What the server refused was not lost: the assistant knows, and can try again.
    lost = [
        line
        for who in "ab"
        for number in range(APPENDS)
        if (line := f"{who} {number} end") not in after and line not in refused
    ]
    says = f"{len(lost)} of {2 * APPENDS} lost" + (f", {len(refused)} refused" if refused else "")
    return judge_bad(says) if lost else judge_good(says)


def check_hidden_folder(server: Server, place: Place) -> Verdict:
    """The folder Private/ is hidden, in the way the documents give: what still shows it."""
    secret = "xylophonic"
    make(
        place,
        {
            "Start.md": "# Start\n\nAn open word.\n",
            "Private/Diary.md": f"# Diary\n\nThe {secret} secret, see [[Start]].\n",
            "Private/Old.md": f"# Old\n\nThe {secret} past.\n",
        },
    )
    shows = []
    with open_session(server, place, "Start.md", hidden=True) as session:
        time.sleep(WATCH_SECONDS)
        if secret in session.do("read", path="Private/Diary.md").text:
            shows.append("reading")
        found = session.do("search", query=secret)
        if find_paths(found.text, ["Private/Diary.md", "Private/Old.md"]) or "The xylo" in found.text:
            shows.append("search")
        if server.can("backlinks") and "Diary" in session.do("backlinks", path="Start.md").text:
            shows.append("backlinks")
        answer = session.do("append", path="Private/Diary.md", text="written")
        if "written" in (place.vault / "Private/Diary.md").read_text():
            shows.append("writing")
        elif secret in answer.text:
            shows.append("errors")
    return judge_bad(f"shown by {', '.join(shows)}") if shows else judge_good("hidden")


class Check(NamedTuple):
    title: str
    run: Callable[[Session, Path], Verdict]
    needs: str


SHARED = {
    "untouched": Check("notes changed by opening the vault", check_untouched, "read"),
    "property_edit": Check(
        "other bytes changed by setting one property", check_property_edit, "set_property"
    ),
    "crlf": Check("Windows' line endings", check_crlf, "append"),
    "final_newline": Check("newline at the end, or none", check_final_newline, "set_property"),
    "append_line": Check("append to a last line without newline", append_line, "append"),
    "duplicate_heading": Check(
        "edit at a heading that occurs twice", check_duplicate_heading, "append_to_heading"
    ),
    "composed_name": Check("name stored as NFD, asked for as NFC", check_composed_name, "read"),
    "links_missed": Check("links a rename misses, of every form", check_links, "rename"),
}
"""The checks of the shared vault, in this order: the first needs it as it was made."""

TITLES = {name: check.title for name, check in SHARED.items()} | {
    "two_writers": "lines lost by two processes that append",
    "hidden_folder": "a folder hidden from the assistant",
}


def wait_until_known(session: Session) -> None:
    """Gives a server that keeps an index the time to find every note. What it does not find by then is its
    own fault, and a check will say so."""
    notes = [path for path in FILES if path.endswith(".md") and path != COMPOSED]
    end = time.monotonic() + FIND_SECONDS
    while notes and time.monotonic() < end:
        notes = [path for path in notes if not is_readable(session, path)]
        time.sleep(0.1)


def check_shared(server: Server, place: Place) -> dict[str, Verdict]:
    make(place, FILES)
    verdicts: dict[str, Verdict] = {}
    with open_session(server, place, "Start.md") as session:
        wait_until_known(session)
        for name, check in SHARED.items():
            if server.can(check.needs):
                try:
                    verdicts[name] = check.run(session, place.vault)
                except ServerFailed as failure:
                    verdicts[name] = {"failed": str(failure)}
            else:
                verdicts[name] = {"no": True}
    return verdicts


def check_all(servers: list[Server], work: Path, say: Callable[[str], None]) -> dict[str, dict[str, Verdict]]:
    found: dict[str, dict[str, Verdict]] = {}
    for server in servers:
        verdicts: dict[str, Verdict] = {}
        places = (Place(work / server.name / part) for part in ("shared", "writers", "hidden"))
        try:
            verdicts = check_shared(server, next(places))
            verdicts["two_writers"] = check_two_writers(server, next(places))
            verdicts["hidden_folder"] = (
                check_hidden_folder(server, next(places)) if server.hide is not None else {"no": True}
            )
        except ServerFailed as failure:
            verdicts = {name: {"failed": str(failure)} for name in TITLES} | verdicts
        found[server.name] = verdicts
        for name, verdict in verdicts.items():
            say(f"  {server.name}, {name}: {verdict.get('says') or verdict.get('failed') or 'no'}")
    return found
