"""Every schema that clients see, node by node: nothing in it may be something that model APIs refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.model_apis import (
    find_refused_by_gemini,
    find_refused_by_openai,
    find_undescribed,
    find_untyped,
    walk_schema,
)
from support.vault import make_small_vault, vault_wire
from support.wire import EVERY_VERSION
from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.plugins.decorator import MARK, build_tool, tool
from vaultbridge.protocols.bridge_v1.endpoints import BridgeV1
from vaultbridge.protocols.claude_ide.tools import TOOLS as IDE_TOOLS
from vaultbridge.protocols.mcp.vault.listing import load_tool_list
from vaultbridge.tools.base.schema import add_types, derive_schema
from vaultbridge.tools.base.tool import Profile
from vaultbridge.tools.standard import STANDARD_TOOLS, standard_catalog


class Shape(msgspec.Struct):
    corners: list[Any]
    kind: Literal["round", "square", None] = None


PROFILES: tuple[Profile, ...] = ("full", "core", "read-only")


def find_problems(schema: dict[str, Any]) -> list[str]:
    jsonschema.Draft202012Validator.check_schema(schema)
    found = [
        *find_untyped(schema),
        *find_undescribed(schema),
        *find_refused_by_gemini(schema),
        *find_refused_by_openai(schema),
    ]
    # Text of any length may be empty, but a node that says nothing at all is what converters drop.
    return found + [place for place, node in walk_schema(schema) if not node]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("vaults", [("one",), ("one", "two")])
def test_every_node_has_a_type_and_every_property_a_description(
    profile: Profile, read_only: bool, vaults: tuple[str, ...]
) -> None:
    listed = standard_catalog().list_tools(profile=profile, read_only=read_only, vaults=vaults)
    assert listed
    for listed_tool in listed:
        assert find_problems(listed_tool.input_schema) == [], listed_tool.name
    ready = load_tool_list(profile, read_only=read_only, vaults=vaults)
    assert ready is not None
    assert [listed_tool.input_schema for listed_tool in ready] == [
        listed_tool.input_schema for listed_tool in listed
    ]


def test_a_plugins_tool_without_arguments_is_one_that_clients_can_read() -> None:
    @tool(effect="reads")
    def ring() -> str:
        """Ring."""
        return ""

    assert find_problems(build_tool(getattr(ring, MARK), group="mine").input_schema) == []


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_every_version_lists_typed_schemas(tmp_path: Path, version: str) -> None:
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}), version=version) as wire:
        answer = await wire.result("tools/list")
        assert [found for offered in answer["tools"] for found in find_problems(offered["inputSchema"])] == []
        over_bridge = msgspec.json.decode((await BridgeV1(wire.server).list_tools()).body)
        assert [
            found for offered in over_bridge["tools"] for found in find_problems(offered["inputSchema"])
        ] == []


def test_the_editors_tools_are_typed_and_described() -> None:
    for info, _ in IDE_TOOLS.values():
        assert [*find_untyped(info.input_schema), *find_undescribed(info.input_schema)] == [], info.name


def test_bounds_and_defaults_are_in_the_schema() -> None:
    for standard_tool in STANDARD_TOOLS:
        schema = derive_schema(standard_tool.arguments)
        whole = msgspec.json.schema(standard_tool.arguments)["$defs"][standard_tool.arguments.__name__][
            "properties"
        ]
        for name, shown in schema["properties"].items():
            for key in ("minimum", "maximum", "maxItems"):
                bound = whole[name].get(key)
                listed = None if bound in (LARGEST_INTEGER, -LARGEST_INTEGER) else bound
                assert shown.get(key) == listed, (standard_tool.name, name, key)
            if whole[name].get("default"):
                assert shown["default"] == whole[name]["default"], (standard_tool.name, name)


def test_unlisted_arguments_are_accepted_and_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
    for standard_tool in STANDARD_TOOLS:
        for name in getattr(standard_tool.arguments, "UNLISTED", ()):
            assert name in standard_tool.arguments.__struct_fields__
            assert name not in derive_schema(standard_tool.arguments)["properties"]
            assert f"| `{name}` |" in page.partition(f"### {standard_tool.name}\n")[2].partition("### ")[0]


def test_a_plugins_schema_has_types_whatever_its_hints_are() -> None:
    @tool(effect="reads")
    def draw(
        anything: Any,
        some: list[Any],
        pair: tuple[int, str],
        same: tuple[float, float],
        shape: Shape,
        mode: Literal["a", "b"] = "a",
        level: Literal[1, 2, "high"] = 1,
        by_name: Annotated[dict[str, Any], msgspec.Meta(description="anything by name")] = {},  # noqa: B006 - copied
        limit: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3,
    ) -> str:
        """Draw."""
        return ""

    schema = build_tool(getattr(draw, MARK), group="mine").input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert find_untyped(schema) == []
    given_ = {
        "anything": [1],
        "some": ["a", 2],
        "pair": [1, "a"],
        "same": [1.5, 2],
        "shape": {"corners": []},
        "level": "high",
    }
    jsonschema.validate({**given_, "anything": "x"}, schema)
    assert schema["properties"]["limit"]["minimum"] == 1


hints = st.recursive(
    st.sampled_from(
        [str, int, float, bool, Any, None, Literal["a", "b"], Literal[1, "a"], Literal["a", None], dict]
    ),
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),  # type: ignore[valid-type]
        inner.map(lambda kind: dict[str, kind]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda kinds: tuple[kinds[0], kinds[1]]),  # type: ignore[name-defined]
    ),
    max_leaves=6,
)


@given(hints)
def test_any_kind_of_argument_gets_types_at_every_depth(hint: Any) -> None:
    kind = msgspec.defstruct("Drawn", [("argument", hint)])
    schema = add_types(msgspec.json.schema(kind)["$defs"]["Drawn"])
    assert find_untyped(schema) == []
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_whole_number_has_a_bound_that_json_and_sqlite_can_hold() -> None:
    for standard_tool in STANDARD_TOOLS:
        for arguments in (standard_tool.arguments, *getattr(standard_tool.arguments, "ITEMS", {}).values()):
            for place, node in walk_schema(msgspec.json.schema(arguments)):
                if node.get("type") == "integer":
                    assert node.get("maximum", 2**63) <= LARGEST_INTEGER, (standard_tool.name, place)
                    assert node.get("minimum", -(2**63)) >= -LARGEST_INTEGER, (standard_tool.name, place)
