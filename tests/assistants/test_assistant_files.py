"""Files with comments, TOML and YAML: one server comes or goes, and every other byte stays."""

from __future__ import annotations

import difflib
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.assistants import edit_json, edit_toml, edit_yaml
from vaultbridge.errors import EditRefused

ENTRY = {"command": "/bin/vaultbridge", "args": ["stdio", '/Café "quoted" \\ 中文']}


def is_only_added(before: str, after: str) -> bool:
    """Whether `after` is `before` with something put in, and nothing taken out."""
    return all(
        tag in ("equal", "insert")
        for tag, *_ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    )


COMMENTED = """// my servers
{
  /* theme */ "theme": "dark", // nice
  "context_servers": {
    // the first
    "a": {"command": "x"}, // stays
    "b": {
      "command": "y" // inner
    } // last one
  },
}
"""


def test_comments_stay_where_they_are() -> None:
    added = edit_json.set_server(COMMENTED, "context_servers", "n", {"command": "c"})
    assert is_only_added(COMMENTED, added)
    assert '    }, // last one\n    "n": {\n' in added
    assert edit_json.remove_server(added, "context_servers", "n").replace("},", "}") == COMMENTED.replace(
        "},", "}"
    )
    fewer = edit_json.remove_server(COMMENTED, "context_servers", "a")
    assert "// the first" in fewer and "// stays" in fewer and '"a"' not in fewer
    assert list(edit_json.list_servers(fewer, "context_servers")) == ["b"]


@pytest.mark.parametrize(
    "text",
    [
        '{"m": {"a": {},},}',
        '{\n  "m": {\n    "a": {}, // x\n  },\n}\n',
        '{\n  "m": {\n    // nothing yet\n  }\n}\n',
        '{ /* "m": {} */ }',
        '{"url": "https://a//b", "m": {}} // end',
        '{"m": {"a": {} /* c */ , /* d */ "z": {}}}',
    ],
)
def test_any_layout_of_comments_and_commas(text: str) -> None:
    known = edit_json.list_servers(text, "m")
    added = edit_json.set_server(text, "m", "n", ENTRY)
    assert is_only_added(text, added)
    assert edit_json.list_servers(added, "m") == {**known, "n": ENTRY}
    removed = edit_json.remove_server(added, "m", "n")
    assert edit_json.list_servers(removed, "m") == known
    for name in known:
        assert name not in edit_json.list_servers(edit_json.remove_server(text, "m", name), "m")


TOML = """# mine
model = "o"   # keep

[mcp_servers.a]
command = "x"
# about a

[mcp_servers.a.env]
KEY = 'v'

[profiles.fast]  # other
model = "p"
"""


def test_toml_gains_and_loses_a_table() -> None:
    added = edit_toml.set_server(TOML, "mcp_servers", "n", ENTRY)
    assert added.startswith(TOML) and tomllib.loads(added)["mcp_servers"]["n"] == ENTRY
    assert edit_toml.remove_server(added, "mcp_servers", "n").rstrip() == TOML.rstrip()
    fewer = edit_toml.remove_server(TOML, "mcp_servers", "a")
    assert tomllib.loads(fewer) == {"model": "o", "profiles": {"fast": {"model": "p"}}}
    assert "# mine" in fewer and "# other" in fewer and "# keep" in fewer
    other = edit_toml.set_server(TOML, "mcp_servers", "a", ENTRY)
    assert tomllib.loads(other)["mcp_servers"] == {"a": ENTRY} and "# other" in other
    assert edit_toml.remove_server(TOML, "mcp_servers", "none") == TOML


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('mcp_servers = {a = {command = "x"}}\n', "cannot be changed safely"),
        ('[mcp_servers]\nn = {command = "x"}\n', "cannot be changed safely"),
        ("not toml =", "not TOML"),
        ("mcp_servers = 1\n", "not a table"),
        ("[[mcp_servers]]\n", "not a table"),
    ],
)
def test_toml_of_another_form_is_refused(text: str, reason: str) -> None:
    with pytest.raises(EditRefused, match=reason):
        edit_toml.set_server(text, "mcp_servers", "n", ENTRY)


@pytest.mark.parametrize("name", [r'"\U0001F600"', '"a\tb"', "not a name"])
def test_toml_headers_that_json_cannot_read(name: str) -> None:
    text = f'[mcp_servers]\na = {{text = """\n[mcp_servers.{name}]\n"""}}\n'
    added = edit_toml.set_server(text, "mcp_servers", "n", ENTRY)
    assert added.startswith(text) and tomllib.loads(added)["mcp_servers"]["n"] == ENTRY


