"""`daily_note`. It is Sunday, 15 March 2026, a quarter past nine in the evening."""

from __future__ import annotations

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, PermissionDenied
from vaultbridge.vault.scope import Scope


def test_an_existing_daily_note_is_read(sample: ToolHarness) -> None:
    text = sample.text("daily_note", date="2026-03-14")
    assert text.startswith("[Daily/2026-03-14.md | hash ")
    assert sample.text("daily_note", date="yesterday") == text
    assert sample.text("daily_note", date="-1") == text
    assert "[cut; continue with start=" in sample.text("daily_note", date="-1", max_chars=60)
    assert sample.text("daily_note", date="-1", start=20).count("\n") < text.count("\n")
    assert "# Saturday" in sample.text("daily_note", date="-1", heading="Saturday, 14 March 2026")


def test_a_missing_daily_note_is_refused_with_how_to_create_it(sample: ToolHarness) -> None:
    error = sample.catch_refusal(NoteNotFound, "daily_note")
    assert str(error) == (
        "No daily note named 'Daily/2026-03-15.md'. It does not exist yet; write_daily_note creates it."
    )


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "Daily/2026-03-15.md  (does not exist yet)"),
        ({"date": "tomorrow"}, "Daily/2026-03-16.md  (does not exist yet)"),
        ({"date": "2026-03-12"}, "Daily/2026-03-12.md"),
        ({"period": "weekly"}, "2026-W12.md  (does not exist yet)"),
        ({"period": "weekly", "date": "+1"}, "2026-W13.md  (does not exist yet)"),
        ({"period": "monthly", "date": "-3"}, "2025-12.md  (does not exist yet)"),
        ({"period": "quarterly"}, "2026-Q1.md  (does not exist yet)"),
        ({"period": "yearly", "date": "1"}, "2027.md  (does not exist yet)"),
    ],
)
def test_the_path_of_any_period(sample: ToolHarness, arguments: dict[str, str], path: str) -> None:
    assert sample.text("daily_note", action="path", **arguments) == path


def test_appending_creates_the_note_from_its_template_in_one_change(sample: ToolHarness) -> None:
    data = sample.data("write_daily_note", action="append", content="- saw a comet")
    assert data["path"] == "Daily/2026-03-15.md"
    assert data["created"] is True
    text = sample.read("Daily/2026-03-15.md")
    assert "# Sunday, 15 March 2026" in text
    assert text.rstrip().endswith("- saw a comet")
    again = sample.data("write_daily_note", action="append", content="- and another")
    assert again["created"] is False
    sample.data("undo")
    sample.data("undo")
    assert not (sample.folder / "Daily/2026-03-15.md").exists()


def test_the_note_of_another_day_is_created_for_that_day(sample: ToolHarness) -> None:
    sample.data("write_daily_note", action="create", date="2026-03-20")
    assert "# Friday, 20 March 2026" in sample.read("Daily/2026-03-20.md")
    answer = sample.call("write_daily_note", action="create", date="2026-03-20")
    assert answer.data is not None
    assert answer.data["data"]["unchanged"] is True
    assert not answer.changed


def test_content_goes_first_or_under_a_heading(small: Small) -> None:
    harness = small({"2026-03-15.md": "# Log\nold\n# Ideas\n"})
    harness.data("write_daily_note", action="prepend", content="top")
    harness.data("write_daily_note", action="append", heading="Log", content="new")
    text = harness.read("2026-03-15.md")
    assert text.startswith("top\n")
    assert text.index("new") < text.index("# Ideas")
    harness.catch_refusal(EditRefused, "write_daily_note", action="append", heading="Nope", content="x")


def test_creating_and_adding_is_one_change(small: Small) -> None:
    harness = small({})
    refused = harness.catch_refusal(
        EditRefused, "write_daily_note", action="append", heading="Nope", content="x"
    )
    assert "Nope" in str(refused) and "Operation" not in str(refused)
    assert harness.files() == {}


def test_a_missing_template_is_reported_and_the_note_is_created_anyway(small: Small) -> None:
    harness = small({".obsidian/daily-notes.json": '{"template":"Gone"}'})
    data = harness.data("write_daily_note", action="create")
    assert data["notices"] == ["The template 'Gone' of the daily notes was not found."]
    assert harness.read("2026-03-15.md") == ""


def test_wrong_calls_are_named(sample: ToolHarness) -> None:
    def catch_argument(tool: str = "daily_note", /, **arguments: object) -> str:
        named: str = sample.catch_refusal(InvalidArgument, tool, **arguments).argument
        return named

    assert catch_argument("write_daily_note", action="append") == "content"
    assert catch_argument(action="append") == "action"
    assert catch_argument(date="someday") == "date"
    assert catch_argument(date="2026-02-30") == "date"
    assert catch_argument(period="hourly") == "period"
    assert catch_argument(action="burn") == "action"


def test_a_hidden_daily_note_is_neither_read_nor_created(small: Small) -> None:
    harness = small({"2026-03-15.md": "secret"}, scope=Scope(deny=("2026-*",)))
    assert "secret" not in str(harness.catch_refusal(NoteNotFound, "daily_note"))
    harness.catch_refusal(PermissionDenied, "write_daily_note", action="append", content="x")
