"""JSON becomes a tool's arguments, or an error that names the argument and what is expected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType, field

from support.tools import Small
from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.arguments import convert, merge_path_alias, quote_value
from vaultbridge.tools.base.schema import Arguments


class Wanted(Arguments, frozen=True, kw_only=True):
    name: str
    size: Annotated[int, Meta(ge=1, le=9)] = 1
    least: Annotated[int, Meta(ge=1)] = 1
    mode: Literal["a", "b"] = "a"
    some: Annotated[tuple[int, ...], Meta(max_length=2)] = ()
    deep: bool = False
    thing: dict[str, Any] | UnsetType = UNSET
    value: Any = UNSET


@pytest.mark.parametrize(
    ("given_", "argument", "message"),
    [
        ({}, "name", "name is missing. It should be text."),
        ({"name": 1.5}, "name", "name is 1.5. It should be text."),
        ({"name": "x", "size": 10}, "size", "size is 10. It should be a whole number from 1 to 9."),
        ({"name": "x", "size": "3rd"}, "size", 'size is "3rd". It should be a whole number from 1 to 9.'),
        ({"name": "x", "size": 2.5}, "size", "size is 2.5. It should be a whole number from 1 to 9."),
        ({"name": "x", "size": True}, "size", "size is true. It should be a whole number from 1 to 9."),
        ({"name": "x", "least": -1}, "least", "least is -1. It should be a whole number of at least 1."),
        ({"name": "x", "mode": "c"}, "mode", 'mode is "c". It should be one of: a, b.'),
        ({"name": "x", "mode": 3}, "mode", "mode is 3. It should be one of: a, b."),
        ({"name": "x", "some": [1, 2, 3]}, "some", "some is [1,2,3]. It should be a list of at most 2."),
        ({"name": "x", "some": [1, "b"]}, "some[1]", 'some[1] is "b". It should be a whole number.'),
        ({"name": "x", "some": '[1, "b"]'}, "some[1]", 'some[1] is "b". It should be a whole number.'),
        ({"name": "x", "deep": "yes"}, "deep", 'deep is "yes". It should be true or false.'),
        ({"name": "x", "thing": [1]}, "thing", "thing is [1]. It should be an object."),
        (
            {"name": "x", "nmae": 1},
            "nmae",
            "There is no argument nmae. Did you mean name? "
            "Choose one of: name, size, least, mode, some, deep, thing, value.",
        ),
    ],
)
def test_an_error_names_the_argument_its_value_and_what_is_expected(
    given_: dict[str, Any], argument: str, message: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        convert(given_, Wanted)
    assert caught.value.argument == argument
    assert str(caught.value) == message


def test_an_error_inside_a_list_names_the_item() -> None:
    with pytest.raises(InvalidArgument) as caught:
        convert({"name": "x", "size": -1}, Wanted, where="operations[3]")
    assert caught.value.argument == "operations[3].size"


def test_null_is_a_value_only_where_any_value_is_accepted() -> None:
    filled = convert({"name": "x", "size": None, "mode": None, "value": None}, Wanted)
    assert (filled.size, filled.mode, filled.value) == (1, "a", None)
    with pytest.raises(InvalidArgument, match="no argument other"):
        convert({"name": "x", "other": None}, Wanted)


def test_null_for_an_object_counts_as_left_out() -> None:
    class Made(Arguments, frozen=True, kw_only=True):
        properties: dict[str, Any] = field(default_factory=dict)

    assert convert({"properties": None}, Made).properties == {}
    assert convert({"name": "x", "thing": None}, Wanted).thing is UNSET


def test_a_value_of_the_wrong_type_is_coerced_where_it_has_one_reading() -> None:
    filled = convert(
        {"name": 2026, "size": "3", "least": 4.0, "some": '[1, "2"]', "deep": "True", "thing": '{"a": 1}'},
        Wanted,
    )
    assert (filled.name, filled.size, filled.least, filled.some) == ("2026", 3, 4, (1, 2))
    assert (filled.deep, filled.thing) == (True, {"a": 1})


def test_an_empty_name_or_path_is_ignored() -> None:
    assert merge_path_alias({"path": "p", "name": ""}, "name") == {"name": "p"}
    assert merge_path_alias({"path": "", "name": "n"}, "name") == {"name": "n"}
    assert merge_path_alias({"path": None, "name": "n"}, "name") == {"name": "n"}
    assert merge_path_alias({"path": "", "name": ""}, "name") == {"name": ""}


def test_path_is_accepted_as_another_name_of_the_argument() -> None:
    assert merge_path_alias({"path": "p"}, "name") == {"name": "p"}
    assert merge_path_alias({"path": "p", "name": None}, "name") == {"name": "p"}
    assert merge_path_alias({"path": "p", "name": "p"}, "name") == {"name": "p"}
    assert merge_path_alias({"path": "p"}, "") == {"path": "p"}
    with pytest.raises(InvalidArgument) as caught:
        merge_path_alias({"path": "p", "name": "n"}, "name")
    assert str(caught.value) == 'name is "n", but path is "p". Give name or path, not both.'


def test_a_long_value_is_quoted_in_part() -> None:
    assert len(quote_value("x" * 1000)) == 80
    assert quote_value(object()).startswith("<object")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


OPTIONAL = [name for name in Wanted.__struct_fields__ if name != "name"]


@given(
    st.dictionaries(st.sampled_from([*Wanted.__struct_fields__, "other"]), JSON)
    | st.fixed_dictionaries({"name": st.text(max_size=5)}, optional=dict.fromkeys(OPTIONAL, JSON))
)
def test_any_json_is_converted_or_refused_by_name(given_: dict[str, Any]) -> None:
    try:
        filled = convert(given_, Wanted)
    except InvalidArgument as error:
        assert error.argument.split("[")[0] in {*given_, "name"}
        assert "name" not in given_ or error.argument.split("[")[0] in given_
    else:
        assert filled.name == str(given_["name"])


@pytest.mark.parametrize(
    ("unknown", "ours"),
    [
        ("old_text", "old"), ("new_text", "new"), ("oldString", "old"), ("newString", "new"),
        ("replacement", "new"), ("contents", "content"), ("note_name", "name"), ("body", "content"),
        ("tag_name", "tag"),
    ],
)  # fmt: skip
def test_an_unknown_argument_suggests_ours(small: Small, unknown: str, ours: str) -> None:
    harness = small({"A.md": "a"})
    arguments = {"name": "A", "op": "replace_text", unknown: "x"}
    refused = harness.catch_refusal(InvalidArgument, "edit_note", **arguments)
    assert refused.argument == unknown
    assert refused.hint.startswith(f"Did you mean {ours}?")


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("move_note", {"name": "A", "to": "/etc/passwd"}, "to"),
        ("move_note", {"name": "A", "to": "a:b"}, "to"),
        ("create_note", {"name": "a:b"}, "name"),
        ("create_note", {"name": "B", "template": "/etc/passwd"}, "template"),
        ("list_files", {"folder": "a\nb"}, "folder"),
        ("links", {"kind": "path", "name": "A", "to": "/etc/passwd"}, "to"),
        ("add_attachment", {"name": "p.png", "data": "YQ==", "note": "/etc/passwd"}, "note"),
        ("read_note", {"path": "/etc/passwd"}, "path"),
    ],
)
def test_an_error_about_a_path_names_the_argument_that_has_it(
    small: Small, tool: str, arguments: dict[str, str], argument: str
) -> None:
    harness = small({"A.md": "a"})
    assert harness.catch_refusal(InvalidArgument, tool, **arguments).argument == argument
