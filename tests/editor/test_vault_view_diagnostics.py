"""Faults in notes and their exact places, on real parsed text."""

from __future__ import annotations

import pytest

from vaultbridge.editor.model import Diagnostic
from vaultbridge.editor.vault_view import FINDINGS_PER_NOTE, check_note
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.paths import VaultPath, vault_path

FILES = {
    "Here.md": "",
    "Other.md": "# Part One\ntext ^b1\n## Deeper\n",
    "a/Twin.md": "",
    "b/Twin.md": "",
    "Private/Diary.md": "# Secret heading\n",
    "picture.png": "",
}


def diagnose(text: str) -> tuple[Diagnostic, ...]:
    def note_of(path: VaultPath) -> tuple[str, Note] | None:
        body = FILES.get(path)
        return None if body is None else (body, parse(body))

    def is_visible(path: str) -> bool:
        return not path.startswith("Private/")

    table = FileTable(FILES)
    return check_note(vault_path("Here.md"), text, parse(text), table, is_visible, note_of)


def list_codes(text: str) -> list[str]:
    return [finding.code for finding in diagnose(text)]


@pytest.mark.parametrize(
    "text",
    [
        "[[Other]] and ![[picture.png]] [x](Other.md)",
        "[[Other#Part One]] [[Other#Part One#Deeper]] [[Other#^b1]] [[Other#^B1]]",
        "[[#Mine]]\n\n# Mine\n",
        "`[[Missing]]` and [web](https://example.org)",
        "![[picture.png#page=2]]",
    ],
)
def test_a_correct_note_has_no_findings(text: str) -> None:
    assert diagnose(text) == ()


@pytest.mark.parametrize(
    ("text", "code", "span"),
    [
        ("see [[Missing]].", "broken-link", "[[Missing]]"),
        ("![[nothing.png]]", "broken-link", "![[nothing.png]]"),
        ("[x](Gone.md)", "broken-link", "[x](Gone.md)"),
        ("[[Other#Part Two]]", "broken-heading", "[[Other#Part Two]]"),
        ("[[Other#^zz]]", "broken-block", "[[Other#^zz]]"),
        ("[[#Nowhere]]", "broken-heading", "[[#Nowhere]]"),
        ("[[Twin]]", "ambiguous-link", "[[Twin]]"),
        ("---\nup: '[[Missing]]'\n---\n", "broken-link", "[[Missing]]"),
    ],
)
def test_each_problem_is_reported_at_its_position(text: str, code: str, span: str) -> None:
    (finding,) = diagnose(text)
    assert finding.code == code
    assert span.strip("!") in text[finding.start : finding.end]


def test_the_parsers_own_problems_are_among_them() -> None:
    assert "bad-yaml" in list_codes("---\na: [1\n---\n")
    assert "duplicate-key" in list_codes("---\na: 1\na: 2\n---\n")
    assert "duplicate-block-id" in list_codes("one ^x\n\ntwo ^x\n")


def test_a_private_target_does_not_exist() -> None:
    (finding,) = diagnose("[[Diary#Secret heading]]")
    assert finding.code == "broken-link"
    assert "Private" not in finding.message


def test_findings_are_in_the_order_of_the_text_and_limited() -> None:
    many = diagnose("".join(f"[[Missing {n}]]\n" for n in range(FINDINGS_PER_NOTE + 50)))
    assert len(many) == FINDINGS_PER_NOTE
    assert [finding.start for finding in many] == sorted(finding.start for finding in many)
