"""Shell completion: what is offered for a line, and the scripts in the real shells."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.cli.commands import COMMANDS
from vaultbridge.cli.setup.completion import choose, complete_bash, complete_line

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
    assert complete("init", "--assistant", "claude-d") == ["claude-desktop"]


@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=5), st.integers(0, 6)
)
def test_no_line_is_an_error(words: list[str], at: int) -> None:
    assert all(isinstance(candidate, str) for candidate in complete_line(["vaultbridge", *words], at))


@given(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(st.sampled_from(["-", "--", "-v", "x", "#", "--json"]), max_size=4),
)
def test_no_command_fails_to_complete(command: str, words: list[str]) -> None:
    assert isinstance(complete_line(["vaultbridge", command, *words, ""], len(words) + 2), list)


def test_another_case_is_offered_only_when_the_typed_one_fits_nothing() -> None:
    assert choose("ab", ["abc", "ABd"]) == ["abc"]
    assert choose("AB", ["abc"]) == ["abc"]


def add_program(tmp_path: Path) -> dict[str, str]:
    """An environment in which `vaultbridge` is this one."""
    program = tmp_path / "bin" / "vaultbridge"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultbridge "$@"\n', "utf-8")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def need_shell(shell: str) -> None:
    """Skip a test of a shell that is not here, or fail where it has to be."""
    if shutil.which(shell):
        return
    if os.environ.get("VAULTBRIDGE_NEEDS_SHELLS"):
        pytest.fail(f"{shell} is not installed")
    pytest.skip(f"needs {shell}")


def run_in_shell(shell: str, script: str, tmp_path: Path) -> list[str]:
    environ = add_program(tmp_path)
    done = subprocess.run(
        [shell, "-c", script], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


TYPED = {
    "Hom": "Home Page",
    "Home\\ P": "Home Page",
    '"Home P': "Home Page",
    "'Home P": "Home Page",
    "home": "Home Page",
    "it": "it's $HOME",
    "it\\'s\\ ": "it's $HOME",
    "'it": "it's $HOME",
    '"it': "it's $HOME",
    "tic": "tick`s",
    '"tic': "tick`s",
    "at:": "at: noon",
    '"at:': "at: noon",
    '"Home Page#Tw': "Home Page#Two words",
    "Home\\ Page#Tw": "Home Page#Two words",
}
"""What is typed before Tab, and the argument that the command then gets."""

START = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(vaultbridge completion bash)"'),
    "zsh": (["-f", "-i"], 'autoload -Uz compinit; compinit -D; eval "$(vaultbridge completion zsh)"'),
}


@pytest.mark.parametrize("shell", sorted(START))
def test_the_tab_key_completes_what_was_typed(shell: str, vault: Path, tmp_path: Path) -> None:
    """In a terminal. Before the line is run, its start is replaced by a command that shows the words."""
    need_shell(shell)
    for name in ("it's $HOME", "tick`s", "at: noon"):
        (vault / f"{name}.md").write_text("x\n", "utf-8")
    options, load = START[shell]
    environ = {**add_program(tmp_path), "TERM": "dumb", "LANG": "C.UTF-8", "PS1": "> "}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [shell, *options], stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            type_and_wait(ours, f"{load}; echo loa''ded\n", "loaded")
            for typed, expected in TYPED.items():
                # Ctrl-A and Ctrl-E: the start and the end of the line.
                keys = f"vaultbridge read {typed}\t\x01printf '<%s>' \x05; echo do''ne\n"
                output = type_and_wait(ours, keys, "done")
                assert f"<vaultbridge><read><{expected}>" in output, (typed, output)
        finally:
            process.kill()
            os.close(ours)


def type_and_wait(terminal: int, keys: str, until: str) -> str:
    os.write(terminal, keys.encode())
    output = ""
    while until not in output:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, output
        output += os.read(terminal, 65536).decode("utf-8", "replace")
    return output


@given(st.text(max_size=30), st.sampled_from(["", " \t\n\"'@><=;|&(:"]))
def test_no_line_of_bash_is_an_error(line: str, breaks: str) -> None:
    assert all(isinstance(candidate, str) for candidate in complete_bash(f"vaultbridge read {line}", breaks))


def test_fish_completes(tmp_path: Path) -> None:
    need_shell("fish")
    script = "vaultbridge completion fish | source; complete -C 'vaultbridge read Hom'"
    assert run_in_shell("fish", script, tmp_path) == ["Home Page"]
