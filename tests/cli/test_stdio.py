"""The arguments of `vaultbridge stdio`, read by hand, as a person types them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.process import ROOT, make_process_environ
from support.vault import make_command, make_isolated_environ, make_small_vault
from vaultbridge.cli.stdio import HELP, WrongUsage, parse_arguments


def run(base: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {**make_process_environ(), **make_isolated_environ(base)}
    return subprocess.run(
        make_command(*args), input=stdin, capture_output=True, text=True, env=env, timeout=60, check=False
    )


def test_all_options_in_both_spellings() -> None:
    spaced = ["A", "--read-only", "--allow", "X", "--allow", "Y", "--deny", "Z", "--profile", "core"]
    spaced += ["--tool-errors", "result", "--prompts", "P", "--name", "n", "--timeout", "2.5"]
    spaced += ["--log-level", "debug", "B", "--", "--odd"]
    joined = [
        "A", "--read-only", "--allow=X", "--allow=Y", "--deny=Z", "--profile=core", "--tool-errors=result",
        "--prompts=P", "--name=n", "--timeout=2.5", "--log-level=debug", "B", "--", "--odd",
    ]  # fmt: skip
    assert parse_arguments(spaced) == parse_arguments(joined)
    assert parse_arguments(spaced) == {
        "vaults": ("A", "B", "--odd"),
        "read_only": True,
        "allow": ("X", "Y"),
        "deny": ("Z",),
        "profile": "core",
        "tool_errors": "result",
        "prompts": "P",
        "name": "n",
        "call_seconds": 2.5,
        "log_level": "debug",
    }
    assert parse_arguments([]) == {}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--profil", "core"], "Did you mean --profile"),
        (["--profile", "all"], "full, core, read-only"),
        (["--profile"], "needs a value"),
        (["--allow="], "needs a value"),
        (["--read-only=yes"], "takes no value"),
        (["--timeout", "soon"], "number of seconds"),
        (["--timeout", "-1"], "number of seconds"),
        (["--timeout", "nan"], "number of seconds"),
        (["-x"], "no option '-x'"),
    ],
)
def test_wrong_usage_says_what_would_be_right(args: list[str], message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        parse_arguments(args)


def test_every_option_is_in_the_help() -> None:
    from vaultbridge.cli import stdio

    assert not [option for option in stdio.OPTIONS if option not in HELP]


def test_every_option_is_in_the_document() -> None:
    from vaultbridge.cli import stdio

    document = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    assert not [option for option in stdio.OPTIONS if option not in document and option != "--help"]


def test_wrong_usage_exits_2_with_clear_text_on_stderr_only(tmp_path: Path) -> None:
    for args in (["--nonsense"], ["--deny", ".."]):
        done = run(tmp_path, *args)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("vaultbridge stdio: ")
        assert "Traceback" not in done.stderr


def test_help_exits_0(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert (done.returncode, done.stdout) == (0, HELP)


def test_no_input_at_all_exits_0_silently(tmp_path: Path) -> None:
    done = run(tmp_path, str(make_small_vault(tmp_path, {"A.md": "a"})))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_module_and_the_command_are_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("vaultbridge")
    if not script.exists():
        pytest.skip("the package is not installed as a command here")
    done = subprocess.run(
        [script, "stdio", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, HELP)
