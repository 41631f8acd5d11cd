"""Where code spans (CommonMark 6.1) and inline math (docs/obsidian.md 7) end."""

import pytest

from vaultbridge.markdown.inline.spans import Spans


@pytest.mark.parametrize(
    ("part", "end"),
    [
        ("`a`b", 3),
        ("``a`b``c", 7),
        ("`a``b", -1),
        ("`", -1),
        ("`a\nb`", 5),
        ("``` ` ``` x", 9),
        ("`a\\`b", 4),
    ],
)
def test_code_closes_at_a_run_of_the_same_length(part: str, end: int) -> None:
    opened = len(part) - len(part.lstrip("`"))
    assert Spans(part).code_end(0, opened) == end


@pytest.mark.parametrize(
    ("part", "end"),
    [
        ("$x$", 3),
        ("$x$ y", 3),
        ("$5 and $6", -1),
        ("$5 and 6$7", -1),
        ("$x $", -1),
        ("$ x$", -1),
        ("$x\ny$", 5),
        ("$a\\$b$", 6),
        ("$a\\\\$", 5),
        ("$$x$$", 5),
        ("$$ x $$", 7),
        ("$$a$b$$", 7),
        ("$a$$b$", 6),
        ("$", -1),
        ("$x", -1),
    ],
)
def test_math_closes_by_the_apps_rule(part: str, end: int) -> None:
    opened = len(part) - len(part.lstrip("$"))
    assert Spans(part).math_end(0, opened) == end
