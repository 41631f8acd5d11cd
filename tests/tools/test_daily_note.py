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


DAYS = {
    ".obsidian/daily-notes.json": '{"folder": "D"}',
    **{f"D/2026-03-{day:02}.md": f"---\nd: {day}\n---\nday {day}\n" for day in (8, 9, 11, 14, 15)},
}


def test_a_range_of_days_is_one_answer(small: Small) -> None:
    harness = small(DAYS)
    text = harness.text("daily_note", date="2026-03-09", until="-1")
    assert [f"day {day}\n" in text for day in (8, 9, 11, 14, 15)] == [False, True, True, True, False]
    assert text.index("day 9") < text.index("day 11") < text.index("day 14")
    assert text.endswith("(do not exist: D/2026-03-10.md, D/2026-03-12.md, D/2026-03-13.md)")
    assert harness.rows("daily_note", date="-1", until="today", action="path") == [
        "D/2026-03-14.md",
        "D/2026-03-15.md",
    ]
    assert (
        harness.text("daily_note", date="2026-01-01", until="2026-01-01") == "(do not exist: D/2026-01-01.md)"
    )


def test_a_long_range_counts_the_days_without_a_note(small: Small) -> None:
    text = small(DAYS).text("daily_note", date="2026-03-01", until="2026-03-31")
    assert text.endswith("\nday 15\n\n\n(26 of 31 do not exist)")


def test_a_range_of_weeks_months_and_years_has_each_once(small: Small) -> None:
    periodic = '{"%s": {"format": "%s", "enabled": true}}'
    for period, format_, count in (
        ("weekly", "gggg-[W]ww", 10),
        ("monthly", "YYYY-MM", 3),
        ("quarterly", "YYYY-[Q]Q", 1),
        ("yearly", "YYYY", 1),
    ):
        settings = {".obsidian/plugins/periodic-notes/data.json": periodic % (period, format_)}
        harness = small({**settings, "A.md": "a"}, name=period)
        text = harness.text("daily_note", period=period, date="2026-01-07", until="2026-03-12", action="path")
        assert text.count(".md") == count, text


def test_a_wrong_range_is_refused(small: Small) -> None:
    harness = small(DAYS)

    def refuse(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "daily_note", **arguments).argument
        return named

    assert refuse(date="today", until="yesterday") == "until"
    assert refuse(date="2020-01-01", until="today") == "until"
    assert refuse(date="today", until="soon") == "until"
    assert refuse(date="soon", until="today") == "date"
    assert refuse(date="-3", until="today", start=4) == "start"


def test_the_notes_of_a_range_share_the_room(small: Small) -> None:
    long = {f"D/2026-03-{day:02}.md": f"day {day} " * 2000 for day in range(9, 16)}
    harness = small({**DAYS, **long})
    text = harness.text("daily_note", date="-6", until="today", max_chars=4000)
    assert len(text) < 4500
    assert text.count("[D/") == 7
    assert text.count("[cut; continue with start=") == 7


def test_hidden_notes_of_a_range_are_not_there(small: Small) -> None:
    harness = small(DAYS, scope=Scope(deny=("D/2026-03-14.md",)))
    text = harness.text("daily_note", date="-1", until="today")
    assert "day 14" not in text
    assert text.endswith("(do not exist: D/2026-03-14.md)")
