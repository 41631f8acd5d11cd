"""What an assistant reads of a plugin's arguments."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from msgspec import Meta, Struct

from support.plugins import NO_VAULTS
from vaultbridge.errors import InvalidArgument
from vaultbridge.plugins.decorator import MARK, build_tool, tool
from vaultbridge.tools.base.schema import ANY_VALUE


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


class Tree(Struct):
    """A name and what is below it."""

    name: str
    below: list[Tree] = []


def schema_of(function: Any) -> dict[str, Any]:
    schema = build_tool(getattr(function, MARK), group="mine").input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_bounds_defaults_and_member_types_are_in_the_schema() -> None:
    @tool(effect="reads")
    def draw(
        count: Annotated[int, Meta(ge=1, le=5, description="how many")],
        where: Point,
        colour: Colour = Colour.RED,
        when: date | None = None,
        weights: dict[str, float] | None = None,
        kind: Literal["a", "b"] = "a",
        marks: list[str] = ["x"],  # noqa: B006 - what people write
        origin: Point = Point(1, 2),  # noqa: B008 - frozen
    ) -> str:
        """Draw."""
        return "drawn"

    assert schema_of(draw) == {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "description": "how many"},
            "where": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            },
            "colour": {"type": "string", "enum": ["blue", "red"], "default": "red"},
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "weights": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}]
            },
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "marks": {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            "origin": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
                "default": {"x": 1, "y": 2},
            },
        },
        "required": ["count", "where"],
    }


def test_a_default_that_json_cannot_express_is_left_out() -> None:
    @tool(effect="reads")
    def strange(anything: Any = object, infinite: float = float("inf")) -> str:
        """Is strange."""
        return "strange"

    assert schema_of(strange)["properties"] == {"anything": ANY_VALUE, "infinite": {"type": "number"}}


def test_a_recursive_type_is_defined_once() -> None:
    @tool(effect="reads")
    def count(tree: Tree) -> str:
        """Count the names of a tree."""
        return str(1 + len(tree.below))

    schema = schema_of(count)
    assert schema["properties"]["tree"]["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    call = {"tree": {"name": "a", "below": [{"name": "b"}, {"name": "c", "below": []}]}}
    jsonschema.validate(call, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"tree": {"name": "a", "below": [{"name": 3}]}}, schema)
    assert build_tool(getattr(count, MARK), group="mine").run(NO_VAULTS, call).text == "3"


def test_a_type_that_json_cannot_express_is_named_in_one_line() -> None:
    @tool(effect="reads")
    def opened(file: Path) -> str:
        """Open."""
        return "open"

    with pytest.raises(InvalidArgument) as caught:
        build_tool(getattr(opened, MARK), group="mine")
    assert "opened: its arguments cannot be expressed in JSON" in str(caught.value)
    assert "Path" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "schema_hook" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"when": "2026-01-02", "colour": "green"}, 'colour is "green". It should be one of: blue, red.'),
        ({"when": "tomorrow"}, 'when is "tomorrow". It should be a date, such as 2026-07-28.'),
        ({"when": 3}, "when is 3. It should be a date, such as 2026-07-28."),
        ({"when": "2026-01-02", "where": {"x": "1"}}, 'where.x is "1". It should be a whole number.'),
        ({"when": "2026-01-02", "where": 3}, "where is 3. It should be an object."),
    ],
)
def test_an_error_says_what_the_arguments_type_accepts(given: dict[str, Any], says: str) -> None:
    @tool(effect="reads")
    def painted(when: date, colour: Colour = Colour.RED, where: Point = Point(1)) -> str:  # noqa: B008 - frozen
        """Paint."""
        return "painted"

    with pytest.raises(InvalidArgument) as caught:
        build_tool(getattr(painted, MARK), group="mine").run(NO_VAULTS, given)
    assert str(caught.value) == says
