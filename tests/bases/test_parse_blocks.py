from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.parse import extract_base_blocks


def test_blocks_are_found_with_their_positions() -> None:
    text = "# A\n\n```base\nviews:\n  - type: table\n```\n\ntext\n~~~ base\nfilters: a\n~~~\n"
    first, second = extract_base_blocks(text)
    assert (first.text, first.line) == ("views:\n  - type: table\n", 4)
    assert text[first.start : first.end] == first.text
    assert (second.text, second.line) == ("filters: a\n", 10)


@pytest.mark.parametrize(
    "text",
    [
        "```yaml\nfilters: a\n```\n",
        "```basement\nfilters: a\n```\n",
        "~~~yaml\n```base\nfilters: a\n```\n~~~\n",
        "````\n```base\nfilters: a\n```\n````\n",
        "`base`",
        "``` base ` x\nfilters: a\n",
        "",
    ],
)
def test_other_code_contains_no_base(text: str) -> None:
    assert extract_base_blocks(text) == ()


def test_a_block_in_a_quote_loses_its_marks() -> None:
    text = "> [!note]\n> ```base\n> views:\n>   - type: table\n> ```\nafter\n"
    (block,) = extract_base_blocks(text)
    assert block.text == "views:\n  - type: table\n"
    assert text[block.start : block.end] == "> views:\n>   - type: table\n"


def test_a_line_ends_where_markdown_says_so() -> None:
    assert extract_base_blocks("x\u2028```base\u2028filters: a\n") == ()
    (block,) = extract_base_blocks("```base\na: 1\x0c```\nb: 2\r```\n")
    assert block.text == "a: 1\x0c```\nb: 2\r"


def test_a_block_without_an_end_runs_to_the_end_of_the_note() -> None:
    (block,) = extract_base_blocks("```base\nfilters: a")
    assert block.text == "filters: a"


def test_a_longer_fence_closes_and_a_shorter_one_does_not() -> None:
    (block,) = extract_base_blocks("````base\na: 1\n```\nb: 2\n`````\n")
    assert block.text == "a: 1\n```\nb: 2\n"


def test_windows_line_ends_stay() -> None:
    (block,) = extract_base_blocks("```base\r\na: 1\r\n```\r\n")
    assert block.text == "a: 1\r\n"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["```base", "```", "~~~", "> ```base", "> x", "a: 1", ""])).map("\n".join))
def test_spans_lie_in_the_text_and_in_order(text: str) -> None:
    end = 0
    for block in extract_base_blocks(text):
        assert end <= block.start <= block.end <= len(text)
        # A block that the text ends with the opening fence of begins on the line that would come next.
        opened_last = block.start == len(text) and not text.endswith("\n")
        assert text.count("\n", 0, block.start) + 1 + opened_last == block.line
        end = block.end
        # Each character is where it is said to be.
        assert "".join(text[at] for at in block.inside.offsets[:-1]) == block.text
        assert block.inside.offsets[-1] == block.end
