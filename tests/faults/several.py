"""Several writers at once: Bridge v1 and MCP over HTTP on one `serve`, two `stdio` servers, one of which may
not see a folder, and another program that appends. They edit, rename, move, create, delete and undo the same
notes. In the end, every acknowledged mark must be in a note, in the trash or in the history, and every link
that the vault had at the beginning must still lead to the note it led to."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import vaultbridge
from faults.assistant import Assistant
from faults.injections import Result, read_history

NOTES = 40
LINKS_PER_NOTE = 4
FOLDERS = ("", "A", "B", "A/C", "Ünï cödé")
NAMES = ("note{}", "Note {}", "日記{}", "it's {}")
NEW_NAMES = (*(f"pool{number}" for number in range(12)), "Pool 3", "PÖÖL", "プール", "a.b", "x (1)")
NEW_FOLDERS = ("A/", "B/", "A/C/", "Ünï cödé/", "New/Deep/")
PRIVATE = "Private"

ID = re.compile(r"(?:---\n.*?\n---\n)?ID (\d+)\n", re.DOTALL)
MARK = re.compile(r"m-\w+-\d+-\.")

Call = Callable[..., tuple[bool, str]]


def write_from_everywhere(folder: Path, count: int) -> Result:
    """Each writer makes `count` calls."""
    vault, home = folder / "vault", folder / "home"
    chance = random.Random(count)
    _make_vault(vault, chance)
    lost: list[str] = []
    acknowledged: list[str] = []
    tally = {True: 0, False: 0}
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(_serve(vault, home))
        callers: dict[str, Call] = {
            "bridge": stack.enter_context(_call_bridge(port)),
            "mcp": stack.enter_context(_call_mcp(port)),
            "stdio": stack.enter_context(Assistant(vault, home)).call,
            "scoped": stack.enter_context(Assistant(vault, home, "--deny", f"{PRIVATE}/")).call,
        }

        def write(name: str, call: Call, seed: int) -> None:
            own = random.Random(seed)
            try:
                for number in range(count):
                    mark = f"m-{name}-{number}-."
                    done, text, written = _draw_call(call, own, vault, mark)
                    tally[done] += 1
                    if done and written:
                        acknowledged.append(mark)
                    if "nternal" in text or (name == "scoped" and ("secret" in text or PRIVATE in text)):
                        lost.append(f"{name} was told: {text[:200]}")
            except Exception as error:
                lost.append(f"{name} ended with {error!r}")

        writers = [
            threading.Thread(target=write, args=(name, call, seed))
            for seed, (name, call) in enumerate(callers.items())
        ]
        for writer in writers:
            writer.start()
        appended = _append_outside(vault, writers, chance)
        acknowledged += appended
    lost += _find_lost_marks(vault, home, acknowledged)
    lost += _find_wrong_links(vault, home)
    lost += [f"left behind: {file.name}" for file in vault.rglob(".vaultbridge-*")]
    return Result(len(appended), sum(tally.values()), tally[True], lost)


def _make_vault(vault: Path, chance: random.Random) -> None:
    """Every note has a number in its first line, and every link says the number of its target."""
    for folder in (*FOLDERS, PRIVATE):
        (vault / folder).mkdir(parents=True, exist_ok=True)
    places: list[str] = []
    for number in range(NOTES):
        if number % 8 == 0:
            places.append(f"{PRIVATE}/secret{number}.md")
        else:
            name = chance.choice(NAMES).format(number)
            places.append(f"{chance.choice(FOLDERS)}/{name}.md".lstrip("/"))
    public = [number for number, place in enumerate(places) if not place.startswith(PRIVATE)]
    for number, place in enumerate(places):
        targets = chance.sample([target for target in public if target != number], LINKS_PER_NOTE)
        links = "\n".join(_draw_link(chance, target, places[target]) for target in targets)
        (vault / place).write_text(f"ID {number}\n{links}\n")


def _draw_link(chance: random.Random, number: int, place: str) -> str:
    path = place.removesuffix(".md")
    name = path.rpartition("/")[2]
    label = f"to-{number}"
    return chance.choice(
        (f"[[{name}|{label}]]", f"[[{path}|{label}]]", f"![[{name}|{label}]]", f"[{label}](<{place}>)")
    )


def _list_notes(vault: Path) -> list[Path]:
    """All but what is in the trash. Folders may go while they are walked."""
    found = (Path(folder, file) for folder, _, files in os.walk(vault) for file in files)
    return [
        file
        for file in found
        if file.suffix == ".md" and not any(part.startswith(".") for part in file.relative_to(vault).parts)
    ]


def _draw_call(call: Call, chance: random.Random, vault: Path, mark: str) -> tuple[bool, str, bool]:
    """Makes one call. Returns whether it succeeded, what it answered, and whether it should have written
    the mark."""
    notes = [
        path for file in _list_notes(vault) if not (path := str(file.relative_to(vault))).startswith(PRIVATE)
    ]
    name, kind = chance.choice(notes), chance.random()
    if kind < 0.45:
        return *call("edit_note", name=name, op="append", content=mark), True
    if kind < 0.55:
        return *call("edit_note", name=name, op="set_property", property="k", value=mark), True
    if kind < 0.75:
        return *call("move_note", name=name, to=chance.choice(NEW_NAMES)), False
    if kind < 0.85:
        return *call("move_note", name=name, to=chance.choice(NEW_FOLDERS)), False
    if kind < 0.93:
        return *call("undo"), False
    created = [path for path in notes if "loose-" in path]
    if created and chance.random() < 0.4:
        return *call("delete_note", name=chance.choice(created)), False
    return *call("create_note", name=f"loose-{mark[2:-2]}", content=mark), True


def _append_outside(vault: Path, writers: list[threading.Thread], chance: random.Random) -> list[str]:
    """Appends to drawn notes, hidden ones too, while a writer is at work. Returns the marks."""
    appended: list[str] = []
    for number in itertools.count():
        if not any(writer.is_alive() for writer in writers):
            return appended
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(chance.choice(_list_notes(vault)), os.O_WRONLY | os.O_APPEND)
            try:
                os.write(handle, f"\nm-outside-{number}-.\n".encode())
            finally:
                os.close(handle)
            appended.append(f"m-outside-{number}-.")
        writers[0].join(chance.random() * 0.02)
    raise AssertionError


def _find_lost_marks(vault: Path, home: Path, acknowledged: list[str]) -> list[str]:
    kept = {*MARK.findall(read_history(home / "cache"))}
    for file in (*vault.rglob("*"), *home.rglob("*.md")):
        if file.is_file():
            kept.update(MARK.findall(file.read_text()))
    return [mark for mark in acknowledged if mark not in kept]


def _find_wrong_links(vault: Path, home: Path) -> list[str]:
    places: dict[int, list[str]] = {}
    for file in _list_notes(vault):
        if found := ID.match(file.read_text()):
            places.setdefault(int(found[1]), []).append(str(file.relative_to(vault)))
    wrong = [
        f"note {number} is at {places.get(number)}"
        for number in range(NOTES)
        if len(places.get(number, ())) != 1
    ]
    with (
        patch.dict(os.environ, {"VAULTBRIDGE_CACHE": str(home / "cache")}),
        vaultbridge.open(vault, read_only=True) as opened,
    ):
        for note in opened.notes():
            for link in opened.links(note):
                target = re.search(r"to-(\d+)", link.raw)
                if target and [link.target] != places.get(int(target[1])):
                    wrong.append(f"{link.raw} in {note} leads to {link.target}")
    return wrong


@contextlib.contextmanager
def _serve(vault: Path, home: Path) -> Iterator[int]:
    home.mkdir(exist_ok=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    with (home / "serve.txt").open("a") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**inherited, "HOME": str(home), "VAULTBRIDGE_CACHE": str(home / "cache")},
        )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["port"]
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@contextlib.contextmanager
def _call_bridge(port: int) -> Iterator[Call]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        body = json.dumps({"arguments": arguments})
        connection.request(
            "POST", f"/bridge/v1/tools/{tool}/call", body, {"Content-Type": "application/json"}
        )
        answer = json.loads(connection.getresponse().read())
        return answer["success"], answer["content"][0]["text"]

    with contextlib.closing(connection):
        yield call


@contextlib.contextmanager
def _call_mcp(port: int) -> Iterator[Call]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    numbers = itertools.count(1)

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        if session := response.getheader("Mcp-Session-Id"):
            headers["Mcp-Session-Id"] = session
        body = response.read().decode()
        if response.getheader("Content-Type", "").startswith("text/event-stream"):
            body = [line for line in body.splitlines() if line.startswith("data: {")][-1].removeprefix(
                "data: "
            )
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        result = ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        return not result.get("isError", False), result["content"][0]["text"]

    with contextlib.closing(connection):
        about = {"name": "faults", "version": "1"}
        ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        yield call
