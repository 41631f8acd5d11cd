"""`vaultbridge.vault.dates`: docs/obsidian.md 9, template variables."""

from __future__ import annotations

from datetime import datetime

import pytest

from vaultbridge.vault.dates import expand_template

NOW = datetime(2024, 3, 5, 14, 7)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("# {{title}}", "# My {{date}} note"),
        ("{{date}} {{time}}", "2024-03-05 14:07"),
        ("{{date:dddd, MMMM Do}}", "Tuesday, March 5th"),
        ("{{time:h:mm A}}", "2:07 PM"),
        ("{{date:[Week] ww}}", "Week 10"),
        ("{{ Title }} {{DATE:YYYY}}", "My {{date}} note 2024"),
        ("{{time:YYYY}} {{date:HH}}", "2024 14"),
        (
            "{{other}} {{date+1d}} {{ {date} }} <% tp.date %>",
            "{{other}} {{date+1d}} {{ {date} }} <% tp.date %>",
        ),
        ("a\r\n{{date}}\r\n", "a\r\n2024-03-05\r\n"),
        ("{{date:}}", "2024-03-05"),
    ],
)
def test_variables_are_replaced_and_everything_else_stays(text: str, expanded: str) -> None:
    assert expand_template(text, title="My {{date}} note", now=NOW) == expanded


def test_the_vaults_formats_are_the_defaults() -> None:
    expanded = expand_template("{{date}}|{{time}}", title="", now=NOW, date_format="D/M", time_format="HHmm")
    assert expanded == "5/3|1407"
