"""What people read about a call or a client, and that hidden notes are not in it."""

from __future__ import annotations

import pytest

from vaultbridge.activity.clients import Activity
from vaultbridge.activity.records import CallEffects, CallRecord
from vaultbridge.activity.words import classify, describe_call, describe_client, join_names, name_client

V = "/vault"


def show_all(folder: str, path: str) -> bool:
    return True


def is_public(folder: str, path: str) -> bool:
    return not path.startswith("Private/")


def record(
    tool: str = "", *, method: str = "tools/call", query: str = "", error: str = "", **touched: object
) -> CallRecord:
    made = CallRecord(Activity().join("mcp"), 1, method, 0.0)
    made.tool, made.query, made.error = tool, query, error
    made.touched = CallEffects(**touched)  # type: ignore[arg-type]
    return made


CHANGES = {
    "created": ((V, 1, (("New.md", "created", ""),)),),
    "moved": ((V, 1, (("B.md", "moved", "A.md"),)),),
    "away": ((V, 1, (("Done/A.md", "moved", "A.md"),)),),
    "deleted": ((V, 1, (("A.md", "deleted", ""), ("B.md", "deleted", ""))),),
    "mixed": ((V, 1, (("A.md", "changed", ""), ("B.md", "moved", "C.md"), ("D.md", "changed", ""))),),
}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (record("read_note", reads=((V, "Plan.md"),)), "read", "read Plan.md"),
        (record("read_note", reads=((V, "A.md"), (V, "B.md"))), "read", "read A.md and B.md"),
        (record("read_note", reads=((V, "A.md"), (V, "B.md"), (V, "C.md"))), "read", "read 3 notes"),
        (record("attachment", reads=((V, "a.png"),), more_reads=2), "read", "read 3 files"),
        (record("search", query="tag:#x"), "search", "searched for “tag:#x”"),
        (record("create_note", changes=CHANGES["created"]), "change", "created New.md"),
        (record("move_note", changes=CHANGES["moved"]), "change", "renamed A.md to B.md"),
        (
            record("move_note", changes=CHANGES["mixed"]),
            "change",
            "renamed C.md to B.md, and updated links in 2 notes",
        ),
        (record("move_note", changes=CHANGES["away"]), "change", "moved A.md to Done/A.md"),
        (record("delete_note", changes=CHANGES["deleted"]), "change", "deleted A.md and B.md"),
        (record("edit_note", changes=CHANGES["mixed"]), "change", "changed 3 notes"),
        (record("undo", changes=CHANGES["created"]), "undo", "created New.md"),
        (record("edit_note", proposals=((V, "Plan.md", "p1"),)), "propose", "proposed a change to Plan.md"),
        (
            record("edit_note", proposals=((V, "Plan.md", "p1"),), error="PERMISSION_DENIED"),
            "propose",
            "proposed a change to Plan.md, which was rejected",
        ),
        (record("tags"), "list", "listed: tags"),
        (record("word_count"), "call", "used word_count"),
        (record(method="getCurrentFile"), "call", "used getCurrentFile"),
        (record("read_note", error="FILE_NOT_FOUND"), "call", "read_note failed: FILE_NOT_FOUND"),
        (record("read_note", error="PAUSED"), "call", "read_note was refused"),
    ],
)
def test_a_call_is_described_in_words(call: CallRecord, kind: str, words: str) -> None:
    assert (classify(call), describe_call(call, show_all)) == (kind, words)


def test_hidden_notes_are_neither_named_nor_counted() -> None:
    reads = ((V, "Private/A.md"), (V, "B.md"), (V, "Private/C.md"))
    assert describe_call(record("read_note", reads=reads), is_public) == "read B.md"
    changes = ((V, 1, (("Private/A.md", "changed", ""), ("B.md", "changed", ""))),)
    assert describe_call(record("edit_note", changes=changes), is_public) == "changed B.md"
    client = Activity().join("mcp")
    client.calls = 3
    description = describe_client(client, reads, changes, ((V, "Private/D.md", "p1"),), is_public)
    assert description == "read B.md, changed B.md"
    assert describe_client(client, ((V, "Private/A.md"),), (), (), is_public) == "made 3 calls"


def test_a_client_is_described_in_words() -> None:
    client = Activity().join("mcp")
    assert describe_client(client, (), (), (), show_all) == ""
    client.calls, client.searches = 5, 2
    reads = [(V, f"{number}.md") for number in range(3)]
    description = describe_client(client, reads, (), ((V, "Plan.md", "p1"), (V, "Plan.md", "p2")), show_all)
    assert description == "read 3 notes, searched twice, proposed a change to Plan.md"


def test_names_are_those_that_people_use() -> None:
    client = Activity().join("mcp", user_agent="python-httpx/0.27")
    assert name_client(client) == "python-httpx"
    client.introduce({"name": "claude-ai"})
    assert name_client(client) == "Claude Desktop"
    client.introduce({"name": "claude-ai", "title": "Claude"})
    assert name_client(client) == "Claude"
    assert name_client(Activity().join("mcp")) == "An unnamed client"


def test_a_list_of_names_says_how_many_there_are() -> None:
    assert join_names(["A.md"]) == "A.md"
    assert join_names(["A.md"], more=2) == "3 notes"
    assert join_names([], more=1) == "1 note"
    assert join_names(["A.md", "b.png", "C.md"]) == "3 files"
