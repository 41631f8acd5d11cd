"""The timed part: the same session against every server, measure by measure, the servers taking turns."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from generate import COMMON_WORD, HUB, HUB_BACKLINKS, RARE_NOTES, RARE_WORD
from servers import Place, Server, Session
from stdio_client import ServerFailed

READY_SECONDS = 300.0
"""How long a server may take to index the vault; one that takes longer is measured as it is then."""

SEEN_SECONDS = 40.0
"""How long an outside edit is waited for. Servers that look for changes do so every few seconds."""

POLL_SECONDS = 0.02
"""The time between two looks; a finer one would only measure the load that looking makes."""

SETTLE_SECONDS = 2.0
"""How long every server is left alone after it was started and warmed up."""

START_SECONDS = 30.0
"""How long the starts of one server may take together before no further round is begun for it."""

TURN_SECONDS = 2.0
"""How long one server may take for the calls of one kind in one round; a slow one makes fewer of them."""

WARM_UP = 3
"""Calls of each kind that are not counted."""

SEED = 7

Figure = dict[str, Any]
"""A cell of the table: `median`, `low`, `high` and `count` of some times in ms, or `value`. Without
a figure it is `no`, if the server has no such tool, or `failed`."""

NO: Figure = {"no": True}


def spread(times: list[float]) -> Figure:
    """The median with the middle half of the times around it, in ms."""
    ordered = sorted(time * 1000 for time in times)
    quarter = len(ordered) // 4
    return {
        "median": statistics.median(ordered),
        "low": ordered[quarter],
        "high": ordered[-1 - quarter],
        "count": len(ordered),
    }


def find_paths(text: str, paths: list[str]) -> list[str]:
    """The notes that an answer names, in the order of their first mention.

    Servers write paths in many ways: as JSON, with or without `.md`. The longer of two names that begin at
    the same place is meant.
    """
    if text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            text = json.dumps(json.loads(text), ensure_ascii=False)
    first: dict[int, str] = {}
    for path in paths:
        place = text.find(path)
        if place < 0:
            # As a link or an identifier: the stem, ended by a quotation mark, a line or a bracket.
            stem = path.removesuffix(".md")
            ends = [text.find(stem + end) for end in ('"', "\n", "]", ")", "`")]
            place = min((end for end in ends if end >= 0), default=-1)
        if place >= 0 and len(path) > len(first.get(place, "")):
            first[place] = path
    return [first[place] for place in sorted(first)]


class Timing:
    """Runs the timed part for all servers on copies of one vault."""

    def __init__(
        self, servers: list[Server], vault: Path, work: Path, *, rounds: int, each_round: Callable[[], None]
    ) -> None:
        self.servers = servers
        self.vault = vault
        self.rounds = rounds
        self.each_round = each_round
        self.notes = sorted(str(path.relative_to(vault)) for path in vault.rglob("*.md"))
        self.places = {server.name: Place(work / server.name) for server in servers}
        self.figures: dict[str, dict[str, Figure]] = {server.name: {} for server in servers}
        self.sessions: dict[str, Session] = {}
        self._rng = random.Random(SEED)

    def run(self, say: Callable[[str], None]) -> dict[str, dict[str, Figure]]:
        for server in self.servers:
            shutil.copytree(self.vault, self.places[server.name].vault, dirs_exist_ok=True)
        try:
            say("cold starts")
            self.starts("start_cold", cold=True)
            say("first index")
            for server in self.servers:
                self._attempt(server, "index", partial(self.index, server))
                say(f"  {server.name}: {_render_brief(self.figures[server.name].get('index', {}))}")
            say("warm starts")
            self.starts("start_warm", cold=False)
            say("calls")
            for server in self.servers:
                self._attempt(server, "session", partial(self.open, server))
            self.warm_up()
            self.calls()
            say("outside edits")
            self.outside_edits()
            say("renames")
            self.renames()
            for name, session in self.sessions.items():
                self.figures[name]["memory"] = {"value": session.client.memory(), "unit": "MB"}
        finally:
            for session in self.sessions.values():
                session.client.close()
        return self.figures

    def _attempt(self, server: Server, measure: str, task: Callable[[], Figure | None]) -> None:
        figures = self.figures[server.name]
        if "failed" in figures.get(measure, {}):
            return
        try:
            figure = task()
        except ServerFailed as failure:
            figures[measure] = {"failed": str(failure)}
            return
        if figure is not None:
            figures[measure] = figure

    # Starting

    def starts(self, measure: str, *, cold: bool) -> None:
        """From the spawn to the first note read: `initialize` and one call."""
        taken: dict[str, list[float]] = {server.name: [] for server in self.servers}
        for round_ in range(self.rounds):
            for server in self.servers:
                if sum(taken[server.name]) > START_SECONDS:
                    continue

                def task(server: Server = server, *, first: bool = round_ == 0) -> None:
                    place = self.places[server.name]
                    if cold:
                        place.forget()
                    begin = time.perf_counter()
                    session = Session(server, place)
                    try:
                        until_read(session, HUB)
                        taken[server.name].append(time.perf_counter() - begin)
                        if first and not cold:
                            self._list_tools(server, session)
                    finally:
                        session.client.kill()

                self._attempt(server, measure, task)
        for name, times in taken.items():
            if times:
                self.figures[name][measure] = spread(times)

    def _list_tools(self, server: Server, session: Session) -> None:
        listed = session.client.request("tools/list", {})["result"]
        size = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
        self.figures[server.name]["tools_bytes"] = {"value": size, "unit": "bytes"}
        self.figures[server.name]["tools"] = {"value": len(listed["tools"]), "unit": ""}

    def index(self, server: Server) -> Figure:
        """From the spawn without an index until a search finds all it should."""
        place = self.places[server.name]
        place.forget()
        begin = time.perf_counter()
        with Session(server, place) as session:
            found = wait_until_searchable(session, RARE_WORD, RARE_NOTES, self.notes, READY_SECONDS)
            took = time.perf_counter() - begin
        if not found:
            return {"failed": f"not complete after {READY_SECONDS:.0f} s"}
        return spread([took])

    def open(self, server: Server) -> None:
        session = Session(server, self.places[server.name])
        self.sessions[server.name] = session
        until_read(session, HUB)
        wait_until_searchable(session, RARE_WORD, RARE_NOTES, self.notes, SEEN_SECONDS)

    # Calls

    def warm_up(self) -> None:
        for number in range(WARM_UP):
            for session in self.sessions.values():
                name = session.server.name
                for operation, values in (
                    ("read", {"path": self.notes[number]}),
                    ("search", {"query": "little water"}),
                    ("write", {"path": f"Warm up {name} {number}.md", "text": "Warm.\n"}),
                    ("append", {"path": f"Warm up {name} {number}.md", "text": "Warmer."}),
                    ("backlinks", {"path": self.notes[number]}),
                ):
                    if session.server.can(operation):
                        try:
                            session.do(operation, **values)
                        except ServerFailed:
                            continue
        time.sleep(SETTLE_SECONDS)

    def calls(self) -> None:
        unread = self._rng.sample(self.notes[WARM_UP:], min(len(self.notes) - WARM_UP, self.rounds * 20))
        text = " ".join(self._rng.choices(["little", "water", "people", COMMON_WORD, "again"], k=160)) + "\n"
        each = max(1, len(unread) // self.rounds)
        queries = [
            f"{first} {second}"
            for first, second in zip(("people", "number", "little"), ("water", "place", "right"), strict=True)
        ]
        taken: dict[str, dict[str, list[float]]] = {name: {} for name in self.sessions}
        for round_ in range(self.rounds):
            self.each_round()
            turn = unread[round_ * each : (round_ + 1) * each]
            created = [f"New/Note {round_} {number}.md" for number in range(8)]
            work: list[tuple[str, str, list[dict[str, str]]]] = [
                ("read_first", "read", [{"path": path} for path in turn]),
                ("read_again", "read", [{"path": HUB}] * 20),
                ("search_rare", "search", [{"query": RARE_WORD}] * 5),
                ("search_common", "search", [{"query": COMMON_WORD}] * 5),
                ("search_words", "search", [{"query": query} for query in queries]),
                ("write", "write", [{"path": path, "text": text} for path in created]),
                ("append", "append", [{"path": created[0], "text": "One more line."}] * len(created)),
                ("backlinks", "backlinks", [{"path": HUB}] * 5),
            ]
            for measure, operation, calls in work:
                for name, session in self.sessions.items():
                    if not session.server.can(operation):
                        self.figures[name][measure] = NO
                        continue

                    def task(
                        session: Session = session,
                        measure: str = measure,
                        operation: str = operation,
                        calls: list[dict[str, str]] = calls,
                    ) -> None:
                        times = taken[session.server.name].setdefault(measure, [])
                        begun = time.perf_counter()
                        for values in calls:
                            begin = time.perf_counter()
                            session.must(operation, **values)
                            times.append(time.perf_counter() - begin)
                            if time.perf_counter() - begun > TURN_SECONDS:
                                break

                    self._attempt(session.server, measure, task)
        for name, measures in taken.items():
            for measure, times in measures.items():
                if times and "failed" not in self.figures[name].get(measure, {}):
                    self.figures[name][measure] = spread(times)
        for name, session in self.sessions.items():
            if session.server.can("backlinks") and "median" in self.figures[name].get("backlinks", {}):
                found = find_paths(session.must("backlinks", path=HUB), self.notes)
                linking = min(HUB_BACKLINKS, len(self.notes) - 1)
                listed = len([path for path in found if path != HUB])
                self.figures[name]["backlinks_found"] = {"value": listed, "of": linking}

    def outside_edits(self) -> None:
        """From another program's write until a search finds it."""
        taken: dict[str, list[float]] = {name: [] for name in self.sessions}
        for round_ in range(self.rounds):
            for session in self.sessions.values():

                def task(session: Session = session, round_: int = round_) -> None:
                    word = f"outside{session.server.name.replace('-', '')}{round_}q"
                    path = f"Outside {round_}.md"
                    begin = time.perf_counter()
                    (session.place.vault / path).write_text(
                        f"# Outside\n\nThe {word} was written elsewhere.\n"
                    )
                    if not wait_until_searchable(session, word, 1, [path], SEEN_SECONDS, POLL_SECONDS):
                        raise ServerFailed(f"not seen after {SEEN_SECONDS:.0f} s")
                    taken[session.server.name].append(time.perf_counter() - begin)

                self._attempt(session.server, "outside_edit", task)
        for name, times in taken.items():
            if times and "failed" not in self.figures[name].get("outside_edit", {}):
                self.figures[name]["outside_edit"] = spread(times)

    def renames(self) -> None:
        """Renames the note that most others link to, there and back again."""
        taken: dict[str, list[float]] = {name: [] for name in self.sessions}
        linking = min(HUB_BACKLINKS, len(self.notes) - 1)
        for round_ in range(max(1, self.rounds // 2)):
            for name, session in self.sessions.items():
                if not session.server.can("rename"):
                    self.figures[name]["rename"] = self.figures[name]["rename_missed"] = NO
                    continue

                def task(session: Session = session, *, first: bool = round_ == 0) -> None:
                    for old, new in ((HUB, "Renamed hub.md"), ("Renamed hub.md", HUB)):
                        begin = time.perf_counter()
                        session.must("rename", path=old, to_path=new)
                        taken[session.server.name].append(time.perf_counter() - begin)
                        if first and old == HUB:
                            left = count_links(session.place.vault, "[[Hub]]")
                            missed = {"value": left, "of": linking}
                            self.figures[session.server.name]["rename_missed"] = missed

                self._attempt(session.server, "rename", task)
        for name, times in taken.items():
            if times and "failed" not in self.figures[name].get("rename", {}):
                # Leaving the links alone is quick; such a time is shown, but not compared.
                missed = self.figures[name]["rename_missed"]["value"]
                self.figures[name]["rename"] = spread(times) | {"incomplete": bool(missed)}


def until_read(session: Session, path: str) -> None:
    """Reads a note, again and again if the server must find it first."""
    end = time.monotonic() + READY_SECONDS
    while not is_readable(session, path):
        if time.monotonic() > end:
            raise ServerFailed(f"it does not find {path}")
        time.sleep(POLL_SECONDS)


def is_readable(session: Session, path: str) -> bool:
    """Whether reading a note gives its text. Not every server calls it an error when it does not know a note,
    and then the answer repeats the name."""
    text = (session.place.vault / path).read_text("utf-8")
    runs = [run.strip() for run in re.findall("[A-Za-z ]{4,}", text) if run.strip() not in path]
    return max(runs, key=len) in session.do("read", path=path).text


def wait_until_searchable(
    session: Session, word: str, notes: int, among: list[str], seconds: float, poll: float | None = None
) -> bool:
    """Searches until as many notes are found. Without `poll`, ever less often, because every look takes time
    from a server that is building its index."""
    begin = time.monotonic()
    end = begin + seconds
    while True:
        answer = session.do("search", query=word)
        if not answer.refused and len(find_paths(answer.text, among)) >= notes:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(poll or max(POLL_SECONDS, (time.monotonic() - begin) / 20))


def count_links(vault: Path, link: str) -> int:
    return sum(path.read_bytes().count(link.encode()) for path in vault.rglob("*.md"))


def _render_brief(figure: Figure) -> str:
    return f"{figure['median']:.0f} ms" if "median" in figure else str(figure.get("failed", figure))
