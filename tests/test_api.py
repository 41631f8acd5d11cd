"""`import vaultbridge`: a vault for scripts and notebooks."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vaultbridge
from support.vault import copy_sample_vault
from vaultbridge import api
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, VaultbridgeError, VaultNotFound

DOCUMENT = Path(__file__).parents[1] / "docs" / "python.md"

VAULT = {
    ".obsidian/app.json": "{}",
    "A.md": "---\nstatus: idle\n---\n# One\n\nsee [[B]] and [[Gone]] #t/x\n\n- [ ] first\n",
    "Sub/B.md": "back to [[A]], naïve 中文\n\n## Part\n\nin it ^b1\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))


def test_the_examples_of_the_documentation_work(tmp_path: Path) -> None:
    failed, tried = doctest.testmod(
        api, extraglobs={"SAMPLE": str(copy_sample_vault(tmp_path, "sample-vault"))}
    )
    assert tried >= 10 and failed == 0


def test_the_snippets_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "Notes"
    notes.mkdir()
    (notes / "Inbox.md").write_text("# Inbox\n", "utf-8")
    (notes / "Plan.md").write_text("---\nstatus: none\n---\n## Decisions\n\nidle windows\n", "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    first, second, review, reports = re.findall(
        r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL
    )
    exec(first, {})
    assert "Plan.md 6 idle windows" in capsys.readouterr().out
    assert "Today" not in (notes / "Inbox.md").read_text("utf-8"), "the last line undoes it"
    with vaultbridge.open(notes) as vault:
        exec(second, {"vault": vault})
    assert "active windows" in (notes / "Plan.md").read_text("utf-8")
    (notes / "Projects").mkdir()
    (notes / "Projects" / "One.md").write_text(
        "---\nstatus: on\n---\n[[Nowhere]] #todo\n- [ ] pay 📅 2999-01-02\n", "utf-8"
    )
    with vaultbridge.open(notes) as vault:
        for _ in range(2):
            exec(review, {"vault": vault})
        (written,) = (notes / "Reviews").iterdir()
        text = written.read_text("utf-8")
        assert (
            "- [[Projects/One]]\n" in text and "- 2999-01-02: pay" in text and text.startswith("---\nweek: ")
        )
        capsys.readouterr()
        exec(reports, {"vault": vault})
    output = capsys.readouterr().out
    assert "Projects/One.md:4 [[Nowhere]]\nProjects/One.md,on" in output and "+[[Nowhere]]" in output


def test_what_is_public_is_what_dir_shows() -> None:
    assert dir(vaultbridge) == [
        "Edit",
        "Hit",
        "Link",
        "Note",
        "Passage",
        "Task",
        "Vault",
        "__version__",
        "errors",
        "open",
    ]
    assert dir(api) == api.__all__
    assert all(getattr(vaultbridge, name) is not None for name in dir(vaultbridge))
    with pytest.raises(AttributeError, match="nothing"):
        vaultbridge.nothing  # noqa: B018 - the access is the test
    public = [name for name in dir(vaultbridge.Vault) if not name.startswith("_")]
    assert all(
        getattr(vaultbridge.Vault, name).__doc__ or name in ("name", "folder", "close") for name in public
    )


def test_the_import_alone_loads_nothing() -> None:
    code = "import sys, vaultbridge; print(sorted(m for m in sys.modules if m.startswith('vaultbridge')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['vaultbridge']"


def test_reading(vault: Path) -> None:
    with vaultbridge.open(vault) as notes:
        assert (notes.name, notes.folder) == ("Notes", vault.resolve())
        note = notes.note("a")
        assert (note.path, note.title, note.properties) == ("A.md", "A", {"status": "idle"})
        assert (note.headings, note.tags) == (("One",), ("t/x",))
        assert notes.read("B#Part").rstrip() == "## Part\n\nin it ^b1"
        assert notes.read("B#^b1").strip() == "in it ^b1"
        assert list(notes.notes()) == ["A.md", "Sub/B.md"] and list(notes.notes("Sub")) == ["Sub/B.md"]
        assert [(link.target, link.raw) for link in notes.links("A")] == [
            ("Sub/B.md", "[[B]]"),
            ("", "[[Gone]]"),
        ]
        assert [(link.source, link.line) for link in notes.backlinks("A")] == [("Sub/B.md", 1)]
        assert notes.tags() == {"t": 1, "t/x": 1}
        assert [(task.path, task.line, task.text) for task in notes.tasks()] == [("A.md", 8, "first")]
        assert notes.search("中文")[0].path == "Sub/B.md"
        assert [hit.path for hit in notes.search("[status:idle]")] == ["A.md"]
        assert notes.search("naïve first", exact=True) == []
        with pytest.raises(NoteNotFound, match="Nowhere"):
            notes.note("Nowhere")


def test_an_edit_is_whole_or_not_at_all(vault: Path) -> None:
    before = {path: path.read_bytes() for path in vault.rglob("*.md")}
    with vaultbridge.open(vault) as notes:
        with notes.edit(label="tidy") as edit:
            edit.set("A", status="active", n=1)
            edit.tick("A", "first")
            edit.append("B", "more", heading="Part")
            edit.move("B", "Sub/C")
            edit.create("New", "text", properties={"n": 1})
        assert {file.path for file in edit.outcome.files} == {"A.md", "Sub/C.md", "New.md"}
        assert "[[C]]" in notes.note("A").text and notes.note("A").properties["status"] == "active"
        assert notes.history()[0].label == "tidy" and notes.history()[0].actor == "python"
        notes.undo()
        assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before
        with pytest.raises(VaultbridgeError), notes.edit() as edit:
            edit.append("A", "one")
            edit.append("Nowhere", "two")
        with pytest.raises(ZeroDivisionError), notes.edit() as edit:
            edit.append("A", "one")
            raise ZeroDivisionError
        with pytest.raises(RuntimeError, match="after the with block"):
            edit.outcome  # noqa: B018 - the access is the test
        assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before


def test_a_note_that_changed_meanwhile_is_not_overwritten(vault: Path) -> None:
    with vaultbridge.open(vault) as notes:
        seen = notes.note("A")
        (vault / "A.md").write_text("somebody else\n", "utf-8")
        with pytest.raises(VaultbridgeError, match="changed"), notes.edit(expected={"A": seen.hash}) as edit:
            edit.append("A", "mine")
        assert (vault / "A.md").read_text("utf-8") == "somebody else\n"


def test_a_dry_run_and_a_read_only_vault_change_nothing(vault: Path) -> None:
    with vaultbridge.open(vault) as notes, notes.edit(dry_run=True) as edit:
        edit.append("A", "more")
    assert "+more" in edit.outcome.diff and "more" not in (vault / "A.md").read_text("utf-8")
    refused = pytest.raises(VaultbridgeError, match="read-only")
    with vaultbridge.open(vault, read_only=True) as notes, refused, notes.edit() as edit:
        edit.append("A", "more")


def test_the_vault_of_the_current_folder_is_opened(
    vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(vault / "Sub")
    with vaultbridge.open() as notes:
        assert notes.name == "Notes" and repr(notes) == "<Vault 'Notes'>"
    with pytest.raises(VaultNotFound):
        vaultbridge.open(tmp_path / "nowhere")
    assert issubclass(EditRefused, VaultbridgeError)


def test_context_keeps_to_its_budget_and_quotes_the_notes(tmp_path: Path) -> None:
    question = "how dark is the sky above the village"
    with vaultbridge.open(copy_sample_vault(tmp_path)) as vault:
        passages = vault.context(question, max_chars=1500)
        assert passages[0].path == vault.search(question)[0].path
        assert sum(len(passage.text) for passage in passages) <= 1500
        for passage in passages:
            lines = vault.note(passage.path).text.splitlines(keepends=True)
            assert passage.text.strip() in "".join(lines[passage.line - 1 : passage.end_line])
        with pytest.raises(InvalidArgument, match="200 to 90000"):
            vault.context(question, max_chars=10)


def test_nothing_is_cut(vault: Path) -> None:
    """Limits are for assistants, which pay for what they read. A script that writes back what it read would
    lose the rest."""
    (vault / "Long.md").write_text("# A\n" + "- [ ] water the roses\n" * 9_000 + "# B\n", "utf-8")
    with vaultbridge.open(vault) as opened:
        assert opened.read("Long#A").count("roses") == 9_000
        assert len(opened.tasks()) == 9_001
        assert len(opened.tasks(text="roses")) == 9_000


def test_an_edit_that_is_over_takes_nothing_more(vault: Path) -> None:
    with vaultbridge.open(vault) as opened:
        with opened.edit() as edit:
            edit.append("A", "one")
        with pytest.raises(RuntimeError, match="has ended"):
            edit.append("A", "two")
        with pytest.raises(RuntimeError, match="has ended"), edit:
            pass
        with pytest.raises(KeyError), opened.edit() as failed:
            failed.append("A", "three")
            raise KeyError
        with pytest.raises(RuntimeError, match="has ended"):
            failed.set("A", status="x")
        assert opened.read("A").endswith("- [ ] first\n\none\n")


def test_a_closed_vault_says_so(vault: Path) -> None:
    with vaultbridge.open(vault) as opened:
        edit = opened.edit()
        edit.append("A", "late")
    opened.close()
    assert (opened.name, opened.folder, repr(opened)) == (vault.name, vault, f"<Vault {vault.name!r}>")
    for use in (
        lambda: opened.read("A"),
        lambda: opened.note("A"),
        lambda: opened.search("one"),
        lambda: list(opened.notes()),
        lambda: opened.history(),
        lambda: opened.undo(),
        lambda: opened.edit(),
        lambda: opened.__enter__(),
        lambda: edit.__exit__(None, None, None),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    assert "late" not in (vault / "A.md").read_text("utf-8")


def test_what_cannot_be_meant_is_a_wrong_argument(vault: Path) -> None:
    with vaultbridge.open(vault) as notes:
        for use in (
            lambda: notes.undo("newest"),
            lambda: notes.undo(2**70),
            lambda: notes.undo(-(2**70)),
            lambda: notes.read("half \ud800"),
            lambda: notes.links("\udcff"),
            lambda: notes.history("\udcff"),
        ):
            with pytest.raises(InvalidArgument):
                use()


def test_errors_are_public_and_speak_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import vaultbridge; print(vaultbridge.errors.NoteNotFound.code)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "FILE_NOT_FOUND\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("VAULTBRIDGE_VAULT", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VaultNotFound, match=r"vaultbridge\.open\(folder\)"):
        vaultbridge.open()


def test_notes_that_were_changed_since_a_day_or_a_time(vault: Path) -> None:
    from datetime import UTC, date, datetime, timedelta

    now = datetime.now(UTC)
    for name, days in (("A.md", 3), ("Sub/B.md", 10)):
        at = (now - timedelta(days=days)).timestamp()
        os.utime(vault / name, (at, at))
    (vault / "Odd.md").write_text("x", "utf-8")
    for at in (-(10**9), 10**10, 300_000_000_000):
        os.utime(vault / "Odd.md", (at, at))
        with vaultbridge.open(vault) as opened:
            assert "Odd.md" in opened.recent()
    (vault / "Odd.md").unlink()
    with vaultbridge.open(vault) as opened:
        found = opened.recent()
        assert list(found) == ["A.md", "Sub/B.md"] and abs(
            found["A.md"] - now + timedelta(days=3)
        ) < timedelta(1)
        assert list(opened.recent(since=now - timedelta(days=4))) == ["A.md"]
        assert list(opened.recent(since=date.today() - timedelta(days=20), limit=1)) == ["A.md"]
        assert opened.recent(since=now) == {} and list(opened.recent(limit=1)) == ["A.md"]
        assert [link.raw for link in opened.broken_links()] == ["[[Gone]]"] and not opened.broken_links("Sub")


def test_a_property_may_have_the_name_of_an_argument(vault: Path) -> None:
    with vaultbridge.open(vault) as opened:
        with opened.edit() as edit:
            edit.set("A", note="x", self="y", **{"due date": "2026-12-01"})
        found = opened.note("A").properties
        assert (found["note"], found["self"], str(found["due date"])) == ("x", "y", "2026-12-01")
