"""Twenty requests are fulfilled at the cost of the goal, and the benchmark's checks find what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"

RUN_SECONDS = 300.0
"""A run takes about 20 s; a busy machine gets more."""

MOST_ESTIMATED = 5_760
"""The goal of 6,000 as the run counts it here: without npm, tokens are estimated as four characters each, and
the tokenizer counts 4 % more in our list and answers."""


@pytest.fixture(scope="module")
def modules() -> Iterator[Any]:
    sys.path[:0] = [str(BENCHMARKS)]
    try:
        from tasks import requests, vault

        yield requests, vault
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_every_request_is_fulfilled_at_the_cost_of_the_goal(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "tasks_bench.py"), "--only", "vaultbridge", "--json", str(figures)],
        env={"PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert figures.exists(), done.stderr
    ours = json.loads(figures.read_text())["vaultbridge"]
    missed = [name for name, request in ours["requests"].items() if not request["done"]]
    assert (missed, ours["errors"], ours["done"]) == ([], 0, 20)
    assert ours["calls"] <= 26
    assert ours["tokens"] <= MOST_ESTIMATED


def test_a_vault_in_which_nothing_was_done_fulfils_nothing(modules: Any, tmp_path: Path) -> None:
    requests, vault = modules
    vault.write(tmp_path)
    # "Undo that" asks for the vault as it was.
    assert [asked.name for asked in requests.REQUESTS if asked.check(tmp_path, "")] == ["undo"]


def test_an_answer_that_names_every_note_fulfils_nothing(modules: Any, tmp_path: Path) -> None:
    requests, vault = modules
    vault.write(tmp_path)
    everything = "\n".join(f"{path}\n{text}" for path, text in vault.FILES.items())
    fulfilled = [asked.name for asked in requests.REQUESTS if asked.check(tmp_path, everything)]
    assert fulfilled == ["decide", "undo"], "what was decided is in it"


def test_a_change_of_any_other_note_is_noticed(modules: Any, tmp_path: Path) -> None:
    requests, vault = modules
    vault.write(tmp_path)
    (tmp_path / "Topics/Topic 007.md").write_text("changed")
    assert not [asked.name for asked in requests.REQUESTS if asked.check(tmp_path, "")]
