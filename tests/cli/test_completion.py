"""Shell completion: what is offered for a line, and the scripts in the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.cli.commands import COMMANDS
from vaultbridge.cli.setup.completion import SCRIPTS, choose, complete_line

VAULT = {
    ".obsidian/app.json": "{}",
    "Home Page.md": "# One\n\n## Two words\n\ntext ^b1\n\n#garden/moths #gärten\n",
    "Sub/Hoe.md": "x\n",
    "All.base": "views: []\n",
}


@pytest.fixture(autouse=True)
def place(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VAULTBRIDGE_VAULT", raising=False)
    monkeypatch.chdir(vault)


def complete(*words: str) -> list[str]:
    return complete_line(["vaultbridge", *words], len(words))


def test_commands_options_and_their_values() -> None:
    assert complete("sea") == ["search"]
    assert complete("help", "und") == ["undo"]
    assert complete("export", "--for") == ["--format"]
    assert complete("export", "--format", "") == ["jsonl", "graphml", "csv"]
    assert "--read-only" in complete("stdio", "--re")
    assert "--url" in complete("bridge", "--u")
    assert complete("nothing", "x") == []


def test_notes_headings_blocks_tags_and_bases() -> None:
    assert complete("read", "Ho") == ["Hoe", "Home Page"]
    assert complete("read", "ho") == ["Hoe", "Home Page"]
    assert complete("read", "Sub/") == ["Sub/Hoe"]
    assert complete("append", "Home Page#") == ["Home Page#One", "Home Page#Two words", "Home Page#^b1"]
    assert complete("append", "Home Page#t") == ["Home Page#Two words"]
    assert complete("rename", "Hom") == ["Home Page"]
    assert complete("base", "") == ["All.base"]
    subprocess.run([sys.executable, "-m", "vaultbridge", "index"], check=True, capture_output=True)
    assert complete("tags", "g") == ["garden", "garden/moths", "gärten"]
    assert complete("read", "Ho") == ["Hoe", "Home Page"]


def test_a_vault_named_first_or_by_option(
    vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert complete("read", "Ho") == []
    assert complete("read", str(vault), "Ho") == ["Hoe", "Home Page"]
    assert complete("read", "-v", str(vault), "Ho") == ["Hoe", "Home Page"]
    assert complete("connect", "claude-d") == ["claude-desktop"]


@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=5), st.integers(0, 6)
)
def test_no_line_is_an_error(words: list[str], at: int) -> None:
    assert all(isinstance(one, str) for one in complete_line(["vaultbridge", *words], at))


@given(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(st.sampled_from(["-", "--", "-v", "x", "#", "--json"]), max_size=4),
)
def test_no_command_fails_to_complete(command: str, words: list[str]) -> None:
    assert isinstance(complete_line(["vaultbridge", command, *words, ""], len(words) + 2), list)


def test_another_case_is_offered_only_when_the_typed_one_fits_nothing() -> None:
    assert choose("ab", ["abc", "ABd"]) == ["abc"]
    assert choose("AB", ["abc"]) == ["abc"]


def in_shell(shell: str, script: str, tmp_path: Path) -> list[str]:
    """Run a script in a real shell, in which `vaultbridge` is this one."""
    program = tmp_path / "bin" / "vaultbridge"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultbridge "$@"\n', "utf-8")
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [shell, "-c", script], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    script = """eval "$(vaultbridge completion bash)"
COMP_WORDS=(vaultbridge read Hom); COMP_CWORD=2; _vaultbridge
printf '%s\\n' "${COMPREPLY[@]}"
complete -p vaultbridge"""
    assert in_shell("bash", script, tmp_path) == [
        "Home\\ Page",
        "complete -o default -F _vaultbridge vaultbridge",
    ]


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_completes(tmp_path: Path) -> None:
    script = "vaultbridge completion fish | source; complete -C 'vaultbridge read Hom'"
    assert in_shell("fish", script, tmp_path) == ["Home Page"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_loads_its_script(tmp_path: Path) -> None:
    script = """autoload -Uz compinit; compinit -D
eval "$(vaultbridge completion zsh)"
print -r -- $_comps[vaultbridge]"""
    assert in_shell("zsh", script, tmp_path) == ["_vaultbridge"]


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_each_script_asks_for_the_words(shell: str) -> None:
    assert "vaultbridge completion --at" in SCRIPTS[shell]