NAMES = st.text(st.sampled_from("ab-_ .é\"'中"), min_size=1, max_size=5)
SERVERS = st.dictionaries(NAMES, st.fixed_dictionaries({"command": st.text(max_size=6)}), max_size=3)


@given(SERVERS, NAMES, st.sampled_from(["", "# note\n", "x = 1\n", "[t]\ny = 2\n"]), st.booleans())
def test_any_toml_keeps_the_rest(servers: dict[str, Any], name: str, head: str, crlf: bool) -> None:
    text = head
    for server_name, entry in servers.items():
        text = edit_toml.set_server(text, "s", server_name, entry)
    text = text.replace("\n", "\r\n") if crlf else text
    before = tomllib.loads(text)
    added = edit_toml.set_server(text, "s", name, ENTRY)
    assert tomllib.loads(added) == {**before, "s": {**before.get("s", {}), name: ENTRY}}
    if name not in servers:
        assert is_only_added(text, added)
        assert edit_toml.remove_server(added, "s", name).rstrip() == text.rstrip()


YAML = """# goose
GOOSE_MODEL: gpt   # keep
extensions:
  # built in
  developer:
    enabled: true   # yes
    type: builtin

  "b c":
    type: stdio
after: [1, 2]
"""


def test_yaml_gains_and_loses_an_entry() -> None:
    added = edit_yaml.set_server(YAML, "extensions", "n", ENTRY)
    assert is_only_added(YAML, added)
    assert yaml.safe_load(added)["extensions"]["n"] == ENTRY
    assert edit_yaml.remove_server(added, "extensions", "n") == YAML
    fewer = edit_yaml.remove_server(YAML, "extensions", "developer")
    assert list(yaml.safe_load(fewer)["extensions"]) == ["b c"]
    assert "# built in" in fewer and "after: [1, 2]" in fewer
    other = edit_yaml.set_server(YAML, "extensions", "b c", ENTRY)
    assert yaml.safe_load(other)["extensions"]["b c"] == ENTRY and "# yes" in other


@pytest.mark.parametrize(
    "text", ["", "a: 1\n", "a: 1", "extensions:\n", "extensions: {}\nb: 2\n", "# only\n"]
)
def test_the_first_entry_of_a_yaml_file(text: str) -> None:
    added = edit_yaml.set_server(text, "extensions", "n", ENTRY)
    assert yaml.safe_load(added) == {**(yaml.safe_load(text) or {}), "extensions": {"n": ENTRY}}
    removed = edit_yaml.remove_server(added, "extensions", "n")
    assert yaml.safe_load(removed)["extensions"] == {}


DOUBLED = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
"""Forty lines of aliases that stand for a million million values."""


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {a: {type: x}}\n",
        "- a\n",
        "a: [\n",
        "extensions: [a]\n",
        "extensions: text\n",
        "a: &a [*a]\n",
        "a: 1\na: 2\n",
        pytest.param(DOUBLED, id="doubled"),
    ],
)
def test_yaml_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(EditRefused):
        edit_yaml.set_server(text, "extensions", "n", ENTRY)


@pytest.mark.parametrize("value", ["2020-99-99", "!!int x", "!!timestamp x", "!!float ''", "!!bool x", "0x_"])
def test_yaml_values_that_are_nothing_in_python_stay(value: str) -> None:
    text = f"a: {value}\n"
    assert edit_yaml.set_server(text, "extensions", "n", ENTRY).startswith(text + "extensions:\n")


def _escape(text: str) -> str:
    return '"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"'


def test_yaml_escapes_what_it_may_not_contain() -> None:
    entry = {"cmd": "a\x7f\x9b\u2028\ufeff\uffff😀"}
    added = edit_yaml.set_server("", "extensions", "n", entry)
    assert yaml.safe_load(added) == {"extensions": {"n": entry}}


@given(SERVERS, NAMES, st.sampled_from(["", "# note\n", "x: 1\n"]), st.sampled_from(["", "z: {q: [1]}\n"]))
def test_any_yaml_keeps_the_rest(servers: dict[str, Any], name: str, head: str, tail: str) -> None:
    body = "s:\n" + "".join(
        f"    {_escape(server_name)}:\n      command: {_escape(e['command'])}\n"
        for server_name, e in servers.items()
    )
    text = head + body + tail
    before = yaml.safe_load(text)
    added = edit_yaml.set_server(text, "s", name, ENTRY)
    assert yaml.safe_load(added) == {**before, "s": {**(before["s"] or {}), name: ENTRY}}
    if name not in servers:
        assert is_only_added(text, added)
    assert edit_yaml.set_server(added, "s", name, ENTRY) == added
