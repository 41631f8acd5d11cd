"""Attacks on the command line: drawn arguments, closed and full streams, damaged files, endless nesting.

Whatever is given, the exit code is 0, 1 or 2, and an error is one line that says what would be right. Real
processes test what only a process has: streams, locale, bytes in arguments, commands that take it over.
Everything else calls `main` in this process, which is the same code and a hundred times faster.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.background import ending_bridges
from support.long_form import combine
from support.waiting import BOUND
from vaultbridge.__main__ import main
from vaultbridge.cli.commands import COMMANDS, find_command
from vaultbridge.cli.parser import ParserRequest

SAMPLE = Path(__file__).parents[2] / "examples" / "sample-vault"

DRAWN = 200
"""Drawn command lines that run in this process."""

DRAWN_PROCESSES = 20
"""Drawn command lines that run as processes of their own, each of which takes a fifth of a second."""

PROCESS_ONLY = frozenset({"stdio", "bridge", "serve"})
"""Commands that take over the process: its standard streams, its signals or its log."""


class Place:
    """A vault, and a home in which nothing is the machine's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        shutil.copytree(SAMPLE, self.vault)
        (folder / "home").mkdir()
        (folder / "deep.json").write_text("[" * 50_000, "utf-8")
        (folder / "deep.toml").write_text("a = " + "[" * 50_000, "utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        self.environ = {**kept, "HOME": str(folder / "home"), "LANG": "C.UTF-8"}

    def run(
        self, *args: str | bytes, shell: str = "", environ: dict[str, str] | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        command: list[str | bytes] = [sys.executable, "-m", "vaultbridge", *args]
        if shell:
            command = ["/bin/sh", "-c", f'"$@" {shell}', "sh", *command]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env={**self.environ, **(environ or {})},
            timeout=BOUND,
            check=False,
        )

    def call(self, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Like `run`, but in this process."""
        out, err = io.BytesIO(), io.BytesIO()
        streams = [io.TextIOWrapper(buffer, encoding="utf-8") for buffer in (out, err, io.BytesIO(stdin))]
        with (
            mock.patch.dict(os.environ, self.environ, clear=True),
            mock.patch.object(sys, "stdin", streams[2]),
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
            contextlib.chdir(self.folder),
        ):
            code = main(list(args))
        for stream in streams[:2]:
            stream.flush()
        return subprocess.CompletedProcess(args, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("hostile"))
    with ending_bridges(place.folder / "home" / ".cache" / "vaultbridge"):
        yield place


def check_error(done: subprocess.CompletedProcess[bytes]) -> None:
    """An error is one line, perhaps after a logged warning and before how to use the command, and never an
    internal error. There is one exactly when the exit code says so."""
    err = done.stderr.decode("utf-8", "replace")
    lines = err.splitlines()
    assert "Traceback" not in err and "internal error" not in err, err
    if lines and lines[-1].startswith("usage: vaultbridge "):
        lines.pop()
        assert done.returncode == 2 and lines, err
    failed = bool(lines) and lines[-1].startswith("vaultbridge")
    assert failed == (0 < done.returncode < 3 and bool(err)), (done.returncode, err)
    assert not failed or len(lines) <= 2, err


# What every command is called with to do its work; `serve` would stay, so it is given what it must refuse.
LINES: dict[str, tuple[str, ...]] = {
    "index": ("index", "V"),
    "search": ("search", "V", "the"),
    "read": ("read", "V", "Home"),
    "context": ("context", "V", "what is going on"),
    "links": ("links", "V", "Home"),
    "tasks": ("tasks", "V"),
    "tags": ("tags", "V"),
    "properties": ("properties", "V", "Home"),
    "base": ("base", "V", "Observatory"),
    "open": ("open", "V", "Home", "--print"),
    "new": ("new", "V", "Another", "text", "--dry-run"),
    "append": ("append", "V", "Home", "text", "--dry-run"),
    "daily": ("daily", "V", "--path"),
    "set": ("set", "V", "Home", "rank=1", "--dry-run"),
    "init": ("init", "-v", "V", "--dry-run"),
    "completion": ("completion", "bash"),
    "pause": ("pause",),
    "resume": ("resume",),
    "related": ("related", "V", "Home"),
    "edit": ("edit", "V", '{"op":"append","note":"Home","content":"x"}', "--dry-run"),
    "rename": ("rename", "V", "Home", "Start", "--dry-run"),
    "history": ("history", "V"),
    "undo": ("undo", "V"),
    "export": ("export", "V"),
    "stdio": ("stdio", "V"),
    "serve": ("serve", "V", "--port", "70000"),
    "connect": ("connect",),
    "bridge": ("bridge", "--help"),
    "call": ("call", "ws://127.0.0.1:1"),
    "select": ("select", "V", "Home"),
    "mention": ("mention", "V", "Home"),
    "companion": ("companion", "status", "V"),
    "page": ("page", "V"),
    "diffs": ("diffs", "V"),
    "status": ("status",),
    "doctor": ("doctor", "V"),
    "token": ("token", "list"),
    "vaults": ("vaults",),
    "service": ("service", "install", "V", "--dry-run"),
}


def fill_line(place: Place, command: str) -> list[str]:
    return [str(place.vault) if word == "V" else word for word in LINES[command]]


def test_every_command_is_attacked() -> None:
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", ["search", "stdio", "bridge", "call", "token", "serve"])
def test_a_closed_output_is_reported_before_anything_is_done(place: Place, command: str) -> None:
    """`main` checks it for every command alike; these have each their own way of writing."""
    done = place.run(*fill_line(place, command), shell=">&-")
    check_error(done)
    if command == "serve":  # It is given a port that it must refuse, which is even earlier.
        assert done.returncode == 2 and b"0 to 65535" in done.stderr
    else:
        assert done.returncode == 1 and b"standard output is closed" in done.stderr


STREAMS = ("2>&- <&-", ">/dev/full 2>/dev/full", ">&- 2>&- <&-")


@pytest.mark.parametrize(
    ("command", "shell"),
    [
        *((command, STREAMS[number % 3]) for number, command in enumerate(LINES)),
        *((command, shell) for command in ("stdio", "call", "export") for shell in STREAMS),
    ],
)
def test_streams_that_are_closed_or_full_end_in_no_traceback(place: Place, command: str, shell: str) -> None:
    check_error(place.run(*fill_line(place, command), shell=shell))


@pytest.mark.parametrize("command", ["export", "search", "read", "--help", "--version"])
def test_a_reader_that_goes_is_no_failure(place: Place, command: str) -> None:
    words = fill_line(place, command) if command in LINES else [command]
    done = place.run(*words, shell="| true")
    assert done.returncode == 0 and b"Traceback" not in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize("command", ["export", "search", "read", "--help", "--version"])
def test_a_full_disk_is_an_error(place: Place, command: str) -> None:
    words = fill_line(place, command) if command in LINES else [command]
    done = place.run(*words, shell=">/dev/full")
    assert done.returncode == 1 and done.stderr.endswith(b"No space left on device.\n")


@pytest.mark.parametrize("command", LINES)
def test_an_argument_that_is_no_text_is_wrong_usage(place: Place, command: str) -> None:
    """As the interpreter hands it over, and once by a real process."""
    words = fill_line(place, command)
    done = place.run(*words, b"a\xff") if command == "search" else place.call(*words, "a\udcff")
    assert done.returncode == 2 and b"is not UTF-8 text: 'a\\udcff'" in done.stderr
    check_error(done)


@pytest.mark.parametrize("variable", ["VAULTBRIDGE_CACHE", "VAULTBRIDGE_CONFIG", "VAULTBRIDGE_VAULT", ""])
def test_a_home_that_nobody_has_is_no_fault_of_ours(place: Place, variable: str, tmp_path: Path) -> None:
    """`Path.expanduser` raises RuntimeError for it, wherever a path may begin with `~`."""
    nobody = "~nobody-of-that-name/x"
    place = Place(tmp_path)
    if variable:
        place.environ[variable] = nobody
        done = place.call("tags", *([] if variable == "VAULTBRIDGE_VAULT" else [str(place.vault)]))
    else:
        done = place.call("tags", nobody)
    check_error(done)
    assert done.returncode == (0 if variable in ("VAULTBRIDGE_CACHE", "VAULTBRIDGE_CONFIG") else 1)
    check_error(place.call("token", "list", "--config", nobody))


READ_CONFIG = (
    "serve VAULT --port 0",
    "stdio VAULT",
    "page VAULT --no-open",
    "search VAULT window",
    "context VAULT window",
    "related VAULT Home",
    "tags",
    "token make phone",
    "token list",
    "token revoke phone",
    "service install VAULT",
    "init --dry-run",
    "connect cursor VAULT --dry-run",
    "connect cursor VAULT --shared --dry-run",
    "pause",
)
"""Commands that obey the configuration, or that look beside it or in it for tokens and vaults."""


@pytest.mark.parametrize("line", READ_CONFIG)
def test_a_configuration_that_is_named_and_missing_is_refused(tmp_path: Path, line: str) -> None:
    """It was taken for an empty one: the vault was served without any of the limits it was meant to set."""
    place = Place(tmp_path)
    words = [str(place.vault) if word == "VAULT" else word for word in line.split()]
    own = words[0] in PROCESS_ONLY
    place.environ["VAULTBRIDGE_CONFIG"] = str(tmp_path / "config" / "mine.toml")
    done = place.run(*words) if own else place.call(*words)
    check_error(done)
    # For `stdio`, whatever it cannot start with is wrong usage.
    assert done.returncode == (2 if words[0] == "stdio" else 1) and not done.stdout
    assert b"VAULTBRIDGE_CONFIG names the file 'mine.toml', which does not exist." in done.stderr
    assert not (tmp_path / "config").exists(), "a token was made where no server looks for it"


def test_doctor_says_that_the_named_configuration_is_missing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.environ["VAULTBRIDGE_CONFIG"] = str(tmp_path / "mine.toml")
    done = place.call("doctor", str(place.vault), "--json")
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    (found,) = [row for row in rows if row["name"] == "configuration"]
    assert (done.returncode, found["status"]) == (1, "bad")
    assert "VAULTBRIDGE_CONFIG names" in found["found"]
    assert found["advice"].startswith("Name a file that exists")
    assert {row["area"] for row in rows} >= {"System", "Vault", "Index", "Assistants"}, "the rest is checked"


@pytest.mark.parametrize("depth", [900, 1_100, 30_000])
@pytest.mark.parametrize("shape", ["[", '{"a":', '[{"op":"set_property","note":"Home","name":"x","value":'])
def test_json_that_is_nested_without_end_is_refused(place: Place, depth: int, shape: str) -> None:
    text = shape * (depth if len(shape) < 10 else 1) + ("[" * depth if len(shape) >= 10 else "")
    closed = {"[": "]" * depth, '{"a":': "1" + "}" * depth}.get(shape, "1" + "]" * depth + "}]")
    for data in (text, text + closed):
        # The deepest in a process of its own: a stack that overflows ends it.
        run = place.run if depth == 30_000 and data is text else place.call
        done = run("edit", str(place.vault), "-", "--dry-run", stdin=data.encode())
        check_error(done)
        # 900 levels are valid JSON but no operations; anything else is not JSON for us.
        assert done.returncode == (1 if depth == 900 and data is not text else 2)


def test_files_that_are_nested_without_end_are_refused(place: Place) -> None:
    vault = str(place.vault)
    command = f"{sys.executable} -m vaultbridge stdio {vault}"
    for args in (
        ("call", "x", "--config", "deep.json"),
        ("call", command, "read_note", "@deep.json"),
        ("serve", vault, "--config", "deep.toml"),
        ("connect", "cursor", vault, "--file", "deep.json", "--dry-run"),
    ):
        done = place.run(*args)
        check_error(done)
        assert done.returncode == (2 if args[0] == "call" else 1), (args, done)
        assert b"--config.toml" not in done.stderr and b"--deep" not in done.stderr


def test_a_vault_whose_files_are_nested_without_end_is_still_served(tmp_path: Path) -> None:
    """Settings, workspace, canvases, bases, lock files and properties, all as deep as a file may be."""
    place = Place(tmp_path)
    deep = "[" * 50_000
    (place.vault / ".obsidian").mkdir(exist_ok=True)
    for name in ("app.json", "workspace.json", "core-plugins.json", "community-plugins.json", "types.json"):
        (place.vault / ".obsidian" / name).write_text(deep, "utf-8")
    (place.vault / "Deep.canvas").write_text(deep, "utf-8")
    (place.vault / "Deep.base").write_text(f"views: {deep}", "utf-8")
    (place.vault / "Deep.md").write_text(f"---\nvalue: {deep}\n---\nunfathomable\n", "utf-8")
    (place.vault / "Quoted.md").write_text(">" * 20_000 + " unfathomable\n", "utf-8")
    (place.vault / "Listed.md").write_text("".join(f"{' ' * n}- a\n" for n in range(2_000)), "utf-8")
    locks = tmp_path / "home" / ".claude" / "ide"
    locks.mkdir(parents=True)
    (locks / "1234.lock").write_text(deep, "utf-8")
    vault = str(place.vault)
    for args in (
        ("search", vault, "unfathomable"),
        ("read", vault, "Deep"),
        ("links", vault, "Deep.canvas"),
        ("export", vault),
        ("companion", "status", vault),
        ("edit", vault, '{"op":"append","note":"Quoted","content":"x"}'),
        ("rename", vault, "Quoted", "Cited"),
    ):
        done = place.call(*args)
        check_error(done)
        assert done.returncode == 0, (args, done.stderr)
    check_error(place.call("edit", vault, '{"op":"set_property","note":"Deep","name":"a","value":1}'))
    # In a process of its own: a stack that overflows ends it.
    check_error(place.run("read", vault, "Deep"))
    check_error(place.run("search", vault, "unfathomable"))
    for words in (("doctor", vault), ("call", "ide"), ("status",)):
        check_error(place.call(*words))


PROCESS_DAMAGE = {("index.sqlite3", "half"), ("journal.sqlite", "random")}
"""Damage that is also met by real processes."""


@pytest.mark.parametrize(
    ("name", "damage"),
    combine(
        ["index.sqlite3", "journal.sqlite", "keeper.lock", "writer.lock", "vault.json"],
        ["empty", "random", "half", "folder"],
    ),
)
def test_a_damaged_cache_is_reported_and_no_note_is_lost(tmp_path: Path, name: str, damage: str) -> None:
    place = Place(tmp_path)
    vault = str(place.vault)
    place.environ["VAULTBRIDGE_CACHE"] = str(tmp_path / "cache")
    append = '{"op":"append","note":"Home","content":"%s"}'
    run = place.run if (name, damage) in PROCESS_DAMAGE else place.call
    assert run("edit", vault, append % "first").returncode == 0
    assert run("search", vault, "first").returncode == 0
    # Both folders of a vault say whose they are.
    file = sorted((tmp_path / "cache").rglob(name))[0]
    data = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes({"empty": b"", "random": os.urandom(5_000), "half": data[: len(data) // 2]}[damage])
    before = (place.vault / "Home.md").read_bytes()
    for words in (("status",), ("doctor", vault), ("history", vault), ("search", vault, "first")):
        done = run(*words)
        check_error(done)
    assert (place.vault / "Home.md").read_bytes() == before
    done = run("edit", vault, append % "second", "--json")
    check_error(done)
    wanted = before + b"second\n" if done.returncode == 0 else before
    assert (place.vault / "Home.md").read_bytes() == wanted
    in_the_way = damage == "folder" and name in ("writer.lock", "journal.sqlite")
    assert done.returncode == (1 if in_the_way else 0), done
    assert not in_the_way or json.loads(done.stdout)["hint"], done
    check_error(run("undo", vault))


SCRIPTS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
PICKED = st.sampled_from(
    [
        *(
            "",
            " ",
            "-",
            "--",
            "-1",
            "..",
            "/",
            "~",
            "Home",
            "Home#",
            "[[",
            "(",
            '"',
            "/(/",
            "tag:",
            "[p:>",
            "a:b",
        ),
        *("\x1b[31m", "a\nb", "\u202e", "\ufeff", "e\u0301", "👩\u200d👩\u200d👧", "C:\\x"),
        *("x" * 5_000, "(" * 3_000, "9" * 25, "9" * 5_000),
    ]
)
OPTIONS = ("--json", "--limit", "--diff", "--depth", "--to", "--name", "--timeout", "--count", "--port")
WORDS = PICKED | st.text(SCRIPTS, max_size=20)
ENVIRONS = st.sampled_from(
    [{}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"COLUMNS": "20"}, {"PYTHONIOENCODING": "latin-1"}]
)


@st.composite
def attacks(draw: st.DrawFn, commands: list[str]) -> list[str]:
    """A command that works, with a word or option put in, left out or changed."""
    command = draw(st.sampled_from(commands))
    words = list(LINES[command])
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(1, len(words)))
        kind = draw(st.sampled_from(["put", "change", "drop", "option"]))
        if kind == "option":
            words[at:at] = [draw(st.sampled_from(OPTIONS)), draw(WORDS)]
        elif kind == "put" or at == len(words):
            words.insert(at, draw(WORDS))
        else:
            words[at : at + 1] = [] if kind == "drop" else [draw(WORDS)]
    # A command that a drawn word names would be run: only ours is.
    return words if command != "call" else ["call", "ws://127.0.0.1:1", *words[2:]]


@settings(max_examples=DRAWN, suppress_health_check=list(HealthCheck), deadline=None)
@given(words=attacks(sorted(set(LINES) - PROCESS_ONLY - {"open"})))
def test_no_drawn_command_line_ends_in_a_traceback(place: Place, words: list[str]) -> None:
    check_attack(place.call(*[str(place.vault) if word == "V" else word for word in words]), words)


def list_options(command: str) -> list[argparse.Action]:
    """The options of a command that end by themselves, those of its subcommands too."""
    request = ParserRequest()
    module, function = find_command(command)
    getattr(import_module(module), function)(request)
    actions = list(request.parser._actions)
    for action in request.parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            actions += [inner for parser in action.choices.values() for inner in parser._actions]
    left_out = {"--help", "--watch", "--open"}
    return [
        option for option in actions if option.option_strings and not left_out & set(option.option_strings)
    ]


ANSWERS_IN_JSON = sorted(set(LINES) - PROCESS_ONLY - {"open", "call", "completion"})


@settings(max_examples=DRAWN, suppress_health_check=list(HealthCheck), deadline=None)
@given(command=st.sampled_from(ANSWERS_IN_JSON), data=st.data())
def test_any_value_of_any_option_is_answered_in_json(place: Place, command: str, data: st.DataObject) -> None:
    """Nothing but JSON on standard output, and an error that says what would be right."""
    action = data.draw(st.sampled_from(list_options(command)))
    option = action.option_strings[-1]
    words = [
        *fill_line(place, command),
        option if action.nargs == 0 else f"{option}={data.draw(WORDS)}",
        "--json",
    ]
    done = place.call(*words)
    check_attack(done, words)
    answers = [json.loads(row) for row in done.stdout.splitlines()]
    if done.returncode and command != "doctor":
        assert {"error", "errorCode", "reason", "hint"} <= set(answers[-1]), words
        assert done.returncode == 1 or answers[-1]["hint"], words


@settings(max_examples=DRAWN_PROCESSES, suppress_health_check=list(HealthCheck), deadline=None)
@given(words=attacks(sorted(set(LINES) - {"serve", "open"})), environ=ENVIRONS)
def test_no_drawn_process_ends_in_a_traceback(
    place: Place, words: list[str], environ: dict[str, str]
) -> None:
    done = place.run(*[str(place.vault) if word == "V" else word for word in words], environ=environ)
    check_attack(done, words)


def check_attack(done: subprocess.CompletedProcess[bytes], words: list[str]) -> None:
    check_error(done)
    if done.returncode and words[0] != "doctor":
        assert done.stderr, words
