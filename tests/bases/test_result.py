from __future__ import annotations

from support.bases import NOW, ROWS, resolve
from vaultbridge.bases.parse import parse_base
from vaultbridge.bases.result import ViewResult, render_view
from vaultbridge.bases.run import run_view
from vaultbridge.vault.dates import format_moment


def run_first_view(text: str) -> ViewResult:
    return run_view(parse_base(text), None, ROWS, now=NOW, resolve=resolve, format_moment=format_moment)


TEXT = """
filters: file.ext == "md"
formulas: {pipe: '"a|b" + "\\n" + status', bad: status * 2}
properties: {author: {displayName: Writer}}
views: [{order: [file.basename, author, formula.pipe, formula.bad]%s}]
"""


def test_a_view_becomes_a_markdown_table() -> None:
    assert render_view(run_first_view(TEXT % "")).splitlines() == [
        "| file basename | Writer | pipe | bad |",
        "| --- | --- | --- | --- |",
        r"| Dune | [[Frank Herbert\|Frank]] | a\|b reading "
        "| Error: Cannot multiply string and number, expected numbers. |",
        r"| Frank Herbert |  | a\|b  |  |",
        r"| Index |  | a\|b reading | Error: Cannot multiply string and number, expected numbers. |",
    ]


def test_groups_are_headed_and_summaries_follow() -> None:
    shown = render_view(
        run_first_view(TEXT % ", groupBy: status, summaries: {status: Filled, file.basename: Unique}")
    )
    assert shown.splitlines()[:2] == ["### reading", ""]
    assert "### (empty)" in shown
    assert shown.count("Filled of status: 2; Unique of file basename: 2") == 1
    assert shown.endswith("All: Filled of status: 2; Unique of file basename: 3\n")


def test_summaries_of_an_ungrouped_view_follow_the_table() -> None:
    assert render_view(run_first_view(TEXT % ", summaries: {status: Filled}")).endswith(
        "|\n\nFilled of status: 2\n"
    )
