"""Options and other arguments in any order, for every command that parses them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from vaultbridge.__main__ import main
from vaultbridge.cli.commands import COMMANDS
from vaultbridge.cli.parser import SuggestingParser
from vaultbridge.cli.setup.completion import find_parser

BY_HAND = {"stdio", "bridge"}
"""They read their arguments without argparse, and have tests of their own."""

NESTED = {"token", "service"}
"""Their first word is a command itself, with options of its own."""


PARSERS = {command: find_parser(command) for command in COMMANDS if command not in BY_HAND | NESTED}

VALUES: dict[str, st.SearchStrategy[str]] = {"number": st.integers(0, 65535).map(str)}
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(
    lambda word: not word.startswith("-")
)


def value_of(action: argparse.Action) -> st.SearchStrategy[str]:
    if action.choices is not None:
        return st.sampled_from([str(choice) for choice in action.choices])
    kind = getattr(action.type, "__name__", "")
    if kind in ("number", "int", "float"):
        return VALUES["number"]
    return {"_parse_origin": st.just("https://a.example"), "_parse_host": st.just("a.example")}.get(
        kind, WORDS
    )


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A command, its line with the options first, and the same one in another order."""
    command = draw(st.sampled_from(sorted(PARSERS)))
    parser = PARSERS[command]
    exclusive = {
        action: group for group in parser._mutually_exclusive_groups for action in group._group_actions
    }
    options: list[list[str]] = []
    words: list[list[str]] = []
    taken = set()
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if not action.option_strings:
            most = {None: 1, "?": 1, "*": 3, "+": 3}[action.nargs]  # type: ignore[index]
            least = 0 if action.nargs in ("?", "*") else 1
            # A word after one that was left out would be taken for that one.
            count = 0 if words and words[-1] == [] else draw(st.integers(least, most))
            words += [[draw(value_of(action))] for _ in range(count)] or [[]]
            continue
        group = exclusive.get(action)
        if (group is not None and group in taken) or not draw(st.booleans()):
            continue
        taken.add(group if group is not None else action)
        for _ in range(draw(st.integers(1, 2)) if isinstance(action, argparse._AppendAction) else 1):
            name = draw(st.sampled_from(list(action.option_strings)))
            if action.nargs == 0:
                options.append([name])
            elif action.nargs == "+" or (name.startswith("--") and draw(st.booleans())):
                # With a space, `--link 1 Note` would take the note for another number.
                options.append([f"{name}={draw(value_of(action))}"])
            else:
                options.append([name, draw(value_of(action))])
    words = [word for word in words if word]
    kinds = draw(st.permutations([True] * len(words) + [False] * len(options)))
    shuffled = iter(draw(st.permutations(options)))
    in_order = iter(words)
    mixed = [next(in_order) if is_word else next(shuffled) for is_word in kinds]
    first = [*options, *words]
    return command, [word for unit in first for word in unit], [word for unit in mixed for word in unit]


def parse_meaning(parser: SuggestingParser, argv: list[str]) -> dict[str, Any]:
    # The order of an option that may be given several times is its own.
    try:
        found = vars(parser.parse(argv))
    except SystemExit:
        return {"refused": True}  # as `index -v V W`, in any order
    repeated = {action.dest for action in parser._actions if isinstance(action, argparse._AppendAction)}
    return {name: sorted(value) if name in repeated else value for name, value in found.items()}


@given(command_lines())
def test_any_order_of_options_and_words_means_the_same(drawn: tuple[str, list[str], list[str]]) -> None:
    command, first, mixed = drawn
    assert parse_meaning(PARSERS[command], mixed) == parse_meaning(PARSERS[command], first)


@pytest.mark.parametrize("command", sorted(PARSERS))
def test_two_dashes_may_be_the_value_of_an_option(command: str) -> None:
    parser = PARSERS[command]
    needed = [
        action for action in parser._actions if not action.option_strings and action.nargs in (None, "+")
    ]
    words = [next(iter(action.choices or ["1"])) for action in needed]
    for action in parser._actions:
        if action.option_strings and action.nargs is None and action.type is None and not action.choices:
            found = vars(parser.parse([*words, f"{action.option_strings[-1]}=--"]))
            assert found[action.dest if action.dest in found else "vault"] in ("--", ["--"])


