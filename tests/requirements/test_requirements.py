"""The requirements tables are data that is checked: every claim stands in its seed and has a test that
exists.

The seeds lie beside the repository, in `../shared/seeds`. Without them the anchors cannot be compared, and
only the tests' existence is checked.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from requirements.document import render_pages

ROOT = Path(__file__).parents[2]
SEEDS = ROOT.parent / "shared" / "seeds"
TABLES = sorted(Path(__file__).parent.glob("*.toml"))
SEED_TABLES = [table for table in TABLES if table.stem.startswith("seed_")]

WIDEST_GAP = 420
"""The longest stretch of a seed that may go without a claim: about one paragraph or one example."""


def fold(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@cache
def list_functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def load(table: Path) -> dict[str, Any]:
    return tomllib.loads(table.read_text("utf-8"))


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.stem)
def test_every_claim_has_a_test_that_exists(table: Path) -> None:
    wrong = []
    for claim in load(table)["claim"]:
        if not claim.get("tests") and not claim.get("differs"):
            wrong.append(f"{claim['id']}: neither a test nor a reason")
        for test in claim.get("tests", []):
            file, _, name = test.partition("::")
            name = name.rpartition("::")[2].partition("[")[0]
            if not (ROOT / file).is_file() or name not in list_functions(file):
                wrong.append(f"{claim['id']}: no test {test}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.stem)
def test_claim_ids_are_unique(table: Path) -> None:
    ids = [claim["id"] for claim in load(table)["claim"]]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed documents are not beside the repository")
@pytest.mark.parametrize("table", SEED_TABLES, ids=lambda t: t.stem)
def test_every_part_of_the_seed_has_a_claim(table: Path) -> None:
    data = load(table)
    seed = fold((SEEDS / data["seed"]).read_text("utf-8"))
    places = [0]
    for claim in data["claim"]:
        place = seed.find(fold(claim["at"]))
        assert place >= 0, f"{claim['id']}: the seed does not say {claim['at']!r}"
        places.append(place)
    places = [*sorted(places), len(seed)]
    gaps = [seed[a : a + 60] for a, b in itertools.pairwise(places) if b - a > WIDEST_GAP]
    assert not gaps, f"no claim within {WIDEST_GAP} characters after: {gaps}"


def test_all_five_seeds_have_a_table() -> None:
    assert [table.stem for table in SEED_TABLES] == [f"seed_00{n}" for n in range(5)]


@pytest.mark.parametrize("page", render_pages(ROOT), ids=lambda p: p.stem)
def test_the_page_of_each_protocol_is_current(page: Path) -> None:
    assert page.read_text("utf-8") == render_pages(ROOT)[page], "run make generate"
