"""Counts the calls and tokens that everyday requests take, each tried on a vault over real stdio.

    python benchmarks/requests_bench.py [--json -]

Each request is carried out twice on a fresh copy of the same vault: with the call made for it, and step by
step, as an assistant had to before (list, read, then edit). Afterwards the notes on disk, or the answer, must
be what was asked for. Tokens are the characters of all arguments and answers divided by four.
The exit code is 1 when a request fails, takes more calls than its limit, or no fewer tokens than by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src"), str(ROOT / "tests")]

from mcp_bench import INITIALIZE, Server, make_message
from msgspec import Struct

from support.files import write_vault

CHARS_PER_TOKEN = 4
PROJECTS = 40
"""Notes that make the vault more than a handful: what is listed by hand grows with them."""

TODAY = "2026-03-15"


def make_vault_files() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        "Garden.md": "# Garden\n\nBeds along the wall.\n",
        "Ada.md": "---\ntags: [person]\n---\nAda keeps the bees.\n",
        "Ada Lund.md": "---\ntags: [person, beekeeper]\nphone: 1234\n---\nMet at the market.\n",
        "Atlas.md": "---\ntags: [project]\n---\nThe map of the valley.\n",
        "Plan.md": (
            "- [ ] ask [[Ada]] for honey\n- [ ] print [[Atlas|the map]]\n- [x] fold [[Atlas]]\n- [ ] rest\n"
        ),
        "Templates/Meeting.md": "---\nkind: meeting\n---\n# {{title}}\n\n## Decided\n",
        ".obsidian/templates.json": '{"folder": "Templates"}',
        ".obsidian/daily-notes.json": '{"folder": "Daily"}',
        "Pictures/map.png": b"\x89PNG",
        "Pictures/old.png": b"\x89PNG",
        "Pictures/spare.jpg": b"\xff\xd8",
    }
    for number in range(PROJECTS):
        state = "done" if number % 3 else "open"
        tags = f"tags: [{state}]\n" if number % 8 else ""
        about = "[[Ada]]" if number % 5 == 0 else "nobody"
        picture = "![[map.png]]\n" if number == 7 else ""
        files[f"Projects/Project {number:02}.md"] = (
            f"---\n{tags}number: {number}\n---\nWork with {about} on step {number}.\n{picture}"
            f"- [ ] finish step {number}\n"
        )
    return files


class Client:
    """A scripted assistant: counts its calls and what they cost."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.calls = 0
        self.chars = 0

    def call(self, tool: str, /, **arguments: Any) -> str:
        self.calls += 1
        params = {"name": f"obsidian_{tool}", "arguments": arguments}
        answer = self._server.ask(make_message(self.calls, "tools/call", params), self.calls)
        result = answer["result"]
        text: str = "\n".join(part["text"] for part in result["content"])
        assert not result.get("isError"), f"{tool}: {text}"
        self.chars += len(json.dumps(arguments, ensure_ascii=False)) + len(text)
        return text


Way = Callable[[Client], str]
Check = Callable[[Path, str], bool]


class Request(Struct, frozen=True):
    """`now` and `by_hand` return the last answer; `check` says whether vault and answer are as asked."""

    name: str
    now: Way
    by_hand: Way
    check: Check
    limit: int = 1


def read(folder: Path, path: str) -> str:
    return (folder / path).read_text("utf-8")


def list_paths(text: str) -> list[str]:
    """The paths of an answer: one a row, without what follows."""
    rows = [row for row in text.splitlines() if row and row[0] not in " (["]
    return [row.partition("  ")[0].partition(".md:")[0].removesuffix(".md") + ".md" for row in rows]


def merge_by_hand(client: Client) -> str:
    client.call("read_note", name="Ada")
    links = client.call("links", name="Ada", kind="backlinks")
    edits: list[dict[str, Any]] = [
        {"op": "replace_text", "name": path, "old": "[[Ada]]", "new": "[[Ada Lund]]", "all": True}
        for path in sorted(set(list_paths(links)))
    ]
    edits.append({"op": "append", "name": "Ada Lund", "content": "\nAda keeps the bees."})
    edits.append({"op": "delete", "name": "Ada"})
    return client.call("batch", operations=edits)


def list_tasks_by_hand(client: Client) -> str:
    links = client.call("links", name="Atlas", kind="backlinks")
    open_tasks = client.call("tasks", status="open", limit=500)
    assert "Plan.md" in links
    return "\n".join(row for row in open_tasks.splitlines() if "[[Atlas" in row)


def list_untagged_by_hand(client: Client) -> str:
    tags = [row.partition(" ")[0] for row in client.call("tags").splitlines() if row.startswith("#")]
    tagged = client.call("search", query=" OR ".join(f"tag:{tag}" for tag in tags), matches=0, limit=500)
    notes = client.call("list_files", kind="note", limit=500)
    return "\n".join(sorted(set(list_paths(notes)) - set(list_paths(tagged))))


def list_unused_by_hand(client: Client) -> str:
    unused = []
    for row in client.call("list_files", kind="image").splitlines():
        if not row.startswith("("):
            name = row.partition("  ")[0]
            if "none" in client.call("links", name=name, kind="backlinks"):
                unused.append(name)
    return "\n".join(unused)


def tick_by_hand(client: Client) -> str:
    found = client.call("tasks", text="finish step 17", status="open")
    path, line = found.partition(": ")[0].rsplit(":", 1)
    return client.call("edit_note", op="set_task", name=path, line=int(line), status="done")


def move_by_hand(client: Client) -> str:
    found = client.call("search", query="tag:#done", matches=0, limit=500)
    moves = [{"op": "move", "name": path, "to": "Archive/"} for path in list_paths(found)]
    return client.call("batch", operations=moves)


