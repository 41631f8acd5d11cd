"""`vault_info`."""

from __future__ import annotations

import os

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import InvalidArgument
from vaultbridge.vault.scope import Scope

SICK: dict[str, str | bytes] = {
    ".obsidian/app.json": '{"userIgnoreFilters":["Old/","Private/"],"useMarkdownLinks":true}',
    ".obsidian/bookmarks.json": (
        '{"items":[{"type":"file","path":"A.md"},{"type":"file","path":"Private/S.md"}]}'
    ),
    ".obsidian/daily-notes.json": '{"folder":"D","template":"Private/S"}',
    "A.md": "[[Gone]] [[Gone]] [[Lost]]\n",
    "f/A.md": "---\na: [\n---\n",
    "g/A.md": "x ^b\n\ny ^b\n",
    "B (conflicted copy 2026-01-02 101010).md": "",
    "B.md": "---\nk: 1\nk: 2\n---\n",
    "C.canvas": "[",
    "Private/S.md": "---\nz: [\n---\n[[Secret]]\n",
    "Private/B.md": "",
    "p.png": b"p",
}


def test_the_summary_of_a_healthy_vault(sample: ToolHarness) -> None:
    rows = sample.rows("vault_info")
    assert rows[0] == "Vault sample-vault: 32 notes, 1 canvases, 1 bases, 1 attachments"
    assert "2 broken links to 2 names" in rows[2]
    assert "0 notes with unreadable properties" in rows[2]
    assert "New notes go to Inbox" in rows
    assert "Daily notes: Daily, YYYY-MM-DD, template Templates/Daily" in rows
    assert "Obsidian is not running" in rows


def test_each_section_of_an_unhealthy_vault(small: Small) -> None:
    harness = small(SICK, scope=Scope(deny=("Private/",)))
    summary = harness.text("vault_info")
    assert "3 broken links to 2 names" in summary
    assert "2 notes with unreadable properties" in summary
    assert "1 duplicate block ids" in summary
    assert "1 other problems" in summary
    assert "1 duplicate names, 1 conflict copies" in summary
    assert harness.rows("vault_info", section="links") == [
        "A.md: [[Gone]]",
        "A.md: [[Lost]]",
        "(broken links: 2)",
    ]
    problems = harness.rows("vault_info", section="problems")
    assert [row.split(":")[0] for row in problems[:-1]] == ["B.md", "C.canvas", "f/A.md", "g/A.md"]
    assert ": duplicate-key: " in problems[0]
    assert harness.rows("vault_info", section="duplicates") == [
        "A.md | f/A.md | g/A.md",
        "(duplicate names: 1)",
    ]
    assert harness.rows("vault_info", section="conflicts")[0] == (
        "B (conflicted copy 2026-01-02 101010).md  a copy of B.md, by nextcloud"
    )
    assert harness.rows("vault_info", section="problems", limit=1, offset=1)[-1] == ("(2-2 of 4; offset=2)")


def test_settings_name_no_hidden_note(small: Small) -> None:
    harness = small(SICK, scope=Scope(deny=("Private/",)))
    text = harness.text("vault_info", section="settings") + harness.text("vault_info")
    assert "Bookmark: A.md (file)" in text
    assert "Excluded from search: Old/" in text
    assert "Links: shortest, Markdown" in text
    assert "Private" not in text


def test_hidden_notes_are_never_counted(small: Small) -> None:
    harness = small(SICK, scope=Scope(deny=("Private/",)))
    everything = "".join(
        harness.text("vault_info", section=section)
        for section in ("summary", "links", "problems", "duplicates", "conflicts", "settings")
    )
    assert "Secret" not in everything
    assert "5 notes, 1 canvases" in everything


def test_read_only_is_reported(small: Small) -> None:
    assert "Open read-only" in small({}, scope=Scope(read_only=True)).text("vault_info")
    assert "Open read-only" in small({}, name="v2").with_context(read_only=True).text("vault_info")


def test_wrong_calls_are_named(small: Small) -> None:
    assert small({}).catch_refusal(InvalidArgument, "vault_info", section="mood").argument == "section"


@pytest.mark.parametrize(
    ("app", "rows"),
    [
        (
            "{}",
            [
                "New notes go to the top of the vault",
                "Attachments go to the top of the vault",
                "Deleted files go to the system's trash",
            ],
        ),
        (
            '{"attachmentFolderPath":"./","trashOption":"local","newFileLocation":"current"}',
            [
                "New notes go to the active note's folder",
                "Attachments go to the note's folder",
                "Deleted files go to .trash in the vault",
            ],
        ),
        (
            '{"attachmentFolderPath":"./img","trashOption":"none"}',
            ["Attachments go to img in the note's folder", "Deleted files are deleted permanently"],
        ),
        ('{"attachmentFolderPath":"Media/In"}', ["Attachments go to Media/In"]),
    ],
)
def test_settings_are_described_in_words(small: Small, app: str, rows: list[str]) -> None:
    harness = small({"A.md": "", ".obsidian/app.json": app})
    assert set(rows) <= set(harness.rows("vault_info", section="settings"))


def test_the_summary_reports_unusable_file_names(small: Small) -> None:
    harness = small({"A.md": "x"})
    for number in range(7):
        place = harness.folder / os.fsdecode(b"odd %d \xff.md" % number)
        try:
            place.touch()
        except OSError:
            pytest.skip("this file system takes UTF-8 only")
    summary = harness.text("vault_info")
    assert "because its name is not UTF-8 or contains control characters: 7 (odd 0 \\xff.md, " in summary
    assert "odd 4 \\xff.md, …)" in summary
