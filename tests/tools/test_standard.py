"""What our tools cost and promise together."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import msgspec
import pytest

from vaultbridge.tools.base.schema import STORED_SCHEMAS, derive_schema, load_schema
from vaultbridge.tools.generate import END, OPERATIONS_END, fill_page, render_schemas
from vaultbridge.tools.standard import STANDARD_TOOLS, standard_catalog

ANSWERS_IN_ONE_LINE = {"open"}
"""The tools that read but need no limit."""

SAYS_WHERE_MORE_IS = {"context"}
"""The tools whose answer is a choice, not a list: search lists the rest."""

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"


def test_create_note_has_the_contracts_schema_and_two_more_arguments() -> None:
    """Seed 004, "Response: tools/list"."""
    tool = standard_catalog().list_tools()[0].wire()
    assert tool["name"] == "obsidian_create_note"
    assert tool["description"] == "Create a new note in the vault"
    properties = tool["inputSchema"]["properties"]
    assert tool["inputSchema"]["type"] == "object"
    assert tool["inputSchema"]["required"] == ["name"]
    assert {key: properties[key] for key in ("name", "content", "overwrite")} == {
        "name": {"type": "string", "description": "Note name (without .md extension) or exact path"},
        "content": {"type": "string", "description": "Initial note content (markdown)"},
        "overwrite": {"type": "boolean", "description": "Overwrite if file exists"},
    }
    assert set(properties) == {"name", "content", "overwrite", "template", "properties"}


@pytest.mark.parametrize("read_only", [False, True])
def test_every_schema_is_one_that_clients_can_read(read_only: bool) -> None:
    for tool in standard_catalog().list_tools(read_only=read_only, vaults=("a", "b")):
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert "$ref" not in str(tool.input_schema)
        assert tool.description


def test_every_reading_tool_limits_its_answer_and_says_how_to_continue() -> None:
    for tool in STANDARD_TOOLS:
        if tool.effect != "reads" or tool.name in ANSWERS_IN_ONE_LINE:
            continue
        arguments = set(tool.arguments.__struct_fields__)
        assert "max_chars" in arguments, tool.name
        assert arguments & {"offset", "start", "before"} or tool.name in SAYS_WHERE_MORE_IS, tool.name


def test_the_stored_schemas_are_those_of_the_code() -> None:
    assert STORED_SCHEMAS.read_bytes() == render_schemas(), "run: make generate"
    for tool in STANDARD_TOOLS:
        assert load_schema(tool.arguments) == derive_schema(tool.arguments)


@pytest.mark.parametrize(
    ("page", "ends"), [("tools.md", [END, OPERATIONS_END]), ("cli.md", [OPERATIONS_END])]
)
def test_the_pages_contain_what_is_generated_from_the_code(page: str, ends: list[str]) -> None:
    text = (PAGE.parent / page).read_text("utf-8")
    assert all(end in text for end in ends)
    assert text == fill_page(text), "run: make generate"


def test_the_page_explains_every_tool_op_and_profile() -> None:
    from typing import get_args

    from vaultbridge.tools.base.tool import Profile
    from vaultbridge.tools.edit_note import BATCH_OPS

    prose, _, reference = PAGE.read_text("utf-8").partition("## Reference")
    for tool in STANDARD_TOOLS:
        assert f"### {tool.name}\n\n{tool.description}.\n" in reference
        for field in msgspec.structs.fields(tool.arguments):
            assert f"| `{field.name}` |" in reference
    for word in (*BATCH_OPS, *get_args(Profile)):
        assert f"`{word}`" in prose