def create_and_link(client: Client) -> str:
    client.call("create_note", name="Meetings/Budget", template="Meeting")
    return client.call("write_daily_note", date=TODAY, content="- [[Budget]]")


def create_by_hand(client: Client) -> str:
    text = client.call("template", template="Meeting", title="Budget")
    client.call("create_note", name="Meetings/Budget", content=text)
    path = client.call("daily_note", action="path", date=TODAY).partition("  ")[0]
    return client.call("create_note", name=path, content="- [[Budget]]\n")


def append_by_hand(client: Client) -> str:
    assert "Tasks" not in client.call("read_note", name="Garden")
    return client.call(
        "edit_note", op="append", name="Garden", content="\n## Tasks\n\n- [ ] water the seedlings"
    )


def is_archived(folder: Path, _: str) -> bool:
    done = [
        name for name, text in make_vault_files().items() if isinstance(text, str) and "tags: [done]" in text
    ]
    return bool(done) and all((folder / "Archive" / Path(name).name).exists() for name in done)


def is_merged(folder: Path, _: str) -> bool:
    projects = [read(folder, f"Projects/Project {number:02}.md") for number in range(PROJECTS)]
    return (
        not (folder / "Ada.md").exists()
        and "Ada keeps the bees." in read(folder, "Ada Lund.md")
        and not any("[[Ada]]" in text for text in [*projects, read(folder, "Plan.md")])
    )


UNTAGGED = {
    "Garden.md",
    "Plan.md",
    "Templates/Meeting.md",
    *(f"Projects/Project {number:02}.md" for number in range(0, PROJECTS, 8)),
}

REQUESTS = (
    Request(
        "add a task under a heading that is not there yet",
        lambda client: client.call(
            "edit_note",
            op="append",
            name="Garden",
            heading="Tasks",
            create=True,
            content="- [ ] water the seedlings",
        ),
        append_by_hand,
        lambda folder, _: read(folder, "Garden.md").endswith(
            "wall.\n\n## Tasks\n\n- [ ] water the seedlings\n"
        ),
    ),
    Request(
        "merge two notes with every link following",
        lambda client: client.call("edit_note", op="merge", name="Ada", to="Ada Lund"),
        merge_by_hand,
        is_merged,
    ),
    Request(
        "what links to Atlas and is not done",
        lambda client: client.call("tasks", text="[[Atlas]]", status="open"),
        list_tasks_by_hand,
        lambda _, answer: "print [[Atlas|the map]]" in answer and "fold" not in answer,
    ),
    Request(
        "notes without tags",
        lambda client: client.call("list_files", kind="untagged"),
        list_untagged_by_hand,
        lambda _, answer: set(list_paths(answer)) == UNTAGGED,
    ),
    Request(
        "unused attachments",
        lambda client: client.call("list_files", kind="unused"),
        list_unused_by_hand,
        lambda _, answer: "old.png" in answer and "spare.jpg" in answer and "map.png" not in answer,
    ),
    Request(
        "tick a task by its text",
        lambda client: client.call("edit_note", op="set_task", name="", text="finish step 17", status="done"),
        tick_by_hand,
        lambda folder, _: "- [x] finish step 17" in read(folder, "Projects/Project 17.md"),
    ),
    Request(
        "move all notes of a query into a folder",
        lambda client: client.call("move_note", query="tag:#done", to="Archive/"),
        move_by_hand,
        is_archived,
    ),
    Request(
        "a new note from a template, linked from today's",
        create_and_link,
        create_by_hand,
        lambda folder, _: (
            "# Budget" in read(folder, "Meetings/Budget.md")
            and "- [[Budget]]" in read(folder, f"Daily/{TODAY}.md")
        ),
        limit=2,
    ),
)


@contextmanager
def assistant(folder: Path) -> Iterator[Client]:
    server = Server([sys.executable, "-m", "vaultbridge", "stdio", str(folder)])
    try:
        server.ask(INITIALIZE, 0)
        server.write(make_message(None, "notifications/initialized"))
        yield Client(server)
    finally:
        server.close()


def measure(request: Request, way: Way) -> tuple[int, int]:
    """The calls and tokens of one way to fulfil a request. Raises AssertionError if it does not."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["VAULTBRIDGE_CACHE"] = f"{place}/cache"
        os.environ["XDG_CONFIG_HOME"] = f"{place}/config"
        folder = write_vault(Path(place) / "vault", make_vault_files())
        with assistant(folder) as client:
            answer = way(client)
        assert request.check(folder, answer), f"{request.name}: {answer[:400]}"
        return client.calls, -(-client.chars // CHARS_PER_TOKEN)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    args = parser.parse_args()
    figures = {}
    held = True
    print(f"{'':50}{'calls':>7}{'tokens':>8}   by hand:{'calls':>6}{'tokens':>8}")
    for request in REQUESTS:
        calls, tokens = measure(request, request.now)
        hand_calls, hand_tokens = measure(request, request.by_hand)
        good = calls <= request.limit and tokens < hand_tokens
        held = held and good
        figures[request.name] = {
            "calls": calls, "tokens": tokens, "calls by hand": hand_calls, "tokens by hand": hand_tokens,
        }  # fmt: skip
        verdict = "" if good else "  TOO MUCH"
        print(f"{request.name:50}{calls:>7}{tokens:>8}{hand_calls:>17}{hand_tokens:>8}{verdict}")
    if args.json:
        text = json.dumps(figures, indent=1)
        print(text) if args.json == "-" else Path(args.json).write_text(text, "utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
