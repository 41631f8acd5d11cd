"""The hash, held against a JavaScript implementation of the document's recipe."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultbridge.protocols.bridge_v1.endpoints import hash_tools, stringify

RECIPE = """
const { createHash } = require("node:crypto");
const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const out = Object.create(null);
  for (const key of Object.keys(value).sort()) out[key] = sorted(value[key]);
  return out;
};
const hash = (tools) => {
  const kept = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return createHash("sha256").update(JSON.stringify(sorted(kept))).digest("hex");
};
const lists = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(lists.map((tools) => [hash(tools), JSON.stringify(sorted(tools))])));
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node to compare with")


def hash_in_node(lists: list[Any]) -> list[tuple[str, str]]:
    """The hash and the sorted JSON of each list, as Node sees it."""
    done = subprocess.run(
        ["node", "-e", RECIPE],
        input=json.dumps(lists),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [(hash_, text) for hash_, text in json.loads(done.stdout)]


def make_tool(name: str, schema: Any = None, description: str = "") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}}


TRICKY = [
    [],
    [make_tool("b"), make_tool("a"), make_tool("B"), make_tool("a_b"), make_tool("a1"), make_tool("é")],
    [
        make_tool(
            "x",
            {
                "properties": {
                    "10": {},
                    "9": {},
                    "b": {},
                    "4294967294": {},
                    "4294967295": {},
                    "01": {},
                    "-1": {},
                }
            },
        )
    ],
    [make_tool("x", {"a": [3, 1, 2], "z": {"y": 1, "x": {"w": None, "v": [True, False]}}})],
    [
        make_tool(
            "x",
            {"n": [1, 1.0, 1.5, -0.0, 0.1, 1e21, 1e20, 123456789012345680000, 1e-6, 1e-7, 5e-324, 1.7e308]},
        )
    ],
    [make_tool("x", {"n": [2**53, 2**53 + 1, 10**25, 12345678901234567890, -1e-9, 100.0, 0.00001234]})],
    [make_tool("x", description='quotes " \\ / \b \f \n \r \t \x01 \x1f \x7f \u2028 \u2029 é 😀 \ud800')],
    [make_tool("x", {"\ue000": 1, "😀": 2, "z": 3, "": 4})],
]


@needs_node
def test_the_hash_is_the_one_javascript_computes_for_the_same_list() -> None:
    for tools, (hash_, text) in zip(TRICKY, hash_in_node(TRICKY), strict=True):
        assert stringify(tools) == text
        assert hash_tools(tools) == hash_


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda k: k != "__proto__"), inner, max_size=4)
    ),
    max_leaves=12,
)
TOOLS = st.lists(
    st.builds(make_tool, st.text(), JSON, st.text()), max_size=4, unique_by=lambda tool: tool["name"]
)


@needs_node
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TOOLS, min_size=30, max_size=30))
def test_the_hash_agrees_for_any_list(lists: list[list[dict[str, Any]]]) -> None:
    assert [(hash_tools(tools), stringify(tools)) for tools in lists] == hash_in_node(lists)


def test_a_known_list_has_a_known_hash() -> None:
    """So that the value is held where there is no Node: sha256 of the one string the recipe gives."""
    tools = [make_tool("read_note", {"type": "object", "required": ["path"]}, "Read")]
    text = '[{"description":"Read","inputSchema":{"required":["path"],"type":"object"},"name":"read_note"}]'
    assert stringify(tools) == text
    assert hash_tools(tools) == "a950c05b9fff4563042c6a05b28493065f95e5ef61cf9e4762e1d2535f90b3c3"


def test_order_of_tools_and_keys_does_not_matter_but_order_in_arrays_does() -> None:
    tools = [make_tool("a", {"x": 1, "y": [1, 2]}), make_tool("b")]
    other = [make_tool("b"), {"inputSchema": {"y": [1, 2], "x": 1}, "description": "", "name": "a"}]
    assert hash_tools(tools) == hash_tools(other)
    assert hash_tools(tools) != hash_tools([make_tool("a", {"x": 1, "y": [2, 1]}), make_tool("b")])


def test_only_name_description_and_schema_count() -> None:
    assert hash_tools([{**make_tool("a"), "title": "A"}]) == hash_tools([make_tool("a")])
    assert hash_tools([make_tool("a", description="x")]) != hash_tools([make_tool("a")])


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not a JSON value"):
        stringify({"a": {1}})
