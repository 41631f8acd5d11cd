"""An assistant's file: one server comes or goes, and every other byte stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.assistants.config_file import BACKUP_SUFFIX, FILE_BYTES, read_text, write_text
from vaultbridge.assistants.edit_json import list_servers, remove_server, set_server
from vaultbridge.errors import EditRefused, EngineFailure, PermissionDenied

ENTRY = {"command": "/bin/vaultbridge", "args": ["stdio", "/Café"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "{}\n",
            '{\n  "mcpServers": {\n    "n": {\n      "command": "c"\n    }\n  }\n}\n',
        ),
        (
            '{\n    "theme": "dark"\n}',
            '{\n    "theme": "dark",\n    "mcpServers": {\n        "n": {\n            "command": "c"\n'
            "        }\n    }\n}",
        ),
        (
            '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}\n\t}\n}\n',
            '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"},\n\t\t"n": {\n\t\t\t"command": "c"\n'
            "\t\t}\n\t}\n}\n",
        ),
        (
            '{\r\n  "mcpServers": {}\r\n}\r\n',
            '{\r\n  "mcpServers": {\r\n    "n": {\r\n      "command": "c"\r\n    }\r\n  }\r\n}\r\n',
        ),
        ('{"mcpServers":{"a":{}},"z":1}', '{"mcpServers":{"a":{}, "n": {"command": "c"}},"z":1}'),
        ('{"z":[1,  2]}', '{"z":[1,  2], "mcpServers": {"n": {"command": "c"}}}'),
        ('\ufeff{"mcpServers":{"n":{}}}', '\ufeff{"mcpServers":{"n":{"command": "c"}}}'),
    ],
)
def test_a_server_is_written_as_its_neighbours_are(before: str, after: str) -> None:
    assert set_server(before, "mcpServers", "n", {"command": "c"}) == after


def test_a_server_leaves_with_its_comma() -> None:
    text = '{\n  "mcpServers": {\n    "a": {},\n    "n": {},\n    "z": {}\n  },\n  "other": 1.50\n}\n'
    assert (
        remove_server(text, "mcpServers", "n")
        == '{\n  "mcpServers": {\n    "a": {},\n    "z": {}\n  },\n  "other": 1.50\n}\n'
    )
    assert remove_server(text, "mcpServers", "none") == text
    assert remove_server('{"x": 1}', "mcpServers", "n") == '{"x": 1}'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    content=st.dictionaries(st.sampled_from(["a", "b", "mcp"]), VALUES, max_size=3),
    known=st.none() | st.dictionaries(st.sampled_from(["n", "m", "é"]), VALUES, max_size=3),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    ascii_only=st.booleans(),
)
def test_nothing_else_changes_in_any_file(
    content: dict[str, Any],
    known: dict[str, Any] | None,
    indent: int | str | None,
    line_end: str,
    *,
    ascii_only: bool,
) -> None:
    whole = content if known is None else {**content, "mcp": known}
    if not isinstance(whole.get("mcp", {}), dict):
        return
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).replace("\n", line_end)
    added = set_server(text, "mcp", "n", ENTRY)
    listed = {**whole.get("mcp", {}), "n": ENTRY}
    assert json.loads(added) == {**whole, "mcp": listed}
    assert list_servers(added, "mcp") == listed
    # What stood before and behind is still there, to the letter.
    start = next((at for at, (a, b) in enumerate(zip(text, added, strict=False)) if a != b), len(text))
    kept = text[start:]
    assert added[:start] == text[:start]
    if "n" not in whole.get("mcp", {}):
        assert added.replace("\r", "").endswith(kept.lstrip("\r\n \t").replace("\r", ""))
    removed = remove_server(added, "mcp", "n")
    expected = {name: entry for name, entry in listed.items() if name != "n"}
    assert json.loads(removed) == {**whole, "mcp": expected}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  mine,\n  "mcpServers": {}\n}', r"line 2"),
        ('{"mcpServers": {} /* open', "not JSON"),
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', "not an object"),
    ],
)
def test_a_file_of_another_kind_is_refused(text: str, why: str) -> None:
    with pytest.raises(EditRefused, match=why):
        set_server(text, "mcpServers", "n", ENTRY)


@pytest.mark.parametrize(
    "text",
    [
        '{"m": {"n": {"a": 1}, "n": {"a": 2}}}',
        '{"m": {"n": {"a": 1}}, "m": {"k": {}}}',
    ],
)
def test_a_key_that_occurs_twice_is_changed_where_it_counts(text: str) -> None:
    """Everywhere the last one counts."""
    assert json.loads(set_server(text, "m", "n", ENTRY))["m"]["n"] == ENTRY
    assert "n" not in json.loads(remove_server(text, "m", "n"))["m"]


def test_a_file_is_swapped_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", "utf-8")
    file.chmod(0o600)
    write_text(file, '{"a": 1}', before="{}")
    assert file.read_text("utf-8") == '{"a": 1}'
    assert file.stat().st_mode & 0o777 == 0o600
    kept = tmp_path / f"mcp.json{BACKUP_SUFFIX}"
    assert sorted(tmp_path.iterdir()) == [file, kept]
    assert kept.read_text("utf-8") == "{}" and kept.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/mcp.json").write_text("{}", "utf-8")
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/mcp.json")
    write_text(link, '{"a": 1}', before="{}")
    assert link.is_symlink()
    assert (tmp_path / "dotfiles/mcp.json").read_text("utf-8") == '{"a": 1}'


@pytest.mark.parametrize("before", [None, "{ }"])
def test_a_file_that_somebody_else_changed_meanwhile_is_left_alone(
    tmp_path: Path, before: str | None
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", "utf-8")
    with pytest.raises(EditRefused, match="another program"):
        write_text(file, '{"a": 1}', before=before)
    assert file.read_text("utf-8") == "{}"
    assert [file.name for file in tmp_path.iterdir()] == ["mcp.json"]


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", "utf-8")
    file.chmod(0o400)
    with pytest.raises(PermissionDenied, match="read-only"):
        write_text(file, '{"a": 1}', before="{}")


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    assert read_text(tmp_path / "none") is None
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(EngineFailure, match="UTF-8"):
        read_text(tmp_path / "bytes")
    (tmp_path / "large").write_bytes(b" " * (FILE_BYTES + 1))
    with pytest.raises(EngineFailure, match="larger"):
        read_text(tmp_path / "large")
    with pytest.raises(EngineFailure, match="cannot be read"):
        read_text(tmp_path)
