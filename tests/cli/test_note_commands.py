"""The commands that read and change notes, as a person runs them inside a vault."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.commands import run_command
from vaultbridge.cli.notes.write import parse_assignment
from vaultbridge.markdown.parse import parse

Run = Callable[..., subprocess.CompletedProcess[str]]

VAULT = {
    ".obsidian/app.json": "{}",
    "Inbox.md": "# Inbox\n\n## Today\n\n- [ ] first\n- [x] done\n",
    "Work/Plan.md": "---\nstatus: idle\ntags: [work]\n---\n- [ ] write #urgent 📅 2026-01-02\n",
    "Templates/Book.md": "---\nkind: book\n---\n# {{title}}\n",
    "All.base": "views: [{type: table, name: Every, order: [file.name, status]}, {type: cards, name: Other}]",
}


@pytest.fixture
def run(vault: Path, tmp_path: Path) -> Run:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "VAULTBRIDGE_CACHE": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }

    def command(*args: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return run_command(*args, env={**environ, **more}, cwd=vault, stdin=stdin.encode())

    return command


def read_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_new_creates_from_text_template_and_properties(run: Run, vault: Path) -> None:
    done = run("new", "Read/Deep Book", "More", "text", "--template", "Templates/Book", "--set", "pages=300")
    assert read_lines(done)[0] == "+ Read/Deep Book.md"
    note = parse((vault / "Read" / "Deep Book.md").read_text("utf-8"))
    assert note.properties is not None
    assert note.properties.values == {"kind": "book", "pages": 300}
    assert [heading.text for heading in note.headings] == ["Deep Book"]
    again = run("new", "Read/Deep Book", "other")
    assert again.returncode == 1 and "exist" in again.stderr
    piped = run("new", "Piped", "-", stdin="naïve 中文\nsecond\n")
    assert piped.returncode == 0
    assert (vault / "Piped.md").read_text("utf-8") == "naïve 中文\nsecond\n"


def test_append_adds_where_the_place_says(run: Run, vault: Path) -> None:
    read_lines(run("append", "Inbox#Today", "- [ ] second"))
    read_lines(run("append", "Inbox#Later", "--create", "-", stdin="- [ ] third\n"))
    read_lines(run("append", "Inbox", "--first", "at", "the", "top"))
    text = (vault / "Inbox.md").read_text("utf-8")
    assert text.startswith("at the top\n")
    assert text.index("- [ ] second") < text.index("## Later") < text.index("- [ ] third")
    missing = run("append", "Inbox#Nowhere", "x")
    assert missing.returncode == 1 and "The note has: Inbox" in missing.stderr
    assert run("append", "Inbox:3", "x").returncode == 2
    assert run("append", "Inbox").returncode == 2
    assert (vault / "Inbox.md").read_text("utf-8") == text


def test_a_change_can_be_seen_before_and_taken_back_after(run: Run, vault: Path) -> None:
    before = (vault / "Inbox.md").read_bytes()
    shown = run("append", "Inbox", "more", "--dry-run")
    assert "+more" in read_lines(shown) and (vault / "Inbox.md").read_bytes() == before
    read_lines(run("append", "Inbox", "more"))
    after = (vault / "Inbox.md").read_bytes()
    preview = read_lines(run("undo", "--dry-run"))
    assert "-more" in preview and "Nothing was written (--dry-run)." in preview
    assert (vault / "Inbox.md").read_bytes() == after
    read_lines(run("undo"))
    assert (vault / "Inbox.md").read_bytes() == before


def test_an_undo_that_would_be_refused_is_refused_in_a_dry_run(run: Run, vault: Path) -> None:
    read_lines(run("append", "Inbox", "more"))
    (vault / "Inbox.md").write_text("changed by another program\n", "utf-8")
    refused = run("undo", "--dry-run")
    assert refused.returncode == 1 and "has changed since" in refused.stderr
    assert "Nothing was written" in run("undo", "--dry-run", "--force").stdout
    assert (vault / "Inbox.md").read_text("utf-8") == "changed by another program\n"


def test_daily_creates_reads_and_names_the_note(run: Run, vault: Path) -> None:
    # In a zone where it is about noon, no day ends between two commands.
    now = datetime.now(UTC)
    west = now.hour - 12
    name = f"{(now - timedelta(hours=west)).date().isoformat()}.md"
    run = partial(run, TZ=f"NOON{west:+d}")
    missing = run("daily")
    assert missing.returncode == 1 and "add text, and it is created" in missing.stderr
    read_lines(run("daily", "- [ ] water the plants"))
    assert (vault / name).read_text("utf-8").rstrip("\n") == "- [ ] water the plants"
    assert read_lines(run("daily")) == ["- [ ] water the plants"]
    assert read_lines(run("daily", "--path")) == [name]
    answer = json.loads(run("daily", "--date", "2020-02-29", "--path", "--json").stdout)
    assert answer == {"path": "2020-02-29.md", "exists": False}
    wrong = run("daily", "--date", "someday")
    assert wrong.returncode == 2 and wrong.stderr.startswith("vaultbridge: --date is 'someday'.")


def test_set_sets_and_removes_properties(run: Run, vault: Path) -> None:
    read_lines(
        run("set", "Plan", "status=active", "zip=01234", "rating=4", 'list=["a","b"]', "--remove", "tags")
    )
    note = parse((vault / "Work" / "Plan.md").read_text("utf-8"))
    assert note.properties is not None
    assert note.properties.values == {"status": "active", "zip": "01234", "rating": 4, "list": ["a", "b"]}
    assert "- [ ] write #urgent" in (vault / "Work" / "Plan.md").read_text("utf-8")
    assert run("set", "Plan").returncode == 2
    assert run("set", "Plan", "novalue").returncode == 2


NUMBER_LIKE = st.text("-+.0123456789eE²٣_", max_size=8)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))) | NUMBER_LIKE | st.just("9" * 5000))
def test_a_value_is_json_or_just_the_text(text: str) -> None:
    name, value = parse_assignment(f"name={text}")
    assert name == "name"
    try:
        expected = json.loads(text)
    except ValueError:
        expected = text.strip()
    if isinstance(expected, dict) or (isinstance(expected, int | float) and repr(expected) != text.strip()):
        # A mapping is no property, and a number that would be written in another way stays as it was typed.
        expected = text.strip()
    assert json.dumps(value) == json.dumps(expected)


def test_programs_get_every_task_and_people_a_count(run: Run, vault: Path) -> None:
    (vault / "Many.md").write_text("- [ ] more\n" * 300, "utf-8")
    shown = run("tasks")
    assert shown.stdout.count("[ ]") == 200
    assert shown.stderr == "200 of 302 tasks\n"
    assert len(read_lines(run("tasks", "--json"))) == 302
    assert len(read_lines(run("tasks", "--json", "--limit", "3"))) == 3
    refused = run("tasks", "--limit", "-1", "--text", "more")
    assert (refused.returncode, refused.stdout) == (2, "") and "--limit must be 0 or more" in refused.stderr


def test_tasks_are_listed_and_ticked(run: Run, vault: Path) -> None:
    listed = run("tasks")
    assert read_lines(listed) == [
        "Work/Plan.md",
        "    5 [ ] write #urgent 📅 2026-01-02",
        "",
        "Inbox.md",
        "    5 [ ] first",
    ]
    assert listed.stderr == "2 tasks\n"
    assert "    6 [x] done" in read_lines(run("tasks", "Inbox", "--status", "done"))
    assert [json.loads(row)["line"] for row in read_lines(run("tasks", "Work/", "--json"))] == [5]
    read_lines(run("tasks", "--tick", "Inbox:5"))
    read_lines(run("tasks", "--tick", "Plan", "write"))
    read_lines(run("tasks", "--untick", "Inbox", "--text", "done"))
    assert (vault / "Inbox.md").read_text("utf-8").endswith("- [x] first\n- [ ] done\n")
    assert "- [x] write" in (vault / "Work" / "Plan.md").read_text("utf-8")
    assert run("tasks", "--tick", "Inbox").returncode == 2
    wrong = run("tasks", "--due-before", "soon")
    assert wrong.returncode == 2 and wrong.stderr.startswith("vaultbridge: --due-before is 'soon'.")


def test_tags_and_properties_are_listed(run: Run) -> None:
    assert sorted(read_lines(run("tags"))) == ["1  #urgent", "1  #work"]
    assert read_lines(run("tags", "#work")) == ["Work/Plan.md"]
    assert read_lines(run("properties", "Plan")) == ["status: idle", 'tags: ["work"]']
    assert read_lines(run("properties", "--name", "status")) == ["Work/Plan.md: idle"]
    assert {json.loads(row)["name"] for row in read_lines(run("properties", "--json"))} >= {
        "status",
        "tags",
        "kind",
    }


def test_a_base_is_a_table(run: Run) -> None:
    table = read_lines(run("base", "All"))
    assert table[0].split() == ["file", "name", "status"]
    assert ["Plan", "idle"] in [row.split() for row in table]
    assert read_lines(run("base", "All", "--views")) == ["Every", "Other"]
    answer = json.loads(run("base", "All", "Every", "--json").stdout)
    assert answer["view"] == "Every" and len(answer["rows"]) == answer["total"]
    assert run("base", "All", "Missing").returncode == 1


def test_read_takes_every_place(run: Run) -> None:
    assert read_lines(run("read", "Inbox:5-6")) == ["- [ ] first", "- [x] done"]
    assert read_lines(run("read", "Inbox:5")) == ["- [ ] first"]
    assert read_lines(run("read", "Inbox#Today"))[0] == "## Today"
    assert read_lines(run("read", "Plan", "--lines", "-2")) == ["---", "status: idle"]


def test_open_hands_the_address_to_the_system(run: Run, vault: Path, tmp_path: Path) -> None:
    assert read_lines(run("open", "Inbox#Today", "--print")) == [
        "obsidian://open?vault=Notes&file=Inbox.md%23Today"
    ]
    missing = run("open", "Nothing", "--print")
    assert missing.returncode == 1 and "No note named" in missing.stderr


def test_export_takes_the_format_from_the_name(run: Run, tmp_path: Path) -> None:
    for name, first in (("a.csv", "path,"), ("a.graphml", "<?xml"), ("a.jsonl", "{"), ("a", "{")):
        read_lines(run("export", "-o", str(tmp_path / name)))
        assert (tmp_path / name).read_text("utf-8").startswith(first)
    read_lines(run("export", "--format", "csv", "-o", str(tmp_path / "b.jsonl")))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "b.jsonl").read_text("utf-8"))))
    assert {row["path"] for row in rows} >= {"Inbox.md", "Work/Plan.md"}


def test_wrong_usage_is_two_lines_with_a_suggestion(run: Run) -> None:
    done = run("read", "--bdoy", "Inbox")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == "vaultbridge read: unrecognized arguments: --bdoy. Did you mean --body?"
    assert (
        second == "usage: vaultbridge read [VAULT] PLACE [options]; `vaultbridge read --help` explains them"
    )


def test_a_note_that_is_not_utf8_is_shown_with_a_note_and_replaced_only_by_force(
    run: Run, vault: Path
) -> None:
    before = b"caf\xe9\n"
    (vault / "Old.md").write_bytes(before)
    shown = run("read", "Old")
    assert shown.stdout == "caf\ufffd\n"
    assert shown.stderr == "note: Old.md is not UTF-8: \ufffd stands for the bytes that are not.\n"
    refused = run("new", "Old", "new", "--overwrite")
    assert refused.returncode == 1 and "not UTF-8" in refused.stderr and "add --force" in refused.stderr
    assert (vault / "Old.md").read_bytes() == before
    assert run("new", "Old", "new", "--overwrite", "--force").returncode == 0
    assert (vault / "Old.md").read_text("utf-8") == "new"


def test_a_missing_heading_offers_to_create_it(run: Run) -> None:
    for command in (("append", "Inbox#Later", "more"), ("daily", "--heading", "Later", "more")):
        done = run(*command)
        assert done.returncode == 1 and done.stderr.rstrip().endswith("To create it, add --create.")
    assert run("append", "Inbox#Later", "--create", "more").returncode == 0


def test_a_file_that_is_not_text_is_not_read(run: Run, vault: Path) -> None:
    for name, data in (("favicon.ico", b"\0\0\1\0abc"), ("sky.png", b"\x89PNG\r\n"), ("a.bin", b"\xff")):
        (vault / name).write_bytes(data)
        done = run("read", name)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{name} is not a text file. `vaultbridge open` opens it in Obsidian." in done.stderr
    (vault / "list.txt").write_text("one\n", "utf-8")
    assert run("read", "list.txt").stdout == "one\n"


@pytest.mark.parametrize("options", [(), ("Inbox", "--orphans")])
def test_links_says_what_it_needs(run: Run, options: tuple[str, ...]) -> None:
    done = run("links", *options)
    assert done.returncode == 2
    wanted = (
        "leave out the note" if options else "Name a note, or ask about the whole vault with --unresolved"
    )
    assert wanted in done.stderr


@pytest.mark.parametrize("query", ["/[unclosed/", "/[unclosed/ and more", "word /a[b/"])
def test_a_pattern_whose_class_is_never_closed_is_reported(run: Run, query: str) -> None:
    strict, ranked = run("search", query, "--exact"), run("search", query)
    assert strict.returncode == 1 and "'[' in the pattern is never closed" in strict.stderr
    assert ranked.returncode == 0 and "'[' in the pattern is never closed" in ranked.stderr
    assert "ranked as plain words" in ranked.stderr or "searched for as text" in ranked.stderr
    assert run("search", "/path/to/a").returncode == 0


@pytest.mark.parametrize(
    "words", [("new",), ("new", "text"), ("append", "text"), ("append", "some", "text"), ("read", "Other")]
)
def test_a_note_outside_the_vault_is_refused_as_one(run: Run, vault: Path, words: tuple[str, ...]) -> None:
    """Also where its name may be a vault's: the person is in a vault, and learns where notes are named."""
    command, *rest = words
    done = run(command, "../escape", *rest)
    assert done.returncode in (1, 2) and not done.stdout
    assert "leads out of the vault" in done.stderr or (
        f"There is no folder {vault.parent / 'escape'}." in done.stderr
        and "If you meant a note: give its path from the top of the vault that you are in" in done.stderr
    )
    assert "leads out of the vault" in run("new", "-v", ".", "../escape", "text").stderr
    assert not (vault.parent / "escape.md").exists()


def test_a_first_word_that_is_taken_for_the_vault_says_how_to_name_it(run: Run, vault: Path) -> None:
    done = run("search", "../escape", "text")
    assert f"There is no folder {vault.parent / 'escape'}." in done.stderr
    assert "name the vault with -v" in done.stderr


def test_a_name_that_nothing_resembles_gets_no_suggestion(run: Run, vault: Path) -> None:
    (vault / "Weather lore.md").write_text("rain\n", "utf-8")
    assert "Did you mean" not in run("append", "Nowhere", "text").stderr
    done = run("append", "Work/Plam", "text")
    assert "Did you mean: Work/Plan.md? " in done.stderr
