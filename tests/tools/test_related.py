"""`related`: rows of a note, why, and the call that links it, ready to send."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from support.tools import ToolHarness
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.vault.scope import Scope

VAULT: dict[str, str | bytes] = {
    "Moth.md": "night flyers",
    "Log.md": "We saw a moth.\n",
    "Board.canvas": "{}",
    "Secret/Moth trap.md": "a moth trap",
}


def parse_calls(rows: list[str]) -> list[dict[str, str]]:
    return [
        msgspec.json.decode(row.removeprefix("  edit_note "))
        for row in rows
        if row.startswith("  edit_note ")
    ]


def test_a_row_of_related_notes_contains_the_call_that_links_them(small: Callable[..., ToolHarness]) -> None:
    vault = small(VAULT)
    rows = vault.rows("related", name="Log")
    assert rows[0] == "[not linked with Log.md yet]"
    assert rows[1].startswith("Moth.md: mentioned at line 1: We saw a moth.")
    assert rows[-1] == "(related notes: 1)", "the other note has only the word that all notes have"
    (first,) = parse_calls(rows)
    assert vault.data("edit_note", **first)["path"] == "Log.md"
    assert vault.read("Log.md") == "We saw a [[Moth|moth]].\n"
    assert not any(row.startswith("Moth.md") for row in vault.rows("related", name="Log"))


def test_several_links_of_one_note_are_one_batch(small: Callable[..., ToolHarness]) -> None:
    vault = small({"A.md": "x", "B.md": "y", "Log.md": "Alpha and bee.\n", "Alpha.md": "", "Bee.md": ""})
    edits = parse_calls(vault.rows("related", name="Log"))
    assert vault.data("batch", operations=edits)["operations"] == 2
    assert vault.read("Log.md") == "[[Alpha]] and [[Bee|bee]].\n"


def test_a_text_gets_what_to_write(small: Callable[..., ToolHarness]) -> None:
    rows = small(VAULT).rows("related", text="about a moth")
    assert rows[0] == "[notes related to the text]"
    assert rows[2] == '  write {"old":"moth","new":"[[Moth|moth]]"}'


def test_without_either_the_whole_vault_is_looked_over(small: Callable[..., ToolHarness]) -> None:
    rows = small(VAULT).rows("related")
    assert rows[0] == "[missing links]"
    assert "[orphans, with a note that could link to them]" in rows
    assert rows[-1] == "(notes 1-3 of 3)"


def test_what_may_not_be_seen_or_changed_is_not_offered(small: Callable[..., ToolHarness]) -> None:
    vault = small(VAULT, scope=Scope(deny=("Secret/",), read_only=True))
    rows = vault.rows("related", name="Log")
    assert rows[1:] == [
        "Moth.md: mentioned at line 1: We saw a moth.; shared words: moth",
        "(related notes: 1)",
    ]
    assert "Secret" not in vault.text("related")
    vault.catch_refusal(NoteNotFound, "related", name="Secret/Moth trap")


def test_wrong_arguments_are_explained(small: Callable[..., ToolHarness]) -> None:
    vault = small(VAULT)
    assert "not both" in str(vault.catch_refusal(InvalidArgument, "related", name="Log", text="x"))
    assert "not a note" in str(vault.catch_refusal(InvalidArgument, "related", name="Board.canvas"))


def test_an_answer_fits_its_budget(small: Callable[..., ToolHarness]) -> None:
    files = {f"Name {n}.md": "" for n in range(30)}
    vault = small({**files, "Log.md": "\n".join(f"about Name {n} here" for n in range(30))})
    text = vault.text("related", name="Log", limit=60, max_chars=1500)
    assert len(text) <= 1500
    assert "continue with offset=" in text
    assert len(vault.text("related", max_chars=1200)) <= 1220


def test_an_edit_that_would_repeat_bytes_that_are_not_utf_8_is_not_offered(
    small: Callable[..., ToolHarness],
) -> None:
    """Such bytes cannot be sent back; the note is still named."""
    vault = small(
        {
            "Moth.md": "night flyers",
            "Log.md": b"moth\xff moth\n\nA moth\xff\n\n# See also \xff\n\n- x\n",
            "Long.md": b"moth \xffmoth\xff",
        }
    )
    for rows in (
        vault.rows("related"),
        vault.rows("related", name="Log"),
        vault.rows("related", name="Moth"),
    ):
        assert any("Moth.md" in row for row in rows)
        assert not any(
            "\ufffd" in text for call in parse_calls(rows) for text in call.values() if isinstance(text, str)
        )
