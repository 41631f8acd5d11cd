"""`template`."""

from __future__ import annotations

from collections.abc import Callable

from support.tools import ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope

Small = Callable[..., ToolHarness]

FILES = {
    ".obsidian/templates.json": '{"folder":"T"}',
    "T/Plan.md": "---\ntags: [plan]\nstatus: new\n---\n## {{title}}\n{{date}} {{time}}\n",
    "T/Bad.md": "---\na: [\n---\n",
    "N.md": "---\ntags: [own]\nstatus: old\n---\n# Top\nline\n# End\n",
}


def test_templates_are_listed_shown_and_expanded(small: Small) -> None:
    desk = small(FILES)
    assert desk.rows("template") == ["T/Bad.md", "T/Plan.md", "(templates: 2)"]
    assert desk.rows("template", limit=1)[-1] == "(templates 1-1 of 2; go on with offset=1)"
    assert desk.rows("template", offset=1)[0] == "T/Plan.md"
    assert desk.text("template", template="Plan") == FILES["T/Plan.md"]
    expanded = desk.text("template", template="Plan", title="Garden")
    assert expanded.endswith("## Garden\n2026-03-15 21:15\n")
    cut = desk.text("template", template="Plan", max_chars=5)
    assert cut == "---\n[cut; go on with start=4]"
    assert desk.text("template", template="Plan", start=40) == FILES["T/Plan.md"][40:]


def test_a_vault_without_a_templates_folder_says_so(small: Small) -> None:
    desk = small({"N.md": "any note"})
    assert "no templates folder" in desk.text("template")
    assert desk.text("template", template="N") == "any note"


def test_an_inserted_template_adds_its_text_and_merges_its_properties(small: Small) -> None:
    desk = small(FILES)
    data = desk.data("edit_note", op="insert_template", template="Plan", name="N")
    assert data["path"] == "N.md"
    assert desk.read("N.md") == (
        "---\ntags: [own, plan]\nstatus: old\n---\n# Top\nline\n# End\n\n## N\n2026-03-15 21:15\n"
    )


def test_a_template_goes_under_a_heading_or_before_a_line(small: Small) -> None:
    desk = small(FILES)
    desk.data("edit_note", op="insert_template", template="Plan", name="N", heading="Top")
    assert desk.read("N.md").index("## N") < desk.read("N.md").index("# End")
    desk.data("undo")
    desk.data("edit_note", op="insert_template", template="Plan", name="N", line=6)
    assert "# Top\n## N\n" in desk.read("N.md")


def test_a_dry_run_changes_nothing(small: Small) -> None:
    desk = small(FILES)
    assert (
        "+## N"
        in desk.data("edit_note", op="insert_template", template="Plan", name="N", dry_run=True)["diff"]
    )
    assert desk.read("N.md") == FILES["N.md"]


def test_wrong_calls_are_named(small: Small) -> None:
    desk = small(FILES)

    def argument(**arguments: object) -> str:
        named: str = desk.refused(InvalidArgument, "template", **arguments).argument
        return named

    assert argument(template="Plan", start=999) == "start"
    wrong = {"op": "insert_template", "template": "Plan", "name": "N", "heading": "Top", "line": 3}
    assert desk.refused(InvalidArgument, "edit_note", **wrong).argument == "line"
    assert desk.refused(InvalidArgument, "edit_note", op="insert_template", name="N").argument == "template"
    desk.refused(NoteNotFound, "template", template="Nope", title="x")
    desk.refused(NoteNotFound, "edit_note", op="insert_template", template="Plan", name="Q")
    desk.refused(EditRefused, "edit_note", op="insert_template", template="Bad", name="N")
    desk.refused(StaleWrite, "edit_note", op="insert_template", template="Plan", name="N", expected="0" * 16)


def test_a_hidden_template_does_not_exist(small: Small) -> None:
    desk = small(FILES, scope=Scope(deny=("T/Plan.md",)))
    assert desk.rows("template")[:-1] == ["T/Bad.md"]
    desk.refused(NoteNotFound, "template", template="Plan")
    desk.refused(NoteNotFound, "template", template="Plan", title="x")
