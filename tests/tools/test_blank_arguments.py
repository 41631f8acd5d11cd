"""A caller that must fill in every argument writes null, 0 or something empty for what it does not mean. That
changes nothing, for every tool and every op; a value that says something is still refused where it does not
belong."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.edits import EDITS, NOTE, TEMPLATE
from support.tools import Small
from support.vault import make_small_vault, vault_wire
from vaultbridge.errors import InvalidArgument
from vaultbridge.protocols.bridge_v1.endpoints import BridgeV1
from vaultbridge.tools.base.tool import Tool
from vaultbridge.tools.edit_note import BATCH_OPS, EDIT_OPS, BatchItem
from vaultbridge.tools.standard import STANDARD_TOOLS

FILES: dict[str, str | bytes] = {
    "A.md": "---\nn: 1\ntags: [t]\n---\n# H\ntext ^b\n- [ ] task #t\n[[B]]\n",
    "B.md": "# Other\nmore words\n",
    "T/Plan.md": "planned\n",
    "C.canvas": '{"nodes":[{"id":"k","type":"text","text":"x","x":0,"y":0,"width":9,"height":9}],"edges":[]}',
    "All.base": "views: [{type: table, name: t}]",
    "p.png": b"\x89PNG",
    ".obsidian/templates.json": '{"folder": "T"}',
    "Example.md": NOTE,
    "T.md": TEMPLATE,
    "Named.md": "a name\n",
    "Naming.md": "All about Named.\n",
}

DIFF = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n # Other\n-more words\n+less words\n"
OPERATIONS: dict[str, dict[str, Any]] = {
    **{op: {"name": "Example", **fields} for op, fields, _, _ in reversed(EDITS)},
    "replace_text": {"name": "A", "old": "text", "new": ""},
    "replace_section": {"name": "A", "heading": "H", "content": ""},
    "apply_diff": {"name": "B", "diff": DIFF},
    "write": {"name": "B", "content": ""},
    "set_property": {"name": "A", "property": "n", "value": None},
    "rename_tag": {"name": "", "tag": "t", "to": "u"},
    "create": {"name": "N"},
    "merge": {"name": "B", "to": "A"},
    "extract_section": {"name": "A", "heading": "H"},
    "link_mentions": {"name": "Named"},
    "move": {"name": "B", "to": "D"},
    "delete": {"name": "B"},
}
"""A call of every op; where an empty value is one, it is."""

CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("edit_note", {"op": op, **OPERATIONS[op]}) for op in EDIT_OPS),
    ("create_note", {"name": "N"}),
    ("create_note", {"name": "N", "content": ""}),
    ("read_note", {"name": "A"}),
    ("read_note", {"name": "A", "heading": "H"}),
    ("move_note", {"name": "B", "to": "D"}),
    ("move_note", {"query": "planned", "to": "D/"}),
    ("delete_note", {"name": "B"}),
    ("list_files", {}),
    ("list_files", {"kind": "folder"}),
    ("search", {"query": "words"}),
    ("properties", {}),
    ("tags", {}),
    ("tags", {"action": "notes", "tag": "t"}),
    ("links", {"kind": "neighbourhood", "name": "A"}),
    ("links", {"kind": "orphans"}),
    ("tasks", {}),
    ("daily_note", {"action": "path"}),
    ("write_daily_note", {"content": "x"}),
    ("template", {}),
    ("template", {"template": "Plan"}),
    ("canvas", {"name": "C"}),
    ("edit_canvas", {"name": "D", "action": "create"}),
    ("edit_canvas", {"name": "C", "action": "add", "text": "hello"}),
    ("edit_canvas", {"name": "C", "action": "add", "file": "A"}),
    ("edit_canvas", {"name": "C", "action": "update", "id": "k", "color": "3"}),
    ("edit_canvas", {"name": "C", "action": "remove", "id": "k"}),
    ("base_query", {"name": "All.base"}),
    ("attachment", {"name": "p.png", "action": "info"}),
    ("add_attachment", {"name": "q.png", "data": "YQ=="}),
    ("history", {}),
    ("vault_info", {"section": "settings"}),
    ("active", {}),
]
"""A call of every tool, and of every op."""


def list_blanks(arguments: type[msgspec.Struct]) -> dict[str, list[Any]]:
    """For each argument the blanks that a caller may write: null, and the empty value of its kind."""
    definitions: dict[str, Any] = msgspec.json.schema(arguments)["$defs"]
    properties = definitions[arguments.__name__]["properties"]
    empty: dict[str, Any] = {"string": "", "integer": 0, "array": [], "object": {}}
    found: dict[str, list[Any]] = {}
    for name, schema in properties.items():
        # False is the whole of a boolean's blanks, and a default of true is not its blank.
        if schema.get("type") == "boolean":
            found[name] = [None, *([] if schema.get("default") else [False])]
        elif schema.get("type") in empty:
            found[name] = [None, empty[schema["type"]]]
        else:
            found[name] = [None, ""]
    return found


MEANT_AS_ZERO = {("search", "matches"), ("search", "context")}
"""Numbers of which 0 is a value that differs from the default."""


def find_tool(name: str) -> Tool:
    return next(tool for tool in STANDARD_TOOLS if tool.name == name)


def run_tool(small: Small, folder: str, tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """What a call answers and leaves behind in a fresh vault; ids and hashes of new text are not compared."""
    harness = small(FILES, name=folder)
    try:
        text = harness.call(tool, **arguments).text
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    files = {path: re.sub(rb'"id":"[0-9a-f]{16}"', b"", data) for path, data in harness.files().items()}
    harness.engine.close()
    return re.sub(r'"(hash|id)":"([0-9a-f]{8}){1,2}"', "", text).replace(folder, "vault"), files


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{call[1].get('op', '')}")
def test_filling_in_every_other_argument_changes_nothing(
    small: Small, call: tuple[str, dict[str, Any]]
) -> None:
    tool, arguments = call
    plain = run_tool(small, "v0", tool, arguments)
    assert not re.match(r"[A-Z]\w+: ", plain[0]), plain[0]
    blanks = list_blanks(find_tool(tool).arguments)
    for which in (0, 1):
        filled = {
            name: values[min(which, len(values) - 1)]
            for name, values in blanks.items()
            if (tool, name) not in MEANT_AS_ZERO
        }
        assert run_tool(small, f"v{which + 1}", tool, {**filled, **arguments}) == plain, filled


@pytest.mark.parametrize("op", BATCH_OPS)
def test_filling_in_every_other_argument_of_an_operation_changes_nothing(small: Small, op: str) -> None:
    plain = run_tool(small, "v0", "batch", {"operations": [{"op": op, **OPERATIONS[op]}]})
    assert "success" in plain[0]
    for which in (0, 1):
        filled = {
            name: values[min(which, len(values) - 1)] for name, values in list_blanks(BatchItem).items()
        }
        operation = {**filled, "op": op, **OPERATIONS[op]}
        assert run_tool(small, f"v{which + 1}", "batch", {"operations": [operation]}) == plain, filled


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_mixture_of_blanks_counts_as_left_out(small: Small, data: st.DataObject) -> None:
    harness = small(FILES)
    op = data.draw(st.sampled_from(EDIT_OPS))
    blanks = list_blanks(find_tool("edit_note").arguments)
    chosen = data.draw(st.sets(st.sampled_from(sorted(blanks))))
    filled = {name: data.draw(st.sampled_from(blanks[name])) for name in sorted(chosen)}
    arguments = {"op": op, **OPERATIONS[op], "dry_run": True}
    plain = harness.data("edit_note", **arguments)["diff"]
    assert harness.data("edit_note", **{**filled, **arguments})["diff"] == plain


def test_a_real_value_is_still_refused_where_it_does_not_belong(small: Small) -> None:
    harness = small(FILES)
    for field, value in (("old", "x"), ("line", 3), ("value", 5), ("value", [1]), ("to", "x"), ("all", True)):
        arguments = {"name": "A", "op": "append", "content": "x", field: value}
        refused = harness.catch_refusal(InvalidArgument, "edit_note", **arguments)
        assert refused.argument == field
        assert "append takes: content, heading, create, block" in str(refused)


def test_zero_means_the_default_where_it_is_not_valid(small: Small) -> None:
    harness = small(FILES)
    for tool, arguments in (
        ("search", {"query": "words", "limit": 0}),
        ("links", {"kind": "neighbourhood", "name": "A", "depth": 0}),
        ("list_files", {"limit": 0, "depth": 0, "kind": "", "sort": ""}),
        ("read_note", {"name": "A", "max_chars": 0, "lines": "", "names": []}),
    ):
        plain = {key: value for key, value in arguments.items() if value not in (0, "", [])}
        assert harness.text(tool, **arguments) == harness.text(tool, **plain)
    assert harness.catch_refusal(InvalidArgument, "search", query="x", limit=-1).argument == "limit"


def test_meaningful_empty_values_are_applied(small: Small) -> None:
    harness = small(FILES)
    harness.data("edit_note", name="A", op="replace_text", old="text ", new="", value="", line=0, to="")
    assert "text" not in harness.read("A.md")
    harness.data("edit_note", name="A", op="set_property", property="n", value="", content="", old="")
    assert harness.read("A.md").startswith('---\nn: ""\n')
    harness.data("edit_note", name="B", op="write", content="", heading="", line=0)
    assert harness.read("B.md") == ""


async def test_blanks_are_treated_alike_over_mcp_and_bridge_v1(tmp_path: Any) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "# H\na\n"})
    async with vault_wire(tmp_path, vault) as wire:
        blank = {name: values[-1] for name, values in list_blanks(find_tool("edit_note").arguments).items()}
        arguments = {**blank, "name": "A", "op": "append", "content": "one"}
        call = {"name": "obsidian_edit_note", "arguments": arguments}
        assert not (await wire.result("tools/call", call)).get("isError")
        body = msgspec.json.encode({"arguments": {**arguments, "content": "two"}})
        assert b'"success":true' in await BridgeV1(wire.server).call("edit_note", body)
    assert (vault / "A.md").read_text() == "# H\na\none\ntwo\n"


@pytest.mark.parametrize("value", [[""], {"name": ""}, {"name": None}, {}, [], "", 0, False, None])
def test_a_value_that_only_fills_the_schema_is_left_out(small: Small, value: Any) -> None:
    harness = small({"A.md": "a\n"})
    filled = {"op": "append", "name": "A", "content": "b", "value": value}
    harness.call("edit_note", **filled)
    harness.call("batch", operations=[filled])
    assert harness.read("A.md") == "a\nb\nb\n"
    harness.call("create_note", name="N", content="n", properties={"tags": value})
    assert harness.read("N.md") == "n"


@pytest.mark.parametrize(
    ("value", "written"), [([""], '\n  - ""'), ({"name": ""}, '\n  name: ""'), ("", ' ""')]
)
def test_the_same_value_counts_where_it_is_what_is_set(small: Small, value: Any, written: str) -> None:
    harness = small({"A.md": "a\n"})
    harness.call("edit_note", op="set_property", name="A", property="p", value=value)
    assert harness.read("A.md") == f"---\np:{written}\n---\na\n"
