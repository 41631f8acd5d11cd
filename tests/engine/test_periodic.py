"""Which periodic note a date stands for, and what adding to it does. Today is Sunday, 15 March 2026."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from support.files import write_vault
from support.tools import open_harness
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.drafting.templates import find_periodic_note, plan_note_addition
from vaultbridge.engine.operations import Append, Create, Prepend
from vaultbridge.errors import InvalidArgument
from vaultbridge.vault.settings import Period


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DirectEngine]:
    folder = tmp_path / "vault"
    write_vault(
        folder,
        {
            ".obsidian/daily-notes.json": '{"folder":"D","template":"T"}',
            "T.md": "{{title}} {{date:dddd}} {{time}}\n",
            "D/2026-03-14.md": "there\n",
        },
    )
    harness = open_harness(tmp_path, folder)
    yield harness.engine
    harness.engine.close()


@pytest.mark.parametrize(
    ("period", "when", "day"),
    [
        ("daily", "", date(2026, 3, 15)),
        ("daily", "Today", date(2026, 3, 15)),
        ("daily", "-15", date(2026, 2, 28)),
        ("weekly", "1", date(2026, 3, 22)),
        ("monthly", "-3", date(2025, 12, 1)),
        ("monthly", "10", date(2027, 1, 1)),
        ("quarterly", "+1", date(2026, 6, 1)),
        ("yearly", "-1", date(2025, 3, 1)),
        ("yearly", "2020-02-29", date(2020, 2, 29)),
    ],
)
def test_a_word_or_number_names_a_day(engine: DirectEngine, period: Period, when: str, day: date) -> None:
    assert find_periodic_note(engine, period, when).day == day


@pytest.mark.parametrize("when", ["soon", "2026-13-01", "99999", "-99999999", "1.5"])
def test_an_invalid_date_is_refused(engine: DirectEngine, when: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        find_periodic_note(engine, "yearly", when)
    assert caught.value.argument == "date"


def test_a_new_note_is_created_from_its_template_before_text_is_added(engine: DirectEngine) -> None:
    note = find_periodic_note(engine, "daily", "2026-03-20")
    assert not note.exists
    made, notices = plan_note_addition(engine, note, "x", first=True)
    assert made == [
        Create(note="D/2026-03-20.md", content="2026-03-20 Friday 21:15\n"),
        Prepend(note="D/2026-03-20.md", content="x"),
    ]
    assert notices == ()


def test_a_note_that_is_there_is_only_added_to(engine: DirectEngine) -> None:
    note = find_periodic_note(engine, "daily", "yesterday")
    assert note.exists
    assert plan_note_addition(engine, note, "x", heading="H") == (
        [Append(note="D/2026-03-14.md", content="x", heading="H")],
        (),
    )
    assert plan_note_addition(engine, note, "") == ([], ())
