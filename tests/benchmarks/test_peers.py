"""The benchmark of peers measures vaultbridge without a network, and finds a careless server's faults."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
CARELESS = Path(__file__).with_name("careless_server.py")

CARELESS_ENTRY = """
[careless]
version = "1"
command = ["{{python}}", "{server}", "{{vault}}"]
hide = {{}}
[careless.tools]
read = ["read", {{ path = "{{path}}" }}]
search = ["search", {{ query = "{{query}}" }}]
write = ["write", {{ path = "{{path}}", text = "{{text}}" }}]
append = ["append", {{ path = "{{path}}", text = "{{text}}" }}]
set_property = ["set_property", {{ path = "{{path}}", name = "{{property}}", value = "{{value}}" }}]
append_to_heading = ["append_to_heading", {{ path = "{{path}}", heading = "{{heading}}", text = "{{text}}" }}]
rename = ["rename", {{ path = "{{path}}", to = "{{to_path}}" }}]
"""

RUN_SECONDS = 300.0
"""A run of a tiny vault takes about 20 s; a busy machine gets more."""


class Run:
    """What one run of the command wrote."""

    def __init__(self, folder: Path) -> None:
        first = (PEERS / "peers.toml").read_text("utf-8").partition("\n[mcpvault]")[0]
        table = folder / "servers.toml"
        table.write_text(first + CARELESS_ENTRY.format(server=CARELESS))
        command = [
            sys.executable,
            str(PEERS / "run.py"),
            "--table",
            str(table),
            "--notes",
            "30",
            "--rounds",
            "1",
        ]
        done = subprocess.run(
            [*command, "--json", str(folder / "figures.json"), "--write-docs", str(folder)],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.folder = folder
        self.printed = done.stdout
        self.result: dict[str, Any] = json.loads((folder / "figures.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("peers")
    document = "Before.\n\n<!-- figures of 30 notes -->\n<!-- end of figures of 30 notes -->\n\nAfter.\n"
    (folder / "benchmarks.md").write_text(document)
    (folder / "images").mkdir()
    return Run(folder)


@pytest.mark.long
def test_vaultbridge_gets_every_figure(run: Run) -> None:
    figures = run.result["figures"]["vaultbridge"]
    assert not {name: figure for name, figure in figures.items() if "no" in figure or "failed" in figure}
    assert all(
        0 < figure["low"] <= figure["median"] <= figure["high"]
        for figure in figures.values()
        if "median" in figure
    )
    assert figures["rename_missed"]["value"] == 0
    assert figures["backlinks_found"]["value"] == figures["backlinks_found"]["of"] == 29


@pytest.mark.long
def test_vaultbridge_changes_nothing_that_it_was_not_asked_to(run: Run) -> None:
    verdicts = run.result["fidelity"]["vaultbridge"]
    faults = {name: verdict for name, verdict in verdicts.items() if not verdict.get("good")}
    assert not faults


@pytest.mark.long
def test_every_fault_of_a_careless_server_is_found(run: Run) -> None:
    verdicts = run.result["fidelity"]["careless"]
    assert verdicts.keys() == run.result["fidelity"]["vaultbridge"].keys()
    assert not [name for name, verdict in verdicts.items() if verdict.get("good", True)]
    assert len(verdicts["links_missed"]["missed"]) == 15
    assert verdicts["links_missed"]["spoiled"] == ["code"]


@pytest.mark.long
def test_a_missing_ability_of_a_server_gives_no_figure(run: Run) -> None:
    figures = run.result["figures"]["careless"]
    assert figures["backlinks"] == {"no": True}
    assert figures["rename"]["incomplete"]


@pytest.mark.long
def test_the_tables_are_well_formed(run: Run) -> None:
    rows = [line for line in run.printed.splitlines() if line.startswith("|")]
    widths = [line.count("|") for line in rows]
    assert sorted(set(widths)) == [4, 5]  # Two servers and their limits; two servers alone.
    assert any("| no |" in line for line in rows)


@pytest.mark.long
def test_tables_and_plots_go_between_the_marks_of_the_document(run: Run) -> None:
    text = (run.folder / "benchmarks.md").read_text("utf-8")
    assert text.startswith("Before.\n\n<!-- figures of 30 notes -->\n\n30 notes, 1 rounds")
    assert text.endswith("<!-- end of figures of 30 notes -->\n\nAfter.\n")
    assert run.printed.strip() in text
    for name in ("times", "sizes"):
        plot = ElementTree.parse(run.folder / "images" / f"peers-{name}-30.svg")
        assert plot.getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert f"images/peers-{name}-30.svg" in text


@pytest.mark.long
def test_no_figure_names_this_machine(run: Run) -> None:
    found = json.dumps(run.result)
    assert str(ROOT) not in found
    assert platform.node() not in found


def test_every_pin_is_locked_with_hashes() -> None:
    for name, entry in tomllib.loads((PEERS / "peers.toml").read_text("utf-8")).items():
        pins = PEERS / "pins" / name
        if entry.get("installed_by") == "npm":
            packages = json.loads((pins / "package-lock.json").read_text())["packages"]
            assert all("integrity" in package for path, package in packages.items() if path), name
        elif entry.get("installed_by") == "pip":
            assert "--hash=sha256:" in (pins / "requirements.lock").read_text(), name
