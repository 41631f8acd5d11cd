"""Whatever people paste into a search is answered, through every door: it is never an error, and finds the
notes that have its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vaultbridge
from support.plain_texts import FILES, draw_texts
from support.tools import Small
from vaultbridge.cli.search import main_context, main_search
from vaultbridge.index.query.parse import QUERY_CHARS


@pytest.mark.parametrize("seed", range(6))
def test_drawn_texts_are_answered_by_both_tools(small: Small, seed: int) -> None:
    harness = small(FILES)
    for text, _ in draw_texts(seed, 60):
        for order in ("relevance", "modified"):
            answer = harness.text("search", query=text, sort=order, matches=0)
            assert ".md" in answer, text
        assert ".md" in harness.text("context", question=text), text


def test_drawn_texts_are_answered_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "Notes"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    with vaultbridge.open(folder) as vault:
        for text, _ in draw_texts(91, 60):
            assert vault.search(text), text
            assert vault.context(text), text


def test_drawn_texts_are_answered_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "Notes"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    for text, _ in draw_texts(92, 40):
        assert main_search(["--json", "-v", str(folder), "--", text]) == 0
        assert json.loads(capsys.readouterr().out)["total"], text
        assert main_context(["--json", "-v", str(folder), "--", text]) == 0
        assert json.loads(capsys.readouterr().out)["passages"], text
    assert main_search(["--json", "-v", str(folder), "grep", "-n"]) == 0
    answered = json.loads(capsys.readouterr().out)
    assert [hit["path"] for hit in answered["hits"]] == ["English.md"]
    assert answered["reason"] == "no note matches all of it"


@pytest.mark.parametrize("text", ["ls -password", "zzz: -password user:", "qq -user -grep"])
def test_what_looks_excluded_is_found_if_no_note_has_the_rest(small: Small, text: str) -> None:
    answer = small(FILES).text("search", query=text, matches=0)
    assert "English.md" in answer and "ranked as plain words" in answer


def test_what_is_excluded_is_not_ranked_where_a_note_has_the_rest(small: Small) -> None:
    answer = small(FILES).text("search", query="Schlüssel zzz -password", matches=0)
    assert "German.md" in answer and "English.md" not in answer


@pytest.mark.parametrize("text", ["(" * 5_000, '"' * QUERY_CHARS, "\\" * QUERY_CHARS, "-(" * 40, "[%:(" * 40])
def test_texts_of_many_signs_are_no_error(small: Small, text: str) -> None:
    assert small(FILES).text("search", query=text).endswith("(notes: none)")
