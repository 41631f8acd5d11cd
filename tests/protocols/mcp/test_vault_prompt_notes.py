"""Notes that are prompts."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.protocols.mcp.vault.prompts import (
    ARGUMENTS,
    PromptField,
    check_arguments,
    fill,
    parse_prompt,
)

NOW = datetime(2026, 3, 14, 9, 26)


def test_description_arguments_and_placeholders_make_the_prompt() -> None:
    prompt = parse_prompt(
        "Plan",
        "---\ndescription: Plans a night\narguments:\n  - name: when\n    description: The night\n"
        "    required: true\n  - name: who\n---\n\nPlan {{when}} for {{ who }}, by {{method}}.\n",
    )
    assert prompt.description == "Plans a night"
    assert prompt.arguments == (
        PromptField("when", "The night", required=True),
        PromptField("who"),
        PromptField("method", required=True),
    )
    assert prompt.body == "Plan {{when}} for {{ who }}, by {{method}}."


@pytest.mark.parametrize(
    ("yaml", "found"),
    [
        ("[note, style]", (PromptField("note", complete="note"), PromptField("style"))),
        ("tag", (PromptField("tag", complete="tag"),)),
        (
            "{folder: Where, size: 3}",
            (PromptField("folder", "Where", complete="folder"), PromptField("size")),
        ),
        ("{a: {description: An a, required: true}}", (PromptField("a", "An a", required=True),)),
        ("[{name: topic, complete: tag}]", (PromptField("topic", complete="tag"),)),
        ("[{name: topic, complete: nonsense}]", (PromptField("topic"),)),
        ("[3, {description: nameless}, {name: ''}, null]", ()),
        ("12", ()),
    ],
)
def test_arguments_may_be_written_in_several_ways_and_nonsense_is_left_out(
    yaml: str, found: tuple[PromptField, ...]
) -> None:
    assert parse_prompt("P", f"---\narguments: {yaml}\n---\nText").arguments == found


def test_an_argument_is_put_in_everywhere_and_an_optional_one_may_leave_nothing() -> None:
    prompt = parse_prompt("P", "---\narguments: [b]\n---\n{{a}}-{{a}}-{{b}}.")
    assert fill(prompt, {"a": "x"}, NOW) == "x-x-."


def test_a_value_that_looks_like_a_placeholder_is_only_text() -> None:
    prompt = parse_prompt("P", "{{a}} {{b}}")
    assert fill(prompt, {"a": "{{b}} {{date}}", "b": r"\1"}, NOW) == r"{{b}} {{date}} \1"


def test_date_time_and_title_are_filled_in_unless_they_are_arguments() -> None:
    prompt = parse_prompt("P", "{{title}} {{date}} {{time}} {{date:YYYY}}")
    assert prompt.arguments == ()
    assert fill(prompt, {}, NOW) == "P 2026-03-14 09:26 2026"
    own = parse_prompt("P", "---\narguments: [date]\n---\n{{date}}")
    assert fill(own, {"date": "tomorrow"}, NOW) == "tomorrow"


def test_a_missing_and_an_unknown_argument_are_named() -> None:
    prompt = parse_prompt("P", "{{topic}}")
    with pytest.raises(InvalidArgument, match="topic is missing") as missing:
        fill(prompt, {"topic": "  "}, NOW)
    assert missing.value.argument == "topic"
    with pytest.raises(InvalidArgument, match=r"no argument 'topics'.*Choose one of: topic"):
        fill(prompt, {"topic": "x", "topics": "y"}, NOW)
    with pytest.raises(InvalidArgument, match="It takes none"):
        check_arguments("P", (), {"a": "b"})


def test_a_note_with_bad_properties_is_still_a_prompt() -> None:
    prompt = parse_prompt("P", "---\na: [\n---\nDo {{x}}.")
    assert [argument.name for argument in prompt.arguments] == ["x"]


def test_arguments_are_bounded() -> None:
    text = " ".join(f"{{{{a{n}}}}}" for n in range(100))
    assert len(parse_prompt("P", text).arguments) == ARGUMENTS


@given(st.text())
def test_any_text_is_a_prompt_that_can_be_filled(text: str) -> None:
    prompt = parse_prompt("P", text)
    given_values = {argument.name: "v" for argument in prompt.arguments}
    assert isinstance(fill(prompt, given_values, NOW), str)