@given(st.sampled_from(sorted(PARSERS)), st.lists(WORDS.map("-{}".format), min_size=1, max_size=4))
def test_what_follows_two_dashes_is_never_an_option(command: str, words: list[str]) -> None:
    """Alone, after a word, and after an option; the words stay as they are, and in their order."""
    parser = PARSERS[command]
    places = [action for action in parser._actions if not action.option_strings]
    texts = [action for action in places if action.type is None and action.choices is None]
    if texts != places:
        return  # it takes numbers or names of its own
    most = len(places) if all(action.nargs not in ("*", "+") for action in places) else len(words)
    given = words[:most]
    if len(given) < sum(action.nargs in (None, "+") for action in places):
        return
    for line in (["--", *given], ["--json", "--", *given], ["--color", "never", "--", *given]):
        found = vars(parser.parse(line))
        held = [found[action.dest] for action in places]
        seen = [word for value in held if value for word in (value if isinstance(value, list) else [value])]
        assert seen == given


@pytest.mark.parametrize(
    ("command", "line", "expected"),
    [
        ("read", "-- -Note", {"vault": None, "place": "-Note"}),
        ("read", "-v V -- --json", {"vault": "V", "place": "--json", "json": False}),
        ("base", "B --view X", {"name": "B", "view_option": "X", "views": False}),
        ("append", "-- -Note -text", {"place": "-Note", "text": ["-text"]}),
        ("undo", "-- 3", {"vault": None, "id": 3}),
        ("diffs", "V --accept 3", {"vault": "V", "accept": True, "id": "3"}),
        ("links", "V --depth 2 NAME", {"vault": "V", "depth": 2, "note": "NAME"}),
        ("connect", "cursor --dry-run V", {"assistant": "cursor", "dry_run": True, "vault": "V"}),
        ("connect", "cursor --name n V -- --read-only", {"vault": "V", "options": ["--read-only"]}),
        ("search", "./V one --limit 3 two", {"vault": "./V", "query": ["one", "two"], "limit": 3}),
        ("search", "~/V --limit 3 -- -one --two", {"query": ["-one", "--two"], "limit": 3}),
        ("history", "V --limit 2 NAME", {"note": "NAME", "limit": 2}),
        ("undo", "V --force 3", {"vault": "V", "id": 3, "force": True}),
        ("undo", "3", {"vault": None, "id": 3}),
        ("undo", "3 -v V", {"vault": "V", "id": 3}),
        ("search", "one two", {"vault": None, "query": ["one", "two"]}),
        ("search", "./V one -two -n --limit 3", {"vault": "./V", "query": ["one", "-two", "-n"], "limit": 3}),
        ("context", "./V what is -rf", {"vault": "./V", "question": ["what", "is", "-rf"]}),
        ("search", "-v V one two", {"vault": "V", "query": ["one", "two"]}),
        ("search", "/a.*b/ two", {"vault": None, "query": ["/a.*b/", "two"]}),
        ("search", "/not/there two", {"vault": "/not/there", "query": ["two"]}),
        ("read", "Note", {"vault": None, "place": "Note"}),
        ("read", "V Note", {"vault": "V", "place": "Note"}),
        ("rename", "A B", {"vault": None, "old": "A", "new": "B"}),
        ("links", "Note", {"vault": None, "note": "Note"}),
        ("links", "../V --orphans", {"vault": "../V", "note": None}),
        ("companion", "install --enable V", {"action": "install", "vault": "V", "enable": True}),
        ("serve", "V --port 0 W", {"vaults": ["V", "W"], "port": 0}),
    ],
)
def test_lines_that_people_write(command: str, line: str, expected: dict[str, Any]) -> None:
    found = vars(PARSERS[command].parse(line.split()))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["read", "-Note"], "Put an argument that begins with - after --."),
        (["edit", "-draft", "roses"], "Put an argument that begins with - after --."),
        (["read", "--jsn", "Note"], "Did you mean --json?"),
        (["undo", "--", "-x"], "invalid number value: '-x'"),
        (["companion", "instal"], "Did you mean install?"),
        (["search", "--sort", "nam", "roof"], "Did you mean name?"),
    ],
)
def test_wrong_usage_is_two_lines_and_an_object_for_programs(
    line: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert message in first and second.startswith(f"usage: vaultbridge {line[0]} ")
    assert main([line[0], "--json", *line[1:]]) == 2
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert (answer["errorCode"], answer["reason"]) == ("INVALID_PARAMS", "invalid-argument")
    assert answer["error"] in first and answer["hint"].startswith(("usage: ", "Put an arg", "Did you"))
    assert shown.err.splitlines()[0] == first


def test_the_second_line_shows_the_arguments_as_the_help_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Also when an option is wrong, which argparse reports while it has hidden the other arguments."""
    assert main(["search", "--limit", "x", "roof"]) == 2
    usage = capsys.readouterr().err.splitlines()[1].partition(";")[0]
    assert usage == "usage: vaultbridge search [VAULT] QUERY … [options]"
    assert main(["search", "--help"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == usage


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_fits_a_terminal(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_the_list_of_commands_fits_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert {line.split()[0] for line in shown.splitlines() if line.startswith("  ")} == COMMANDS.keys()


HAND_WRITTEN = {
    "stdio": ["--read-only", "--allow", "--deny", "--profile", "--review", "--timeout", "--log-level"],
    "bridge": ["--url", "--timeout", "--plain-http", "--verbose"],
}
LONG_OPTIONS = {
    **{
        command: sorted(name for name in parser._option_string_actions if name.startswith("--"))
        for command, parser in PARSERS.items()
    },
    **HAND_WRITTEN,
}
ANYTHING = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0 "), max_size=30)
"""Without a space: `- [ ] a task` and `-- a remark` are texts, not options."""


def run_wrongly(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a line that is wrong, and return what is wrong with it: the first of two lines."""
    capsys.readouterr()
    assert main(line) == 2, line
    shown = capsys.readouterr()
    assert shown.out == "", line
    first, second = shown.err.split("\n")[:-1]
    assert first.startswith(f"vaultbridge {line[0]}: ") and second.startswith(f"usage: vaultbridge {line[0]}")
    assert not any(unicodedata.category(letter) == "Cc" for letter in first) and len(first) < 1100
    return first


@st.composite
def abbreviations(draw: st.DrawFn) -> tuple[str, str]:
    """A command, and the beginning of one of its options that is none of them."""
    command = draw(st.sampled_from(sorted(LONG_OPTIONS)))
    option = draw(st.sampled_from(LONG_OPTIONS[command]))
    begin = option[: draw(st.integers(3, len(option)))]
    assume(begin not in LONG_OPTIONS[command] and begin != "--help")
    return command, begin


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=abbreviations(), value=st.sampled_from(["", "=x"]), words=st.lists(WORDS, max_size=2))
def test_an_abbreviated_option_is_refused_and_the_whole_one_suggested(
    drawn: tuple[str, str], value: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Or `base B --view X`, in a version without such an option, would silently mean `--views`."""
    command, begin = drawn
    first = run_wrongly([command, begin + value, *words], capsys)
    assert any(name in first for name in LONG_OPTIONS[command] if name.startswith(begin)), first


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(sorted(LONG_OPTIONS)),
    name=ANYTHING,
    words=st.lists(WORDS, max_size=2),
    order=st.randoms(),
)
def test_an_unknown_option_of_any_script_is_two_lines(
    command: str, name: str, words: list[str], order: Random, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--{name}"
    known = {*LONG_OPTIONS[command], "--help", "--", "--prompts", "--name", "--tool-errors"}
    assume(option.partition("=")[0] not in known)
    line = [*words, option]
    order.shuffle(line)
    run_wrongly([command, *line], capsys)


TAKES_VALUE = [
    (command, name)
    for command, parser in PARSERS.items()
    for name, action in parser._option_string_actions.items()
    if action.nargs is None and name.startswith("--")
]


@pytest.mark.parametrize(("command", "option"), TAKES_VALUE)
def test_an_option_without_its_value_is_two_lines(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the end of the line, and before another option."""
    for line in ([command, option], [command, option, option, "x"]):
        assert option in run_wrongly(line, capsys)


def test_wrong_usage_of_a_command_within_a_command_is_an_object_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["token", "make", "--json", "--nope"]) == 2
    assert json.loads(capsys.readouterr().out)["reason"] == "invalid-argument"


