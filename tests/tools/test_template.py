"""`template`."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope

FILES = {
    ".obsidian/templates.json": '{"folder":"T"}',
    "T/Plan.md": "---\ntags: [plan]\nstatus: new\n---\n## {{title}}\n{{date}} {{time}}\n",
    "T/Bad.md": "---\na: [\n---\n",
    "N.md": "---\ntags: [own]\nstatus: old\n---\n# Top\nline\n# End\n",
}


def test_templates_are_listed_shown_and_expanded(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("template") == ["T/Bad.md", "T/Plan.md", "(templates: 2)"]
    assert harness.rows("template", limit=1)[-1] == "(templates 1-1 of 2; continue with offset=1)"
    assert harness.rows("template", offset=1)[0] == "T/Plan.md"
    assert harness.text("template", template="Plan") == FILES["T/Plan.md"]
    expanded = harness.text("template", template="Plan", title="Garden")
    assert expanded.endswith("## Garden\n2026-03-15 21:15\n")
    cut = harness.text("template", template="Plan", max_chars=5)
    assert cut == "---\n[cut; continue with start=4]"
    assert harness.text("template", template="Plan", start=40) == FILES["T/Plan.md"][40:]


def test_a_vault_without_a_templates_folder_says_so(small: Small) -> None:
    harness = small({"N.md": "any note"})
    assert "no templates folder" in harness.text("template")
    assert harness.text("template", template="N") == "any note"


def test_an_inserted_template_adds_its_text_and_merges_its_properties(small: Small) -> None:
    harness = small(FILES)
    data = harness.data("edit_note", op="insert_template", template="Plan", name="N")
    assert data["path"] == "N.md"
    assert harness.read("N.md") == (
        "---\ntags: [own, plan]\nstatus: old\n---\n# Top\nline\n# End\n\n## N\n2026-03-15 21:15\n"
    )


def test_a_template_is_inserted_under_a_heading_or_before_a_line(small: Small) -> None:
    harness = small(FILES)
    harness.data("edit_note", op="insert_template", template="Plan", name="N", heading="Top")
    assert harness.read("N.md").index("## N") < harness.read("N.md").index("# End")
    harness.data("undo")
    harness.data("edit_note", op="insert_template", template="Plan", name="N", line=6)
    assert "# Top\n## N\n" in harness.read("N.md")


def test_a_dry_run_changes_nothing(small: Small) -> None:
    harness = small(FILES)
    assert (
        "+## N"
        in harness.data("edit_note", op="insert_template", template="Plan", name="N", dry_run=True)["diff"]
    )
    assert harness.read("N.md") == FILES["N.md"]


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small(FILES)

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "template", **arguments).argument
        return named

    assert catch_argument(template="Plan", start=999) == "start"
    wrong = {"op": "insert_template", "template": "Plan", "name": "N", "heading": "Top", "line": 3}
    assert harness.catch_refusal(InvalidArgument, "edit_note", **wrong).argument == "line"
    assert (
        harness.catch_refusal(InvalidArgument, "edit_note", op="insert_template", name="N").argument
        == "template"
    )
    harness.catch_refusal(NoteNotFound, "template", template="Nope", title="x")
    harness.catch_refusal(NoteNotFound, "edit_note", op="insert_template", template="Plan", name="Q")
    harness.catch_refusal(EditRefused, "edit_note", op="insert_template", template="Bad", name="N")
    harness.catch_refusal(
        StaleWrite, "edit_note", op="insert_template", template="Plan", name="N", expected="0" * 16
    )


def test_a_hidden_template_does_not_exist(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("T/Plan.md",)))
    assert harness.rows("template")[:-1] == ["T/Bad.md"]
    harness.catch_refusal(NoteNotFound, "template", template="Plan")
    harness.catch_refusal(NoteNotFound, "template", template="Plan", title="x")


def test_a_part_of_a_templates_name_proposes_the_template(small: Small) -> None:
    harness = small({**FILES, "T/Book Template.md": "b", "T/Big Book Template.md": "c", "Booking.md": "x"})
    for call in (
        ("create_note", {"name": "New", "template": "Book"}),
        ("edit_note", {"name": "N", "op": "insert_template", "template": "book"}),
        ("template", {"template": "Book"}),
    ):
        refused = harness.catch_refusal(NoteNotFound, call[0], **call[1])
        assert "No template named" in str(refused)
        assert "Did you mean: T/Book Template.md, T/Big Book Template.md?" in str(refused)
    hidden = small(FILES | {"T/Book Template.md": "b"}, scope=Scope(deny=("T/Book Template.md",)), name="v2")
    assert "Template.md" not in str(hidden.catch_refusal(NoteNotFound, "template", template="Book"))
