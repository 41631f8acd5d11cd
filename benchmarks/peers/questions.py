"""How well each server's search answers the judged questions about the sample vault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from retrieval_bench import SAMPLE_QUESTIONS, SAMPLE_VAULT, read_questions
from servers import Place, Server, Session
from stdio_client import ServerFailed
from timing import Figure, find_paths, until_read, wait_until_searchable

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
