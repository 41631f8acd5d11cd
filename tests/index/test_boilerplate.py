"""Comments, badges and navigation are recognized as such, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.index.ranking.boilerplate import find_boilerplate, leave_out

BADGE = "[![Build](https://ci.example/x.svg)](https://ci.example/x)"
BOILERPLATE = [
    "%% one line %%",
    "%%\nseveral\n\nlines with [[a link]]\n%%",
    "<!-- hidden -->",
    "<!--\ngenerated:\n- do not edit\n-->",
    BADGE,
    f"{BADGE} {BADGE}",
    f'<p align="center">{BADGE}</p>',
    "![downloads](https://img.shields.io/github/downloads/a/b/total)   ",
    '<img alt="x" src="https://img.shields.io/npm/v/x">',
    "[[2024-01-01]] | [[2024-01-03]]",
    "<< [[Before]] | [[After]] >>",
    "[[Home]] > [[Projects]] > [[Garden]]",
    "← [Back](index.md) · [Contents](toc.md) →",
    '<span class="footer">[Edit](https://x.example/e "t") | [Copy](https://x.example/c) </span>',
]
CONTENT = [
    "A sentence %% with a remark %% goes on.",
    "The loss is 20 %% at most, and 30 %% here.",
    "```matlab\n%% Load\nx = 1;\n%% Plot\n```",
    "~~~html\n<!-- a comment -->\n<p>text</p>\n~~~",
    "Write `%%` before and `%%` after.",
    "- [[One]]\n- [[Two]]",
    "[[One]], [[Two]] and [[Three]]",
    "| [[One]] | [[Two]] |\n| --- | --- |",
    "[[One]] | what it is about",
    "![the camera at night](camera.png)",
    "![[camera.png]]",
    "> [!note] Remember",
    "100 %% sure\nof what follows",
    "<!-- never closed\nwhat follows",
    "a | b",
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("written", BOILERPLATE)
def test_what_nobody_reads_is_found_between_paragraphs(written: str, ending: str) -> None:
    text = f"# Title\n\nBefore it.\n\n{written}\n\nAfter it.\n".replace("\n", ending)
    (span,) = find_boilerplate(text)
    kept = "".join(text[start:end] for start, end in leave_out((0, len(text)), [span]))
    assert kept.split() == ["#", "Title", "Before", "it.", "After", "it."]
    assert find_boilerplate(written.replace("\n", ending)), "alone in a note, without a last line end"


@pytest.mark.parametrize("written", CONTENT)
def test_what_is_read_is_left(written: str) -> None:
    assert find_boilerplate(f"Before it.\n\n{written}\n\nAfter it.\n") == []


def test_a_row_of_comments_and_badges_is_one_stretch() -> None:
    text = f"%% badges %%\n\n{BADGE}\n{BADGE}\n\n%% end %%\n\nText.\n"
    assert find_boilerplate(text) == [(0, text.index("\n\nText"))]


@given(st.lists(st.sampled_from([*BOILERPLATE, *CONTENT, "word", "%%", "<!--", "-->", "```", "[[", "|", ""])))
def test_whatever_stands_together_spans_are_whole_lines_in_order(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    spans = find_boilerplate(text)
    assert spans == sorted(spans)
    end = 0
    for first, last in spans:
        assert end <= first < last
        end = last
        assert not text[text.rfind("\n", 0, first) + 1 : first].strip()
        assert not text[last:].partition("\n")[0].strip()
    left = leave_out((0, len(text)), spans)
    assert sum(last - first for first, last in (*left, *spans)) == len(text)
