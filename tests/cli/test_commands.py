"""The vault commands as a person runs them: real processes, real output, real exit codes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.commands import run_command

Run = Callable[..., subprocess.CompletedProcess[str]]


VAULT_NAME = "My Vault"
VAULT = {
    "One.md": "---\ntags: [a]\naliases: [Uno]\nzip: 01234\n---\n# One\n\nSee [[Two]] and [[Gone]]. #b\n",
    "Two.md": "# Two\n\n## Part\n\nback to [[One]] ^x1\n\n- [ ] task\n",
    "Sub/Drei.md": "nothing here, naïve 中文\n",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environ = {
        **os.environ,
        "VAULTBRIDGE_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }

    def command(*args: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_command(*args, env=environ, stdin=stdin.encode())

    return command


def test_index_counts_what_it_did(run: Run, vault: Path) -> None:
    first = json.loads(run("index", vault, "--json").stdout)
    assert (first["added"], first["notes"], first["changed"]) == (3, 3, 0)
    again = run("index", vault)
    assert "0 added, 0 changed, 0 removed" in again.stdout
    assert "My Vault: 3 notes, 0 canvases, 0 bases, 0 attachments\n" in again.stdout
    assert again.returncode == 0


def test_one_of_a_kind_is_counted_in_the_singular(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "V"
    folder.mkdir()
    for name in ("A.md", "B.canvas", "C.base", "D.png"):
        (folder / name).write_text("")
    assert "V: 1 note, 1 canvas, 1 base, 1 attachment\n" in run("index", folder).stdout


def test_search_answers_grep_style_with_a_total(run: Run, vault: Path) -> None:
    done = run("search", vault, "task-todo:")
    assert done.stdout == "Two.md:7: - [ ] task\n"
    assert done.stderr == "1 note\n"
    assert run("search", vault, "中文").stdout.startswith("Sub/Drei.md:1:")
    assert run("search", vault, "naive").stdout.startswith("Sub/Drei.md:1:")
    page = json.loads(run("search", vault, "tag:#a OR part", "--json").stdout)
    assert page["total"] == 2 and page["complete"] is True


def test_plain_words_are_ranked_and_exact_ones_are_not(run: Run, vault: Path) -> None:
    done = run("search", vault, "what task is in this part")
    assert done.stdout.startswith("Two.md#Part:7: - [ ] task\n")
    missing = run("search", vault, "task zebra")
    assert missing.stdout == "Two.md#Part:7: - [ ] task\n"
    assert missing.stderr == "1 note; no note has all the words\n"
    exact = run("search", vault, "task zebra", "--exact")
    assert (exact.stdout, exact.stderr) == ("", "0 notes\n")
    page = json.loads(run("search", vault, "task zebra", "--json", "--explain").stdout)
    (hit,) = page["hits"]
    assert (hit["path"], hit["missing"], page["with_all_words"]) == ("Two.md", ["zebra"], 0)
    assert hit["score"] == pytest.approx(sum(hit["views"].values()))
    assert (
        hit["matches"][0]["text"] == "- [ ] task" and hit["sections"][0]["line"] <= hit["matches"][0]["line"]
    )
    explained = run("search", vault, "task zebra", "--explain").stdout.splitlines()[1]
    assert explained.startswith(f"  {hit['score']:.4g} = ") and explained.endswith("; without zebra")


def test_more_notes_than_are_ranked_are_counted_with_a_plus(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "V"
    folder.mkdir()
    for number in range(1001):
        (folder / f"{number}.md").write_text("needle")
    assert run("search", folder, "needle", "--limit", "1").stderr == "1-1 of 1000+ notes\n"
    page = json.loads(run("search", folder, "needle", "--json").stdout)
    assert (page["total"], page["more"]) == (1000, True)
    exact = run("search", folder, "needle", "--limit", "1", "--exact")
    assert exact.stderr == "1-1 of 1001 notes\n"


def test_context_shows_passages_within_the_characters(run: Run, vault: Path) -> None:
    done = run("context", vault, "what", "task", "--max-chars", "300")
    assert done.returncode == 0 and len(done.stdout) <= 301
    assert done.stdout.startswith("[Two.md#Part:") and "- [ ] task" in done.stdout
    found = json.loads(run("context", vault, "task", "--json").stdout)
    (passage,) = found["passages"]
    assert passage["text"] in (vault / passage["path"]).read_text("utf-8")
    wrong = run("context", vault, "task", "--max-chars", "10")
    assert wrong.returncode == 2 and "200 to 90000" in wrong.stderr
    assert run("context", vault, "zebra").stdout == "(no note has any of the words)\n"


def test_a_query_that_cannot_be_read_says_where(run: Run, vault: Path) -> None:
    ranked = run("search", vault, "(one")
    assert ranked.returncode == 0 and ranked.stdout.startswith("One.md")
    assert ranked.stderr.endswith("; '(' is never closed: ranked as plain words\n")
    done = run("search", vault, "--exact", "(one")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("vaultbridge: ") and done.stderr.count("\n") == 1


def test_read_gives_the_note_its_parts_and_its_outline(run: Run, vault: Path) -> None:
    assert run("read", vault, "uno").stdout == (vault / "One.md").read_text()
    assert run("read", vault, "Two#Part").stdout == "## Part\n\nback to [[One]] ^x1\n\n- [ ] task\n"
    assert run("read", vault, "Two#^x1").stdout == "back to [[One]] ^x1\n"
    assert run("read", vault, "Two", "--lines", "3-3").stdout == "## Part\n"
    assert run("read", vault, "Two", "--outline").stdout == "# Two  (lines 1-7)\n## Part  (lines 3-7)\n"
    assert run("read", vault, "One", "--body").stdout.startswith("# One")
    data = json.loads(run("read", vault, "One", "--json").stdout)
    assert data["path"] == "One.md" and data["properties"]["zip"] == 1234


def test_an_unknown_note_is_one_clear_line_with_the_closest_names(run: Run, vault: Path) -> None:
    done = run("read", vault, "Twoo")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vaultbridge: No note named 'Twoo'. Did you mean: Two.md?\n"


def test_an_unknown_vault_lists_the_known_ones(run: Run, vault: Path, tmp_path: Path) -> None:
    known = tmp_path / "config" / "obsidian" / "obsidian.json"
    known.parent.mkdir(parents=True)
    known.write_text(json.dumps({"vaults": {"1": {"path": str(vault), "ts": 1}}}))
    done = run("read", "Nowhere", "x")
    assert done.returncode == 1
    assert done.stderr == "vaultbridge: There is no vault 'Nowhere'. Known vaults: My Vault.\n"
    assert run("read", "my vault", "Two#^x1").stdout == "back to [[One]] ^x1\n"
    assert run("vaults").stdout.startswith("My Vault\t")


def test_links_of_a_note_and_of_the_vault(run: Run, vault: Path) -> None:
    assert run("links", vault, "One").stdout.splitlines() == [
        "<- Two.md:5: [[One]]",
        "-> Two.md  One.md:8: [[Two]]",
        "-> (unresolved)  One.md:8: [[Gone]]",
    ]
    assert run("links", vault, "--orphans").stdout == "Sub/Drei.md\n"
    assert run("links", vault, "--dead-ends").stdout == "Sub/Drei.md\n"
    assert run("links", vault, "--unresolved").stdout == "Gone  (1: One.md)\n"
    assert run("links", vault, "Two", "--to", "One").stdout == "Two.md -> One.md\n"
    assert run("links", vault, "Two", "--to", "Drei").returncode == 1


def test_rename_rewrites_links_and_undo_takes_it_back(run: Run, vault: Path) -> None:
    before = (vault / "Two.md").read_bytes()
    dry = run("rename", vault, "One", "Sub/Eins", "--dry-run")
    assert "+back to [[Eins]] ^x1" in dry.stdout and (vault / "One.md").exists()
    done = run("rename", vault, "One", "Sub/Eins")
    assert "> One.md -> Sub/Eins.md" in done.stdout
    assert "[[Eins]]" in (vault / "Two.md").read_text()
    assert "move: " in run("history", vault).stdout
    assert run("undo", vault).returncode == 0
    assert (vault / "Two.md").read_bytes() == before and (vault / "One.md").exists()
    nothing = run("undo", vault)
    assert (nothing.returncode, nothing.stderr) == (1, "vaultbridge: There is no change to undo.\n")


def test_the_output_names_the_command_that_undoes_a_change(run: Run, vault: Path) -> None:
    """Also after an undo, which `undo` without a number does not take back."""
    before = (vault / "Two.md").read_text()
    answer = run("edit", vault, '{"op":"append","note":"Two","content":"more"}').stdout
    for expected in (before, before + "\nmore\n", before):
        words = shlex.split(answer.splitlines()[-1].split("`")[1])
        assert words[0] == "vaultbridge"
        answer = run(*words[1:]).stdout
        assert (vault / "Two.md").read_text() == expected


def test_edit_takes_operations_as_json_and_refuses_what_it_does_not_know(run: Run, vault: Path) -> None:
    batch = json.dumps(
        [
            {"op": "append", "note": "Two", "content": "- [ ] more"},
            {"op": "set_property", "note": "One", "name": "status", "value": "done"},
        ]
    )
    assert run("edit", vault, "-", stdin=batch).returncode == 0
    assert (vault / "Two.md").read_text().endswith("- [ ] task\n- [ ] more\n")
    assert "zip: 01234\nstatus: done\n---" in (vault / "One.md").read_text()
    wrong = run("edit", vault, '{"op":"append","note":"Two","contents":"x"}')
    assert wrong.returncode == 1 and "contents" in wrong.stderr
    assert run("edit", vault, "not json").returncode == 2


def test_export_writes_one_object_per_note_sorted_by_path(run: Run, vault: Path) -> None:
    rows = [json.loads(line) for line in run("export", vault).stdout.splitlines()]
    assert [row["path"] for row in rows] == ["One.md", "Sub/Drei.md", "Two.md"]
    assert rows[0] == {
        "path": "One.md",
        "properties": {"tags": ["a"], "aliases": ["Uno"], "zip": 1234},
        "headings": [{"level": 1, "text": "One", "line": 6}],
        "tags": ["a", "b"],
        "aliases": ["Uno"],
        "links": [
            {
                "raw": "[[Two]]",
                "target": "Two",
                "subpath": "",
                "display": None,
                "embed": False,
                "kind": "wiki",
                "line": 8,
                "resolved": "Two.md",
            },
            {
                "raw": "[[Gone]]",
                "target": "Gone",
                "subpath": "",
                "display": None,
                "embed": False,
                "kind": "wiki",
                "line": 8,
                "resolved": None,
            },
        ],
        "tasks": [],
        "blocks": [],
        "problems": [],
    }
    assert rows[2]["tasks"] == [{"line": 7, "status": " ", "text": "task"}]
    assert rows[2]["blocks"] == ["x1"] and rows[2]["properties"] == {}


def test_export_as_graphml_and_csv(run: Run, vault: Path, tmp_path: Path) -> None:
    graph = ElementTree.fromstring(run("export", vault, "--format", "graphml").stdout)
    space = "{http://graphml.graphdrawing.org/xmlns}"
    edges = {(e.get("source"), e.get("target")) for e in graph.iter(f"{space}edge")}
    assert edges == {("One.md", "Two.md"), ("Two.md", "One.md")}
    assert run("export", vault, "--format", "csv", "-o", tmp_path / "out.csv").stdout == ""
    refused = run("export", vault, "-o", tmp_path / "out.pdf")
    assert refused.returncode == 2 and "no format for .pdf files" in refused.stderr
    assert not (tmp_path / "out.pdf").exists()
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].startswith("path,tags,") and lines[1] == "One.md,a b,Uno,1,2,1,0,0,"


def test_wrong_usage_is_exit_code_2(run: Run, vault: Path) -> None:
    assert run("serach").returncode == 2
    assert "Did you mean 'search'?" in run("serach").stderr
    assert run("search", vault).returncode == 2
    assert run("links", vault).returncode == 2
    assert run().returncode == 2
    assert run("--help").returncode == 0


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("search", "V", "x", "--limti", "3"), "--limit"),
        (("search", "V", "x", "--limti=3"), "--limit"),
        (("vaults", "--jsn"), "--json"),
        (("token", "make", "phone", "--read-olny"), "--read-only"),
        (("call", "ide", "--wach"), "--watch"),
        (("bridge", "--ulr", "http://127.0.0.1:3000"), "--url"),
        (("stdio", "--read-olny"), "--read-only"),
    ],
)
def test_a_mistyped_option_gets_the_right_one_suggested(
    run: Run, words: tuple[str, ...], suggested: str
) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert f"Did you mean {suggested}?" in done.stderr
    unlike = run("search", "V", "x", "--qqqqqqq")
    assert unlike.returncode == 2 and "Did you mean" not in unlike.stderr
    wrong = run("search", "V", "x", "--limit", "many")
    assert wrong.returncode == 2 and "--limit" in wrong.stderr and "Did you mean" not in wrong.stderr


def test_help_of_a_command_is_asked_for_by_the_word_too(run: Run) -> None:
    assert run("help", "search").stdout == run("search", "--help").stdout
    assert "usage: vaultbridge token make" in run("help", "token", "make").stdout
    assert run("help", "help").stdout == run("help").stdout == run("--help").stdout
    unknown = run("help", "serach")
    assert unknown.returncode == 2 and "Did you mean 'search'?" in unknown.stderr


def test_every_command_has_help_that_names_its_vault_or_purpose(run: Run) -> None:
    from vaultbridge.cli.commands import COMMANDS

    for name in ("index", "search", "read", "links", "edit", "rename", "history", "undo", "export", "vaults"):
        assert name in COMMANDS
        shown = run(name, "--help")
        assert shown.returncode == 0
        assert f"usage: vaultbridge {name}" in shown.stdout and "--json" in shown.stdout


def test_a_closed_pipe_is_no_error(vault: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "VAULTBRIDGE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-m", "vaultbridge", "export", str(vault)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 0


def test_a_damaged_index_is_rebuilt_with_a_warning_within_the_same_command(
    run: Run, vault: Path, tmp_path: Path
) -> None:
    assert run("index", vault).returncode == 0
    (index,) = (tmp_path / "cache").rglob("index.sqlite3")
    with index.open("r+b") as file:
        file.seek(8192)
        file.write(b"\x00damaged" * 20_000)
    done = run("search", vault, "task")
    assert done.returncode == 0
    assert done.stdout == "Two.md#Part:7: - [ ] task\n"
    assert "rebuilt" in done.stderr