@pytest.mark.parametrize(
    "before",
    [
        ["-v", "{vault}"],
        ["--vault", "{vault}"],
        ["--vault={vault}", "--json"],
        ["--color", "never", "-v", "{vault}"],
        ["--json", "--color=never", "-v", "{vault}"],
    ],
)
def test_shared_options_may_come_before_the_command(
    before: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Note.md").write_text("# One\n\ntext #tag\n", "utf-8")
    options = [word.format(vault=tmp_path) for word in before]
    assert main(["read", *options, "Note"]) == 0
    after = capsys.readouterr()
    assert main([*options, "read", "Note"]) == 0
    assert capsys.readouterr() == after and "One" in after.out


@pytest.mark.parametrize(
    "line", [["-v"], ["-v", "x"], ["--json"], ["--colour", "never", "tags"], ["-x", "tags"]]
)
def test_options_without_a_command_are_wrong_usage(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 2
    assert "`vaultbridge --help`" in capsys.readouterr().err


def test_token_takes_its_options_before_and_after_the_name(tmp_path: Path) -> None:
    config = str(tmp_path / "config.toml")
    Path(config).touch()
    for line in (
        ["--config", config, "make", "one", "--read-only"],
        ["make", "--read-only", "two", "--config", config],
        ["make", "--allow", "a/", "three", "--json", "--config", config],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "vaultbridge", "token", *line], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "vaultbridge", "token", "list", "--json", "--config", config],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {json.loads(row)["name"] for row in done.stdout.splitlines()} == {"one", "two", "three"}
