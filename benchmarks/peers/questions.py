"""How well each server's search answers judged questions."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from judged_questions import SHOWN, read_questions
from judged_questions import Answer as Way
from servers import Place, Server, Session
from stdio_client import ServerFailed
from timing import Figure, find_paths, until_read, wait_until_searchable

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_VAULT = ROOT / "examples" / "sample-vault"
SAMPLE_QUESTIONS = ROOT / "benchmarks" / "sample_questions.tsv"

TOP = 5
"""How many notes an assistant looks at before it asks again."""

FIRST_NOTE = "Projects/Meridian clock restoration.md"
FIRST_WORD = "pendulum"
"""A note and a word of it: once a search finds it, the vault is indexed."""

READY_SECONDS = 60.0


def ask_all(servers: list[Server], work: Path, say: Callable[[str], None]) -> dict[str, Figure]:
    """Returns how many questions had an answer among the first notes that each server named. A question is
    sent as a person would ask it."""
    asked = read_questions(SAMPLE_QUESTIONS)
    figures: dict[str, Figure] = {}
    for server in servers:
        place = Place(work / server.name)
        shutil.copytree(SAMPLE_VAULT, place.vault, dirs_exist_ok=True)
        notes = sorted(str(path.relative_to(place.vault)) for path in place.vault.rglob("*.md"))
        try:
            with Session(server, place) as session:
                until_read(session, FIRST_NOTE)
                wait_until_searchable(session, FIRST_WORD, 1, [FIRST_NOTE], READY_SECONDS)
                hits = 0
                for question in asked:
                    found = find_paths(session.do("search", query=question.question).text, notes)
                    hits += any(question.grades.get(path) for path in found[:TOP])
            figures[server.name] = {"value": hits, "of": len(asked)}
        except ServerFailed as failure:
            figures[server.name] = {"failed": str(failure)}
        say(f"  {server.name}: {figures[server.name].get('value', 'failed')}")
    return figures


@contextmanager
def open_answers(servers: list[Server], vault: Path) -> Iterator[dict[str, Way]]:
    """Starts the servers, each on its own copy of a vault, and returns how to ask each. One that does not
    find a note of the vault in time is left out, and why is printed."""
    ways: dict[str, Way] = {}
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        for server in servers:
            place = Place(work / server.name)
            unread = shutil.ignore_patterns(".git", "node_modules")
            shutil.copytree(vault, place.vault, dirs_exist_ok=True, ignore=unread)
            # What makes a folder a vault for obsidian-mcp.
            (place.vault / ".obsidian").mkdir(exist_ok=True)
            notes = sorted(path.relative_to(place.vault).as_posix() for path in place.vault.rglob("*.md"))
            try:
                session = stack.enter_context(Session(server, place))
                word = choose_word(place.vault, notes)
                if not wait_until_searchable(session, word, 1, notes, READY_SECONDS):
                    raise ServerFailed("it does not find the last note")
            except ServerFailed as failure:
                print(f"without {server.name}: {failure}", file=sys.stderr)
                continue
            ways[server.name] = make_way(session, notes)
        yield ways


def make_way(session: Session, notes: list[str]) -> Way:
    def answer(_: object, question: str) -> list[str]:
        found = session.do("search", query=question)
        return [] if found.refused else find_paths(found.text, notes)[:SHOWN]

    return answer


def choose_word(vault: Path, notes: list[str]) -> str:
    """Returns a long word of the last note that has one: a server that finds it has indexed the vault."""
    for note in reversed(notes):
        words = re.findall("[A-Za-z]{6,20}", (vault / note).read_text("utf-8", "replace"))
        if words:
            return str(max(words, key=len))
    raise ServerFailed("no note has a word to wait for")
